import type { Store, TurnRecord } from './store.ts';

/** The part of a store that records turns. */
export type TurnStore = Pick<Store, 'putTurns' | 'turns'>;

export function isTurnStore(store: unknown): store is TurnStore {
  const { putTurns, turns } = (store ?? {}) as Partial<TurnStore>;
  return typeof putTurns === 'function' && typeof turns === 'function';
}

export interface WriteTurnsOptions {
  /** Turns that are not in the request. Their stored records do not change. */
  readonly leftOut?: ReadonlySet<number>;
  /** The list is numbered from its own start, and its oldest turns may be missing. */
  readonly mayBeCut?: boolean;
}

interface Known {
  /** Changes if any part of the record changes. */
  readonly version: string;
  /** Reasoning and action. Does not change when results are masked. */
  readonly identity: string;
}

/** Writes the turns of one session that are new or have changed since they were stored. */
export class TurnWriter {
  readonly #store: TurnStore;
  readonly #session: string;
  #stored: Promise<Map<number, Known>> | undefined;

  constructor(store: TurnStore, session: string) {
    this.#store = store;
    this.#session = session;
  }

  /** Writes new turns in one batch. Durable when it resolves. Writes nothing if no turn changed. */
  async write(records: readonly TurnRecord[], options: WriteTurnsOptions = {}): Promise<void> {
    if (records.length === 0) return;
    const stored = await this.#load();
    const { leftOut, mayBeCut = false } = options;
    const known = records.map(knownOf);
    const gone = mayBeCut ? goneTurns(records, known, stored) : 0;
    const fresh = new Map<TurnRecord, Known>();
    for (const [i, record] of records.entries()) {
      // The start of a cut list is not the start of the conversation.
      if (gone > 0 && record.turn === 0) continue;
      const turn = record.turn + gone;
      const before = stored.get(turn);
      const now = known[i] as Known;
      const isLeftOut = leftOut?.has(record.turn) ?? false;
      if (before === undefined || (before.version !== now.version && !isLeftOut)) fresh.set({ ...record, turn }, now);
    }
    if (fresh.size === 0) return;
    await this.#store.putTurns([...fresh.keys()]);
    for (const [{ turn }, now] of fresh) stored.set(turn, now);
  }

  /** Reads the stored turns once: an earlier process may have written some. */
  #load(): Promise<Map<number, Known>> {
    this.#stored ??= this.#read().catch((error) => {
      this.#stored = undefined;
      throw error;
    });
    return this.#stored;
  }

  async #read(): Promise<Map<number, Known>> {
    const stored = new Map<number, Known>();
    for await (const record of this.#store.turns(this.#session)) stored.set(record.turn, knownOf(record));
    return stored;
  }
}

function knownOf({ reasoning, action, observation, user = '', masked, results = [] }: TurnRecord): Known {
  const identity = `${printOf(reasoning)} ${printOf(action)}`;
  const shown = `${printOf(observation)} ${printOf(user)} ${masked} ${results.map(({ handle }) => handle).join()}`;
  return { identity, version: `${identity} ${shown}` };
}

/** The length of a text and a hash of a sample. A full hash would read the whole history on each call. */
function printOf(text: string): string {
  const step = Math.max(1, text.length / SAMPLES);
  let hash = 2_166_136_261;
  for (let at = 0; at < text.length; at += step) hash = Math.imul(hash ^ text.charCodeAt(Math.floor(at)), 16_777_619);
  return `${text.length}.${hash >>> 0}`;
}

const SAMPLES = 256;

/** How many turns are missing at the start of a list. Its first turns are looked up among the stored ones. */
function goneTurns(
  records: readonly TurnRecord[],
  known: readonly Known[],
  stored: ReadonlyMap<number, Known>,
): number {
  const first = records.findIndex(({ turn }) => turn > 0);
  const { turn = 0 } = records[first] ?? {};
  if (first < 0) return 0;
  const places = [turn, ...[...stored.keys()].filter((at) => at > turn).sort((a, b) => b - a)];
  const isSame = (i: number, at: number): boolean => known[i]?.identity === stored.get(at)?.identity;
  const isAt = (at: number): boolean =>
    isSame(first, at) && (!known[first + 1] || !stored.has(at + 1) || isSame(first + 1, at + 1));
  const unchanged = places.find((at) => stored.get(at)?.version === known[first]?.version);
  return (unchanged ?? places.find(isAt) ?? turn) - turn;
}
