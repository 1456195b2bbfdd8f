import { badOption, checkOptions, count, oneOf, positive, text } from '../options.ts';
import { windowsRule } from '../plan/fit.ts';
import type { Limit, Policy, Truncation } from '../plan/policy.ts';
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

/** What a request of an agent's loop may hold: `maxInputTokens - maxOutputTokens - 10 %`. */
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

/** Options of `loopPolicy`. */
export interface LoopPolicyOptions {
  /** A larger result is cut to this size when it arrives; 8,000 tokens if not given. */
  readonly maxToolResultTokens?: number;
  /** Which part of it stays: its head if not given. */
  readonly toolResultTruncation?: Truncation;
  /**
   * What a request may hold, such as `loopBudget` says. Above it, the oldest iterations go as a last resort. Where the
   * policy has a limit of its own, the smaller one counts; beside one in characters, give this to `fit`.
   */
  readonly maxTokens?: number;
  /** How many messages stood there before the loop: they are the conversation, and stay. */
  readonly conversationMessages?: number;
}

/**
 * A policy for an agent's loop: results are cut when they arrive, masked by the policy between iterations, and the oldest
 * iterations are dropped only where that was not enough. Make it once, and give it to `fit` or a planner.
 */
export function loopPolicy(policy: Policy, options: LoopPolicyOptions = {}): Policy {
  checkOptions('loopPolicy', options, {
    maxToolResultTokens: positive,
    toolResultTruncation: oneOf('head', 'tail', 'both'),
    maxTokens: positive,
    conversationMessages: count,
  });
  const { maxToolResultTokens = 8000, toolResultTruncation = 'head' } = options;
  const limit = limitOf(policy, options);
  return {
    ...policy,
    maxResultTokens: maxToolResultTokens,
    truncation: toolResultTruncation,
    ...(limit ? { limit } : {}),
  };
}

function limitOf(policy: Policy, { maxTokens, conversationMessages = 0 }: LoopPolicyOptions): Limit | undefined {
  const keepMessages = conversationMessages;
  if (policy.limit) return { ...policy.limit, max: lesserMax(policy.limit, maxTokens), keepMessages };
  if (maxTokens === undefined) return undefined;
  const window = policy.window ?? 10;
  return { max: maxTokens, measure: 'tokens', window, mask: true, summaryMaxChars: 1400, keepMessages };
}

function lesserMax({ max, measure }: Limit, maxTokens = Number.POSITIVE_INFINITY): number {
  if (measure === 'chars' && maxTokens < Number.POSITIVE_INFINITY)
    throw badOption('loopPolicy option maxTokens', 'left to fit where the policy has a limit in characters', maxTokens);
  return Math.min(max, maxTokens);
}
