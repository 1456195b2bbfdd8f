import { isPlaceholder, MAX_PLACEHOLDER } from '../../laws/idempotent.ts';
import { readReferences } from '../arrival/reference-line.ts';
import { type HandleOptions, handleToShow, isAnswerOf, recalledHandle, recalledText, showHandle } from '../handles.ts';
import { type HiddenResult, houseStyle, type PlaceholderStyle, writePlaceholder } from '../placeholder.ts';
import type { History } from './history.ts';
import type { Draft, Result } from './rows.ts';

/** Writes the texts that may replace a result: a placeholder, or a shorter version of it. */
export class Drafts<M> {
  readonly #history: History<M>;
  readonly #style: PlaceholderStyle;
  readonly #handles: HandleOptions;
  readonly #hiddenText: (handle: string) => string | undefined;

  constructor(history: History<M>, handles: HandleOptions, hiddenText: (handle: string) => string | undefined) {
    this.#history = history;
    this.#hiddenText = hiddenText;
    this.#style = history.style;
    this.#handles = handles;
  }

  /** The placeholder of a result that is not masked yet; undefined if there can be none. */
  placeholder(result: Result): Draft | undefined {
    // A user's own function may return another text each time.
    if (result.draft === undefined || !this.#style.known) result.draft = this.#writePlaceholder(result) ?? null;
    return result.draft ?? undefined;
  }

  /** Law 6: a placeholder is smaller than what it hides, in characters and in tokens. */
  #writePlaceholder(result: Result): Draft | undefined {
    // Gemini has files next to a response. Only our own wording distinguishes the placeholder of a file from words of the user.
    const style = result.text === '' ? houseStyle : this.#style;
    const write = (hidden: HiddenResult, by: PlaceholderStyle): Draft | undefined => {
      const draft = this.#write(result, (handle) => writePlaceholder(by, hidden, handle));
      return draft && draft.tokens < result.tokens ? draft : undefined;
    };
    const hidden = describe(result);
    const draft = write(hidden, style);
    // A result that is only a reference may be shorter than a placeholder with a long path, or with its first line.
    if (draft || readReferences(result.text).length === 0) return draft;
    return write({ ...hidden, args: '' }, houseStyle);
  }

  /** A shorter version, in the words of `write`; undefined if it is not shorter. */
  shorten(result: Result, write: (handle: string) => string): Draft | undefined {
    const draft = this.#write(result, write);
    // With an unchanged text, an image would be removed silently.
    return draft && draft.tokens <= result.tokens && draft.text !== result.text ? draft : undefined;
  }

  #write(result: Result, write: (handle: string) => string): Draft | undefined {
    if (this.#mayBeCustom(result.text)) return undefined;
    const stored = this.#stored(result);
    if (stored === undefined) return undefined;
    const handle = handleToShow(stored, this.#handles);
    const text = write(showHandle(handle, this.#handles));
    if (text === '' || text.length >= result.chars) return undefined;
    return { stored, text, tokens: this.#history.counter(text), handle };
  }

  /** Whether a new placeholder would be recognised later. The head of a result would not. */
  isRecognised(text: string): boolean {
    const { known, keep, literal } = this.#style;
    return known && !keep ? true : isPlaceholder(text, literal);
  }

  /** A user's own function may write anything: only the length distinguishes its placeholders from output. */
  #mayBeCustom(text: string): boolean {
    return !this.#style.known && this.#style.literal === undefined && text.length <= MAX_PLACEHOLDER;
  }

  /**
   * The text that a handle of this result recalls; undefined if it cannot be serialised. It is the text as it was sent. If the result was
   * made smaller, its last line leads to its original.
   */
  #stored(result: Result): string | undefined {
    if (result.why !== undefined) return result.text;
    const { format, messages } = this.#history;
    const original = format.original(messages[result.original.message] as M, result.original);
    return original === undefined ? undefined : (this.#recalled(result, original) ?? original);
  }

  /**
   * The recalled text, if the result is the answer of a recall: it is hidden under its old handle. An agent may put words around the
   * answer or cut it, and a part is not the whole text. Then the call says which text it is, if the history has that text.
   */
  #recalled({ tool, args, isError }: Result, original: string): string | undefined {
    const text = recalledText(original, this.#handles);
    if (text !== undefined || isError || (this.#handles.show ?? 'nothing') === 'nothing') return text;
    const handle = recalledHandle(tool, args);
    return handle !== undefined && isAnswerOf(handle, original) ? this.#hiddenText(handle) : undefined;
  }
}

function describe(result: Result): HiddenResult {
  const { turn, tool, text, tokens, isError, args, mediaBytes } = result;
  const media = result.why === undefined ? (result.original.media?.length ?? 0) : 0;
  return { turn, tool, text, tokens, callId: result.callId ?? '', isError, media, mediaBytes, args };
}
