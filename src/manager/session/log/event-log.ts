import { PalimpsestError } from '../../../errors.ts';
import type { EventBody, SessionEvent } from '../session-event.ts';
import { changesBy, type SessionInfo } from '../session-info.ts';
import type { SessionStorage } from '../session-storage.ts';
import { encodeBody, type Place, parseEvent, stampBody } from './event-line.ts';

/** The end of a log. */
export interface LogEnd {
  readonly position: number;
  readonly seq: number;
  readonly time: string;
}

interface EventLogOptions<M> {
  readonly storage: Pick<SessionStorage<M>, 'append' | 'failure' | 'eventChars'>;
  readonly end: LogEnd;
  readonly now: () => number;
  /** Called for each event once it is durable, in order. */
  readonly onDurable: (event: SessionEvent<M>, place: Place) => void;
  /** Called when a batch is durable, before the next one begins. */
  readonly afterBatch: () => Promise<void>;
  /** Called with the error of an unawaited event that could not be written. The next batch tries it again. */
  readonly onProblem: (problem: Error) => void;
}

/** Flush after 10 unawaited events or 100 ms. */
const MOST_WAITING = 10;
const LONGEST_WAIT_MS = 100;

interface Waiting {
  /** The events as JSON, and what they change about the session. */
  readonly bodies: readonly string[];
  readonly changes: Partial<SessionInfo>;
  readonly resolve?: () => void;
  readonly reject?: (error: Error) => void;
}

/** A task that runs between two batches. */
interface Work {
  readonly run: () => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Appends events. Events that arrive while a batch is written and synced share the next batch, so no caller waits for a
 * timer. An event exists once it is durable, and not before.
 */
export class EventLog<M> {
  #end: LogEnd;
  readonly #options: EventLogOptions<M>;
  #waiting: Waiting[] = [];
  #work: Work[] = [];
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ownFailure: Error | undefined;
  #sealed: Error | undefined;
  /** Unawaited events could not be written and wait for the next attempt. */
  #isStuck = false;

  constructor(options: EventLogOptions<M>) {
    this.#options = options;
    this.#end = options.end;
  }

  get end(): LogEnd {
    return this.#end;
  }

  get #failure(): Error | undefined {
    return this.#ownFailure ?? this.#options.storage.failure;
  }

  /** Appends events. They are durable when the promise resolves. */
  append(bodies: readonly EventBody<M>[]): Promise<void> {
    const refusal = this.#failure ?? this.#sealed;
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...this.#encode(bodies), resolve, reject });
      this.#start();
    });
  }

  /** Appends an event that becomes durable a little later. */
  record(body: EventBody<M>): void {
    const refusal = this.#failure ?? this.#sealed;
    if (refusal) throw refusal;
    this.#waiting.push(this.#encode([body]));
    if (this.#waiting.length >= MOST_WAITING) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), LONGEST_WAIT_MS);
  }

  /** Writes all pending events. */
  async flush(): Promise<void> {
    if (this.#waiting.length > 0) this.#start();
    await this.#flushing;
    if (this.#failure) throw this.#failure;
    if (this.#isStuck) throw this.#unwritten();
  }

  /** Runs a task between two batches. */
  exclusively(run: () => Promise<void>): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#work.push({ run, resolve, reject });
      this.#start();
    });
  }

  /** Whether events wait to be written. */
  get isBusy(): boolean {
    return this.#waiting.length > 0 || this.#flushing !== undefined;
  }

  /** Stops the log: its content is unknown, or differs from memory. */
  fail(error: Error): Error {
    this.#ownFailure ??= error;
    return error;
  }

  /** Continues at another position after a compaction. Call it only between two batches. */
  moveTo(end: LogEnd): void {
    this.#end = end;
  }

  /** Refuses new events. Pending events can still be written. */
  seal(): void {
    this.#sealed ??= new PalimpsestError('STORE_CLOSED', 'Expected an open session but it was closed; open it again');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.seal();
    this.#ownFailure ??= this.#sealed;
  }

  #encode(bodies: readonly EventBody<M>[]): Waiting {
    const { eventChars } = this.#options.storage;
    const encoded = bodies.map((body) => encodeBody(body, eventChars));
    return { bodies: encoded, changes: Object.assign({}, ...bodies.map(changesBy)) };
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // Waits a moment, so that events added at the same time share the batch.
    await undefined;
    while (this.#waiting.length + this.#work.length > 0 && !this.#failure) {
      const work = this.#work.shift();
      if (work) await work.run().then(work.resolve, work.reject);
      if (this.#failure) break;
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch);
      } catch (error) {
        this.#refuse(batch, error as Error);
        this.#isStuck = this.#waiting.length > 0;
        // Only unawaited events are left. Stop, or they would be retried in a tight loop.
        if (!this.#waiting.some(({ reject }) => reject)) break;
        continue;
      }
      this.#isStuck = false;
      for (const { resolve } of batch) resolve?.();
      if (batch.length > 0) await this.#options.afterBatch();
    }
    // Cleared before the promises resolve: an event added in between would otherwise wait for ever.
    this.#flushing = undefined;
    this.#refuseRest();
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const bodies = batch.flatMap((waiting) => waiting.bodies);
    if (bodies.length === 0) return;
    const changes = Object.assign({}, ...batch.map((waiting) => waiting.changes));
    const { position, seq } = this.#end;
    const time = this.#nextTime();
    const events = bodies.map((body, i) => stampBody(body, { seq: seq + 1 + i, time, batch: seq + 1 }));
    const appended = await this.#options.storage.append(events, { position, seq: seq + 1, time, changes });
    this.#end = { position: appended.position, seq: seq + events.length, time };
    this.#tell(events, appended.places);
  }

  /** Applies durable events to memory. If that fails, the log fails: memory must not differ from it. */
  #tell(events: readonly string[], places: readonly Place[]): void {
    try {
      for (const [i, event] of events.entries()) {
        const read = parseEvent<M>(event);
        if (read) this.#options.onDurable(read.event, places[i] as Place);
      }
    } catch (error) {
      throw this.fail(error as Error);
    }
  }

  /** The current time, but never before the last event: a clock may be set back. */
  #nextTime(): string {
    const now = new Date(this.#options.now()).toISOString();
    return [now, this.#end.time].sort()[1] as string;
  }

  #refuse(batch: readonly Waiting[], error: Error): void {
    for (const { reject } of batch) reject?.(error);
    const unawaited = batch.filter(({ reject }) => !reject);
    if (unawaited.length > 0) this.#options.onProblem(error);
    this.#waiting = [...unawaited, ...this.#waiting];
  }

  /** Rejects work that will not be done, so that no caller waits for it. */
  #refuseRest(): void {
    for (const { reject } of this.#work.splice(0)) reject(this.#failure ?? this.#unwritten());
    if (!this.#failure) return;
    for (const { reject } of this.#waiting.splice(0)) reject?.(this.#failure);
  }

  #unwritten(): PalimpsestError {
    const text = `Expected all events to be written but ${this.#waiting.length} could not be; free some space and try again`;
    return new PalimpsestError('STORE_FAILED', text);
  }
}
