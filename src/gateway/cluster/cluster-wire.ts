import { PalimpsestError } from '../../errors.ts';

/** A call of a worker to the process that owns store and records. */
export interface Call {
  readonly type: 'palimpsest-call';
  readonly id: number;
  /** `store.putMany`, `receipts.totals`, … */
  readonly method: string;
  readonly tenant: string;
  readonly args: readonly unknown[];
}

/** The answer to a call. */
export interface Reply {
  readonly type: 'palimpsest-reply';
  readonly id: number;
  readonly value?: unknown;
  /** A list with more parts: `list.more` with the id of this call asks for the next part, `list.end` for no more. */
  readonly goesOn?: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A message without an answer. */
export interface Note {
  readonly type: 'palimpsest-note';
  readonly about: 'finished' | 'watch' | 'unwatch' | 'entered';
  readonly tenant: string;
  readonly value?: unknown;
}

/** Asks a worker to accept nothing new, finish, and end. */
export interface Stop {
  readonly type: 'palimpsest-stop';
}

export type Wire = Call | Reply | Note | Stop;

export const isWire = (message: unknown): message is Wire =>
  typeof message === 'object' && message !== null && String((message as Wire).type).startsWith('palimpsest-');

/** An error as it goes over the wire. */
export function toWireError(error: unknown): NonNullable<Reply['error']> {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: error instanceof PalimpsestError ? String(code) : 'STORE_FAILED', message: String(message ?? error) };
}

export const fromWireError = ({ code, message }: NonNullable<Reply['error']>): PalimpsestError =>
  new PalimpsestError(code as PalimpsestError['code'], message);
