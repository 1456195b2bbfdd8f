import type { InsertEdit, Kind } from '../../message.ts';
import { NO_NOTES, type Notes, noteTexts, readNote } from '../notes.ts';
import { readSummary } from '../summary.ts';
import type { History } from './history.ts';
import { isQuestion } from './questions.ts';
import { MESSAGE_TOKENS, type Sizes } from './totals.ts';

/** The size of notes as separate messages. */
export interface NoteSizes extends Sizes {
  count: number;
}

/** The summary and the notice in turn 0: those that came back with the history, and those that are sent now. */
export class HeadNotes {
  /** The notes that are sent now. */
  current: Notes = NO_NOTES;
  /** The messages with our notes that came back in the history. They are part of turn 0. */
  readonly received: number[] = [];
  /** The number of messages of the system prompt at the start, without notes. */
  leadingSystem = 0;
  /** The place of the notice, once turns were split into messages. */
  splitSlot: number | undefined;
  readonly #history: History<unknown>;

  constructor(history: History<unknown>) {
    this.#history = history;
  }

  /** Reads a message of turn 0: a note of ours that came back, a part of the system prompt, or any other. */
  take(message: number): void {
    const [only, more] = this.#history.segmentsIn(message);
    const note = only && more === undefined ? this.read(only.kind, only.text) : undefined;
    if (note) {
      this.current = { ...this.current, ...note };
      this.received.push(message);
    } else if (only?.kind === 'system' && this.leadingSystem === message - this.received.length)
      this.leadingSystem += 1;
  }

  /**
   * Returns our note if a text is one. A summary is trusted in the role in which we write notes: as a system message, or as a user
   * message behind the task. Elsewhere it must be one that we could have written.
   */
  read(kind: Kind, text: string): Notes | undefined {
    const note = kind === 'system' || kind === 'user' ? readNote(text) : undefined;
    const { format, task } = this.#history;
    const isTrusted = kind === format.noteRole && (kind === 'system' || task !== '');
    return isTrusted || !note?.summary || readSummary(note.summary) !== undefined ? note : undefined;
  }

  /** Whether the sent notes differ from those that came back. */
  isChanged(): boolean {
    const { segments } = this.#history;
    const found = this.received.map((message) => segments[this.#history.startOf(message)]?.text);
    const wanted = noteTexts(this.current);
    return found.length !== wanted.length || found.some((text, i) => text !== wanted[i]);
  }

  /** The text that the notes add to turn 0. Notes that came back already count there. */
  addedText(): number {
    let text = 0;
    for (const note of noteTexts(this.current)) text += this.#history.counter(note);
    for (const message of this.received) text -= this.#history.segmentTokens[this.#history.startOf(message)] as number;
    return text;
  }

  sizeOf(notes: Notes): NoteSizes {
    const size = { tokens: 0, chars: 0, count: 0 };
    for (const text of noteTexts(notes)) {
      size.count += 1;
      size.tokens += MESSAGE_TOKENS + this.#history.counter(text);
      size.chars += text.length;
    }
    return size;
  }

  /** The messages with notes that are replaced by others. */
  replaced(): readonly number[] {
    return this.isChanged() ? this.received : [];
  }

  /** The number of notes that the plan adds. */
  get inserted(): number {
    return this.isChanged() ? noteTexts(this.current).length : 0;
  }

  inserts(): InsertEdit[] {
    if (!this.isChanged()) return [];
    const role = this.#history.format.noteRole;
    return (['summary', 'notice'] as const).flatMap((note) => {
      const [text] = noteTexts({ [note]: this.current[note] });
      return text === undefined ? [] : Object.freeze({ kind: 'insert', before: this.slotOf(note), role, text });
    });
  }

  /** Whether a summary follows the system prompt. */
  get isBehindPrompt(): boolean {
    return this.#history.format.noteRole === 'system' && this.leadingSystem > 0;
  }

  /**
   * A notice is in the gap, behind the task. A summary follows the system prompt if it has the system role. But if a question was kept
   * with its answer, the summary goes into the gap too: otherwise the question would read like a second task.
   */
  slotOf(note: keyof Notes): number {
    const { rows } = this.#history;
    const isPrompt = note === 'summary' && this.isBehindPrompt;
    const first = rows[1];
    const isMarked = first !== undefined && isQuestion(this.#history, first.from);
    return isPrompt && !isMarked ? this.leadingSystem : (this.splitSlot ?? rows[0]?.to ?? 0);
  }
}
