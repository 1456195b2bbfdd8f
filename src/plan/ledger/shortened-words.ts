import type { Segment } from '../../message.ts';
import type { Counter } from '../../tokens/counter.ts';
import { type CutTextOptions, cutText } from '../cut-text.ts';
import { type HandleOptions, handleToShow, showHandle } from '../handles.ts';
import { truncateResult } from '../truncate-result.ts';
import type { Contents } from './contents.ts';
import { contentTokens } from './sizes.ts';
import type { Totals } from './totals.ts';
import type { Turns } from './turns.ts';

interface Parts<M> {
  readonly contents: Contents<M>;
  readonly turns: Turns;
  readonly totals: Totals;
}

/** A message as it came. */
interface Whole<M> {
  readonly message: M;
  readonly segments: readonly Segment[];
}

/** Shortens users' own words, always from how they came. */
export class ShortenedWords<M> {
  readonly #contents: Contents<M>;
  readonly #turns: Turns;
  readonly #totals: Totals;
  readonly #counter: Counter;
  readonly #handles: HandleOptions;
  readonly #whole = new Map<number, Whole<M>>();

  constructor({ contents, turns, totals }: Parts<M>, counter: Counter, handles: HandleOptions) {
    this.#contents = contents;
    this.#turns = turns;
    this.#totals = totals;
    this.#counter = counter;
    this.#handles = handles;
  }

  /** Shortens all words of a message that have a size, by segment. */
  shorten(place: number, sizes: ReadonlyMap<number, number>): void {
    const { format, messages } = this.#contents;
    const start = this.#contents.startOf(place);
    const whole = this.#keep(place);
    let { message } = whole;
    for (const [i, segment] of whole.segments.entries()) {
      const maxTokens = sizes.get(start + i);
      if (maxTokens !== undefined && segment.kind === 'user')
        message = cutText(message, segment, this.#shortening(segment, maxTokens));
    }
    messages[place] = message;
    for (const [i, { text }] of format.view([message]).entries()) this.#rewrite(start + i, text);
  }

  #keep(place: number): Whole<M> {
    const { messages } = this.#contents;
    const whole = this.#whole.get(place) ?? {
      message: messages[place] as M,
      segments: this.#contents.segmentsIn(place),
    };
    this.#whole.set(place, whole);
    return whole;
  }

  #shortening({ text: whole }: Segment, maxTokens: number): CutTextOptions {
    const counter = this.#counter;
    const handle = showHandle(handleToShow(whole, this.#handles), this.#handles);
    const shorten = (text: string, most: number): string =>
      truncateResult(text, { maxTokens: most, strategy: 'both', counter, handle });
    return { maxTokens, counter, shorten };
  }

  #rewrite(index: number, text: string): void {
    const { segments, tokens } = this.#contents;
    const segment = segments[index] as Segment;
    if (segment.text === text) return;
    const before = tokens[index] as number;
    const content = contentTokens(segment, this.#counter(text));
    segments[index] = { ...segment, text };
    tokens[index] = content;
    const change = { tokens: content - before, chars: text.length - segment.text.length };
    this.#totals.resize(segment, this.#turns.of(segment.message), change);
  }
}
