import { OpenCalls } from '../../formats/calls.ts';
import { isNote } from '../../laws/idempotent.ts';
import type { Segment } from '../../message.ts';
import type { Contents } from './contents.ts';
import type { Result } from './result.ts';
import { isArguments } from './sizes.ts';
import { type Call, Turn } from './turn.ts';

/** The turns that are sent, and the results in them. */
export class SentTurns {
  rows: Turn[] = [new Turn(0, 0)];
  /** Oldest first. */
  observations: Result[] = [];
  /** The text of the first user message. */
  task = '';
  /** The first user message, and its turn. */
  taskMessage = Number.POSITIVE_INFINITY;
  taskRow: Turn | undefined;
  /** The last segment that is signed over everything before it, or -1. */
  lastSigned = -1;
  #hasSigned = false;
  readonly #calls = new OpenCalls<Call>();

  get last(): Turn {
    return this.rows[this.rows.length - 1] as Turn;
  }

  /** The turn of a message that is sent. */
  of(message: number): Turn {
    return this.rows.find(({ from, to }) => from <= message && message < to) as Turn;
  }

  isSent({ row }: Result): boolean {
    return this.rows[row.number] === row;
  }

  get openCalls(): readonly Call[] {
    return this.#calls.all();
  }

  begin(message: number): Turn {
    const row = new Turn(this.rows.length, message);
    this.rows.push(row);
    return row;
  }

  addUser({ text, message }: Segment, row: Turn): void {
    row.hasUser = true;
    if (!isNote(text)) row.hasWords = true;
    this.taskRow ??= row;
    this.taskMessage = Math.min(this.taskMessage, message);
    if (this.task === '' && this.taskRow === row) this.task = text;
  }

  addCall(segment: Segment, row: Turn): void {
    this.#calls.made(segment.callId ?? '', {
      row,
      message: segment.message,
      args: segment.text,
      isProse: !isArguments(segment),
    });
    row.openCalls += 1;
    row.hasCalls = true;
  }

  /** The call that a result answers, if there is one. Links its turn with that of the result. */
  answer({ callId }: Segment, row: Turn): Call | undefined {
    const call = callId === undefined ? undefined : this.#calls.answered(callId);
    if (!call) return undefined;
    call.row.openCalls -= 1;
    call.row.link(row);
    return call;
  }

  addSigned(segment: number, row: Turn): void {
    this.#hasSigned = true;
    this.lastSigned = segment;
    row.lastSigned = segment;
  }

  /** Sends these turns and no others. */
  arrange(rows: Turn[], observations: Result[]): void {
    this.rows = rows;
    this.observations = observations;
    for (const [number, row] of rows.entries()) row.number = number;
    if (this.#hasSigned) this.lastSigned = rows.findLast((row) => row.lastSigned >= 0)?.lastSigned ?? -1;
  }
}

/** Finds out whether a turn holds words of a user. */
export function readUsers(row: Turn, contents: Contents<unknown>): void {
  const users = [...contents.segmentsOf(row)].filter(([{ kind }]) => kind === 'user');
  row.hasUser = users.length > 0;
  row.hasWords = users.some(([{ text }]) => !isNote(text));
}
