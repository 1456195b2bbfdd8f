import { isListEdit, type ListEdit, replaceIn, restructure } from '../formats/lens.ts';
import type { Edit, Format, ReplaceEdit, Segment } from '../message.ts';
import { Snapshot } from './snapshot.ts';

interface Original<M> {
  readonly format: Format<M>;
  readonly messages: readonly M[];
  readonly segments: readonly Segment[];
}

/**
 * A history with the edits of its plan made in it. An agent asks for it before every request, and what was hidden once
 * stays hidden: copies are kept, and only what is new is copied. One that the caller changed is not given out again.
 */
export class Copies<M> {
  readonly #original: Original<M>;
  #messages: M[] = [];
  /** The edits made last, to know the same plan again. */
  #edits: readonly Edit[] = [];
  #replaced: readonly ReplaceEdit[] = [];
  #listEdits: readonly ListEdit[] = [];
  #seen = new Snapshot();

  constructor(original: Original<M>) {
    this.#original = original;
  }

  /** A new list; the messages in it are the caller's own and the copies of the calls before. */
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
      // Else what was copied before a format of the caller's threw would go out without its edit.
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
      // The edits of one message are next to each other: the message is noted once, with all of them.
      if (last !== undefined && place !== last) this.#seen.add(this.#messages[last]);
      last = place;
    }
    if (last !== undefined) this.#seen.add(this.#messages[last]);
  }
}

/** The edits that were not there before, or undefined if one that was is gone. */
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
