import { hash } from 'node:crypto';
import { toReference } from '../check-input.ts';
import type { Reference } from '../store.ts';

/** A reference as a row holds it: see the table `refs`. */
export interface ReferenceRow {
  readonly key: string;
  readonly session: string;
  readonly turn: number;
  readonly tool: string;
}

export function toRow({ session = '', turn = -1, tool }: Reference): ReferenceRow {
  const written = tool === undefined ? '' : toAscii(JSON.stringify(tool));
  // A tool's name may be longer than an index allows.
  const key = hash('sha256', JSON.stringify([session, turn, written]), 'hex').slice(0, 32);
  return { key, session, turn, tool: written };
}

/** Takes the list of lists that `json_agg` makes. */
export function fromRows(json: string | null): Reference[] {
  const rows: [session: string, turn: number, tool: string][] = JSON.parse(json ?? '[]');
  return rows.map(([session, turn, tool]) =>
    toReference({
      ...(session === '' ? {} : { session }),
      ...(turn === -1 ? {} : { turn }),
      ...(tool === '' ? {} : { tool: JSON.parse(tool) }),
    }),
  );
}

/** So that databases of any encoding take it. */
const toAscii = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
