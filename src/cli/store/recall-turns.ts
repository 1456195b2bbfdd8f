import { PalimpsestError } from '../../errors.ts';
import type { Store, TurnRecord } from '../../store/store.ts';
import { findSession } from './find-session.ts';
import { showTurn, showTurns, summaryOf, type TurnSummary } from './show-turns.ts';

export interface TurnsRequest {
  readonly session: string;
  readonly turn?: number | undefined;
  readonly json?: boolean | undefined;
}

/** Prints the turns of a session, or one of them, for `recall --session`. */
export async function recallTurns(store: Store, { session: named, turn, json = false }: TurnsRequest): Promise<string> {
  const session = await findSession(store, named);
  if (turn !== undefined) {
    const record = (await store.turn(session, turn)) ?? (await noTurn(store, session, turn));
    return json ? asJson(record) : showTurn(record);
  }
  const turns = await summariesOf(store, session);
  if (turns.length === 0) throw await noSession(store, session);
  return json ? asJson({ session, turns }) : showTurns(session, turns);
}

async function summariesOf(store: Store, session: string): Promise<TurnSummary[]> {
  const turns: TurnSummary[] = [];
  for await (const record of store.turns(session)) turns.push(summaryOf(record));
  return turns;
}

async function noTurn(store: Store, session: string, turn: number): Promise<TurnRecord> {
  const turns = await summariesOf(store, session);
  const [first, last] = [turns[0], turns.at(-1)];
  if (!first || !last) throw await noSession(store, session);
  const found = `Expected a turn of the session ${session} but found no turn ${turn}`;
  throw new PalimpsestError('NOT_FOUND', `${found}; it has ${first.turn} to ${last.turn}`);
}

async function noSession(store: Store, session: string): Promise<PalimpsestError> {
  let texts = 0;
  for await (const _ of store.list(session)) texts += 1;
  const found =
    texts === 0
      ? `Expected a session with turns but this store knows no session ${session}`
      : `Expected recorded turns of the session ${session} but found only its ${texts} hidden texts; sessions and fitAndStore record turns unless recordTurns is false`;
  return new PalimpsestError('NOT_FOUND', found);
}

const asJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
