import { checkOptions, count, positive, text } from '../../options.ts';
import { windowsRule } from '../../plan/fit.ts';
import { checkBudget, effectiveLimit } from './effective-limit.ts';

/** Options of `loopBudget`. */
export interface LoopBudgetOptions {
  /** The window in tokens. @default that of the model, 128000 where no model is known */
  readonly maxInputTokens?: number;
  /** Reserved for the reply. @default 4096 */
  readonly maxOutputTokens?: number;
  /** The model whose window is the limit. @default none */
  readonly model?: string;
  /** Windows in tokens, by the name of the model, before the known ones. @default none */
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
