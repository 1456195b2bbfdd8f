import type { Segment } from '../../message.ts';
import type { Counter } from '../../tokens/counter.ts';
import { type CutTextOptions, cutText } from '../cut-text.ts';
import { truncateResult } from '../truncate-result.ts';
import type { History } from './history.ts';
import { contentTokens } from './sizes.ts';

interface Shortening {
  /** By segment: the size to which words are shortened. */
  readonly sizes: ReadonlyMap<number, number>;
  readonly showHandle: (text: string) => string;
}

/** Shortens users' own words in one message, always from how they came. */
export function shortenWords<M>(history: History<M>, place: number, { sizes, showHandle }: Shortening): void {
  const { format, counter, messages } = history.contents;
  const start = history.contents.startOf(place);
  const whole = history.contents.whole(place);
  let { message } = whole;
  for (const [i, segment] of whole.segments.entries()) {
    const maxTokens = sizes.get(start + i);
    if (maxTokens !== undefined && segment.kind === 'user')
      message = cutText(message, segment, optionsFor(maxTokens, counter, showHandle(segment.text)));
  }
  messages[place] = message;
  for (const [i, { text }] of format.view([message]).entries()) rewrite(history, start + i, text);
}

function optionsFor(maxTokens: number, counter: Counter, handle: string): CutTextOptions {
  const shorten = (text: string, most: number): string =>
    truncateResult(text, { maxTokens: most, strategy: 'both', counter, handle });
  return { maxTokens, counter, shorten };
}

function rewrite<M>({ contents, sentTurns, totals }: History<M>, index: number, text: string): void {
  const { segments, tokens, counter } = contents;
  const segment = segments[index] as Segment;
  if (segment.text === text) return;
  const before = tokens[index] as number;
  const content = contentTokens(segment, counter(text));
  segments[index] = { ...segment, text };
  tokens[index] = content;
  const change = { tokens: content - before, chars: text.length - segment.text.length };
  totals.resize(segment, sentTurns.of(segment.message), change);
}
