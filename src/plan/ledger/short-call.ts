import type { ReplaceEdit } from '../../message.ts';
import type { Call, Why } from './rows.ts';

/** A call that is sent with shortened arguments. */
export class ShortCall {
  readonly call: Call;
  /** Its original arguments. */
  readonly original: string;
  /** Its arguments as they are sent. */
  readonly text: string;
  readonly tokens: number;
  readonly handle: string;
  /** Undefined once the edit was undone. */
  why: Why | undefined = 'old-text';
  /** Its text in the last edit that a planner returned. */
  reported: string | undefined = undefined;
  readonly #edit: ReplaceEdit;

  constructor(call: Call, { text, tokens, handle }: Pick<ShortCall, 'text' | 'tokens' | 'handle'>) {
    const { segment } = call;
    this.call = call;
    this.original = call.args;
    this.text = text;
    this.tokens = tokens;
    this.handle = handle;
    const edit: ReplaceEdit = { kind: 'replace', segment, text, why: 'old-text' };
    this.#edit = Object.freeze(handle === '' ? edit : { ...edit, handle });
  }

  get row(): Call['row'] {
    return this.call.row;
  }

  toEdit(): ReplaceEdit {
    return this.#edit;
  }
}
