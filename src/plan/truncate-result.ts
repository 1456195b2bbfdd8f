import { checkOptions, func, oneOf, positive, text as textRule } from '../options.ts';
import { headOf, tailOf } from '../text.ts';
import type { Counter } from '../tokens/counter.ts';
import { estimateTokens } from '../tokens/estimate-tokens.ts';

/** Options of `truncateResult`. */
export interface TruncateOptions {
  /** The size to cut to. @default 8000 */
  readonly maxTokens?: number;
  /** The part that stays. @default 'head' */
  readonly strategy?: 'head' | 'tail' | 'both';
  /** Counts the tokens of a text. @default estimateTokens */
  readonly counter?: Counter;
  /** How the handle of the original is shown in the indicator, if at all. @default none */
  readonly handle?: string;
}

/**
 * Cuts a result to `maxTokens`, including the line that says so. Put the original into the store first.
 *
 * @example
 * ```ts
 * import { truncateResult } from 'palimpsest';
 *
 * const text = truncateResult('a long log', { maxTokens: 2000, strategy: 'both' });
 * ```
 */
export function truncateResult(text: string, options: TruncateOptions = {}): string {
  checkOptions('truncateResult', options, {
    maxTokens: positive,
    strategy: oneOf('head', 'tail', 'both'),
    counter: func,
    handle: textRule,
  });
  const { maxTokens = 8000, strategy = 'head', counter = estimateTokens, handle = '' } = options;
  const tokens = counter(text);
  if (tokens <= maxTokens) return text;
  const kept = { head: 'first', tail: 'last', both: 'first+last' }[strategy];
  const indicator = `[truncated: kept ${kept} ~${maxTokens} of ~${tokens} tokens (${strategy})${handle}]`;
  const announced = withIndicator(strategy, indicator);
  const assemble = counter(announced(text, 0)) <= maxTokens ? announced : withIndicator(strategy, '');
  return longest(
    text,
    (length) => assemble(text, length),
    (candidate) => counter(candidate) <= maxTokens,
  );
}

/** Whether a text was cut by us. */
export const isTruncated = (text: string): boolean => text.includes('[truncated: kept ');

type Assemble = (text: string, length: number) => string;

/** If the indicator does not fit either, the cut has none. */
function withIndicator(strategy: 'head' | 'tail' | 'both', indicator: string): Assemble {
  const gap = indicator === '' ? '' : '\n\n';
  if (strategy === 'head') return (text, length) => `${headOf(text, length)}${gap}${indicator}`;
  if (strategy === 'tail') return (text, length) => `${indicator}${gap}${tailOf(text, length)}`;
  return (text, length) => {
    const half = Math.floor(length / 2);
    return `${headOf(text, length - half)}${gap}${indicator}${gap}${tailOf(text, half)}`;
  };
}

/** The longest cut that still fits. */
function longest(text: string, cut: (length: number) => string, fits: (candidate: string) => boolean): string {
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(cut(middle))) low = middle;
    else high = middle - 1;
  }
  return cut(low) || headOf(text, 2);
}
