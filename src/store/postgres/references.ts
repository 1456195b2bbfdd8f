import { hash } from 'node:crypto';
import type { Handle, Reference } from '../store.ts';

/** A reference as a row holds it: see the table `refs`. */
export interface ReferenceRow {
  /** 16 bytes, one character each. */
  readonly key: string;
  readonly session: string;
  readonly turn: number;
  readonly tool: string;
}

export function toRow({ session = '', turn = -1, tool }: Reference): ReferenceRow {
  const written = tool === undefined ? '' : toAscii(JSON.stringify(tool));
  // A tool's name may be longer than an index allows. A session has no letter that JSON escapes.
  const hashed = `["${session}",${turn},${written === '' ? '""' : JSON.stringify(written)}]`;
  const key = hash('sha256', hashed, 'binary').slice(0, 16);
  return { key, session, turn, tool: written };
}

/** A reference, the handle of its text, and its place in the order of arrival. */
export interface FoundReference {
  readonly handle: Handle;
  readonly seq: number;
  readonly reference: Reference;
}

/** Reads a line of the statements `get…`: handle, seq, session, turn and tool. Only a tool may have a space in it. */
export function fromLine(line: string): FoundReference {
  const seq = line.indexOf(' ') + 1;
  const session = line.indexOf(' ', seq) + 1;
  const turn = line.indexOf(' ', session) + 1;
  const tool = line.indexOf(' ', turn) + 1;
  const reference: { -readonly [Name in keyof Reference]: Reference[Name] } = {};
  if (turn - session > 1) reference.session = line.slice(session, turn - 1);
  if (line[turn] !== '-') reference.turn = Number(line.slice(turn, tool - 1));
  if (tool < line.length) reference.tool = JSON.parse(line.slice(tool));
  return { handle: line.slice(0, seq - 1), seq: Number(line.slice(seq, session - 1)), reference };
}

/** Escapes other characters, so that databases of any encoding accept it. */
export const toAscii = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
