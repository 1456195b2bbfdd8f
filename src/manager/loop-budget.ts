import { checkOptions, count, positive, text } from '../options.ts';
import { windowsRule } from '../plan/fit.ts';
import { checkBudget, effectiveLimit } from './effective-limit.ts';

/** Options of `loopBudget`. */
export interface LoopBudgetOptions {
  /** The window of the model if not given, 128,000 where none is known. */
  readonly maxInputTokens?: number;
  /** Reserved for the reply; 4,096 if not given. */
  readonly maxOutputTokens?: number;
  readonly model?: string;
  readonly contextWindows?: Readonly<Record<string, number>>;
}

/** The most tokens of a request in an agent's loop: `maxInputTokens - maxOutputTokens - 10 %`. */
export function loopBudget(options: LoopBudgetOptions = {}): number {
  checkOptions('loopBudget', options, {
    maxInputTokens: positive,
    maxOutputTokens: count,
    model: text,
    contextWindows: windowsRule,
  });
  const limit = effectiveLimit(options);
  checkBudget(limit);
  return limit.budgetTokens;
}
