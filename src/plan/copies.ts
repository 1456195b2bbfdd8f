import { isListEdit, type ListEdit, replaceIn, restructure } from '../formats/lens.ts';
import type { Edit, Format, ReplaceEdit, Segment } from '../message.ts';
import { Snapshot } from './snapshot.ts';

interface Original<M> {
  readonly format: Format<M>;
  readonly messages: readonly M[];
  readonly segments: readonly Segment[];
}

/**
 * A history with the edits of its plan applied. An agent asks for it before every request, and masks stay. So copies are kept, and only
 * new edits are copied. A copy that the caller changed is not returned again.
 */
export class Copies<M> {
  readonly #original: Original<M>;
  #messages: M[] = [];
  /** The last edits, to recognise the same plan. */
  #edits: readonly Edit[] = [];
  #replaced: readonly ReplaceEdit[] = [];
  #listEdits: readonly ListEdit[] = [];
  #seen = new Snapshot();

  constructor(original: Original<M>) {
    this.#original = original;
  }

  /** Returns a new list. Its messages are the caller's own and the copies of earlier calls. */
  apply(edits: readonly Edit[]): M[] {
    if (!this.#seen.isUnchanged()) this.#forget();
    if (edits !== this.#edits) this.#take(edits);
    return restructure(this.#original.format, this.#messages, this.#listEdits);
  }

  #forget(): void {
    this.#messages = [];
    this.#edits = [];
    this.#replaced = [];
    this.#listEdits = [];
    this.#seen = new Snapshot();
  }

  #take(edits: readonly Edit[]): void {
    const replaced = edits.filter((edit) => edit.kind === 'replace');
    let added = addedTo(this.#replaced, replaced);
    if (!added) {
      this.#forget();
      added = replaced;
    }
    const { messages } = this.#original;
    for (let i = this.#messages.length; i < messages.length; i++) this.#messages.push(messages[i] as M);
    try {
      this.#replace(added);
    } catch (error) {
      // Otherwise messages that were copied before a custom format threw would be sent without their edits.
      this.#forget();
      throw error;
    }
    this.#edits = edits;
    this.#replaced = replaced;
    this.#listEdits = edits.filter(isListEdit);
  }

  #replace(edits: readonly ReplaceEdit[]): void {
    const { format, segments } = this.#original;
    let last: number | undefined;
    for (const edit of edits) {
      const place = replaceIn(this.#messages, format, segments, edit);
      // The edits of one message are adjacent: the message is recorded once, after all of them.
      if (last !== undefined && place !== last) this.#seen.add(this.#messages[last]);
      last = place;
    }
    if (last !== undefined) this.#seen.add(this.#messages[last]);
  }
}

/** The new edits, or undefined if an earlier one is gone. */
function addedTo(before: readonly ReplaceEdit[], now: readonly ReplaceEdit[]): ReplaceEdit[] | undefined {
  const added: ReplaceEdit[] = [];
  let next = 0;
  for (const edit of now) {
    const known = before[next];
    if (known?.segment === edit.segment && known.text === edit.text) next += 1;
    else added.push(edit);
  }
  return next === before.length ? added : undefined;
}
