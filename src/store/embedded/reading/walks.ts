import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../../../errors.ts';
import type { RequestRecord } from '../../../report/request-record.ts';
import { handleOfDigest } from '../../handle.ts';
import { STEP_MS } from '../../paced.ts';
import { checkRange } from '../../request-records.ts';
import { searchTexts } from '../../search-texts.ts';
import {
  checkSession,
  type Match,
  type RecordRange,
  type SearchOptions,
  type SessionInfo,
  type Stored,
  type TurnRecord,
} from '../../store.ts';
import type { Calls } from '../calls.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { BROKEN_CHAIN } from '../catalogue/chains.ts';
import { sessionTimes } from '../catalogue/session-times.ts';
import { sizeOf } from '../catalogue/sizes.ts';
import type { Generation } from '../generation.ts';
import { isGap, type LogRecord, NOTE, REFERENCE, TEXT, TURN } from '../log.ts';
import { rebuilding } from '../open-generation.ts';
import type { RecordFiles } from '../record-files.ts';
import { decodeText, digestIn, readNote, readTurn } from '../records.ts';
import type { GenerationInUse } from './generation-in-use.ts';

interface WalksParts {
  readonly calls: Calls;
  readonly inUse: GenerationInUse;
  readonly records: RecordFiles;
}

/** Calls that read a session or the whole store. Other events are handled in between, and a compaction may replace the files. */
export class Walks {
  readonly #calls: Calls;
  readonly #inUse: GenerationInUse;
  readonly #records: RecordFiles;

  constructor({ calls, inUse, records }: WalksParts) {
    this.#calls = calls;
    this.#inUse = inUse;
    this.#records = records;
  }

  async *turns(session: string): AsyncGenerator<TurnRecord> {
    this.#calls.check();
    checkSession(session);
    const numbers = await this.#collect(session, turnIn);
    for (const turn of [...new Set(numbers)].sort((a, b) => a - b)) {
      this.#calls.check();
      const record = this.#inUse.read(({ catalogue }) => soundOf(() => catalogue.latest.findTurn(session, turn)));
      if (record) yield record;
    }
  }

  async *list(session: string): AsyncGenerator<Stored> {
    this.#calls.check();
    checkSession(session);
    for (const handle of new Set(await this.#collect(session, handleIn))) {
      this.#calls.check();
      const stored = this.#inUse.read(({ catalogue }) => soundOf(() => catalogue.texts.find(handle)));
      if (stored) yield stored;
    }
  }

  /** The results of `pick` for the records of a session, oldest first. Other events are handled every 10 ms. */
  async #collect<T>(session: string, pick: (record: LogRecord) => T | undefined): Promise<T[]> {
    const found: T[] = [];
    let at: number | undefined;
    let generation: number | undefined;
    for (;;) {
      const endMs = performance.now() + STEP_MS;
      const next = this.#inUse.read(({ catalogue, number }) => {
        // A compaction has moved the records: positions of the other generation are invalid here.
        if (number !== generation) [found.length, at, generation] = [0, undefined, number];
        return catalogue.chains.walk(session, at, (record) => {
          const picked = pick(record);
          if (picked !== undefined) found.push(picked);
          return performance.now() < endMs;
        });
      });
      if (next === BROKEN_CHAIN) return this.#inUse.read(({ catalogue }) => pickAll(catalogue, session, pick));
      if (next === undefined) return found.reverse();
      at = next;
      await setImmediate();
      this.#calls.check();
    }
  }

  async *search(query: string, options: SearchOptions): AsyncGenerator<Match> {
    yield* searchTexts(options.session === undefined ? this.#texts() : this.list(options.session), query, options);
  }

  async *#texts(): AsyncGenerator<Stored> {
    for await (const found of this.#exported()) {
      const { type, ...stored } = found as Stored & { readonly type: string };
      if (type === 'text') yield stored;
    }
  }

  async *export(): AsyncGenerator<object> {
    yield* this.#exported();
    for await (const record of this.records({})) yield { type: 'record', ...record };
  }

  /** Everything in the log. */
  async *#exported(): AsyncGenerator<object> {
    this.#calls.check();
    // The generation stays open while it is read, also if a compaction replaces it.
    const generation = this.#inUse.read((current) => current);
    generation.hold();
    try {
      for (const found of generation.scan()) {
        this.#calls.check();
        if (found.position >= generation.end) return;
        const line = isGap(found) ? undefined : rebuilding(generation, () => exportOf(generation, found));
        if (line) yield line;
      }
    } finally {
      generation.release();
    }
  }

  async *records(range: RecordRange): AsyncGenerator<RequestRecord> {
    this.#calls.check();
    checkRange(range);
    for await (const record of this.#records.read(range)) {
      this.#calls.check();
      yield record;
    }
  }

  async *sessions(): AsyncGenerator<SessionInfo> {
    this.#calls.check();
    const newestFirst = this.#inUse.read(({ catalogue }) => sessionTimes(catalogue, this.#inUse.now()));
    for (const times of newestFirst.reverse().sort((a, b) => a.lastAt - b.lastAt)) {
      this.#calls.check();
      yield { ...times, ...this.#inUse.read(({ catalogue }) => sizeOf(catalogue, times.session)) };
      await setImmediate();
    }
  }
}

const turnIn = ({ type, body }: LogRecord): number | undefined => (type === TURN ? readTurn(body).turn : undefined);

/** The handle of the text that a record stores or refers to. */
const handleIn = ({ type, body }: LogRecord): string | undefined =>
  type === TEXT || type === REFERENCE ? handleOfDigest(digestIn(body)) : undefined;

/** Undefined for damaged items too: `verify` reports them, and sound items must still be listed. */
function soundOf<T>(find: () => T | undefined): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED') return undefined;
    throw error;
  }
}

/** Like `#collect`, but in one pass: for a session whose chain of records is broken. */
function pickAll<T>(catalogue: Catalogue, session: string, pick: (record: LogRecord) => T | undefined): T[] {
  return catalogue.chains.positionsOf(session).flatMap((position) => {
    const record = catalogue.log.recordAt(position);
    const picked = record && pick(record);
    return picked === undefined ? [] : [picked];
  });
}

function exportOf({ catalogue }: Generation, record: LogRecord): object | undefined {
  if (record.type === TURN) return catalogue.isAlive(record) ? { type: 'turn', ...readTurn(record.body) } : undefined;
  if (record.type === NOTE) return catalogue.isAlive(record) ? { type: 'note', ...readNote(record.body) } : undefined;
  if (record.type !== TEXT) return undefined;
  const found = catalogue.texts.of(digestIn(record.body));
  if (found?.position !== record.position) return undefined;
  const handle = handleOfDigest(found.digest);
  return { type: 'text', handle, ...decodeText(record.body, record.body.length), refs: catalogue.references.of(found) };
}
