import { PalimpsestError } from '../../errors.ts';
import type { Format } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { Rendered, RenderOptions } from '../budget/render-with-budget.ts';
import type { MaskOptions } from '../context/context-action.ts';
import { sessionContinuity } from '../context/notices.ts';
import { resultsForOpen, skippedByRestart } from '../open-calls.ts';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import { Conversation } from './conversation/conversation.ts';
import { messageEvents, resultEvents } from './conversation/message-events.ts';
import { RequestRenderer } from './conversation/request-renderer.ts';
import { checkLogged } from './log/check-body.ts';
import { type Damage, damageFound } from './log/damage.ts';
import type { Place } from './log/event-line.ts';
import { EventLog } from './log/event-log.ts';
import type { Recovered } from './log/replay.ts';
import { checkEventOptions } from './log/select-events.ts';
import type { EventOptions, MaskReport, Recovery, Session } from './session.ts';
import type { ArrivalSettings, EventBody, LoggedEvent, SessionEvent, SessionStatus } from './session-event.ts';
import { SessionManager } from './session-manager.ts';
import type { SessionParts } from './session-settings.ts';
import type { SessionPlace, SessionStorage } from './session-storage.ts';
import { type HiddenStore, storeHidden } from './storing/store-hidden.ts';
import { storeShaped, unstoredShaped } from './storing/store-shaped.ts';
import { TurnRecorder } from './storing/turn-recorder.ts';
import { Upkeep, type UpkeepOptions } from './upkeep.ts';

/** The options of `openSession` with their defaults filled in. */
export interface DurableOptions<M> extends HiddenStore, UpkeepOptions, SessionParts<M> {
  readonly recordTurns: boolean;
  readonly openCalls: 'answer' | 'keep';
  readonly onWindDown: (session: Session<M>) => Promise<void> | void;
  /** The place of this session, and its storage. They are closed with the session. */
  readonly place: SessionPlace;
  readonly storage: SessionStorage<M>;
}

/** While a log is replayed, hidden text is stored once this many characters are pending. */
const MOST_WAITING_CHARS = 4_000_000;

/** A session whose source of truth is an event log, on disk or in a database. Memory, snapshot and view are derived from it. */
export class DurableSession<M> implements Session<M> {
  readonly id: string;
  readonly directory: string;
  readonly #options: DurableOptions<M>;
  readonly #conversation: Conversation<M>;
  readonly #log: EventLog<M>;
  readonly #upkeep: Upkeep<M>;
  readonly #damage: Damage;
  readonly #stored: Set<string>;
  readonly #recorder: TurnRecorder<M>;
  readonly #renderer: RequestRenderer<M>;
  #manager: SessionManager<M>;
  #recovery: Recovery;
  /** The number of unfinished changes to the conversation. */
  #changes = 0;
  #closing: Promise<void> | undefined;

  private constructor(options: DurableOptions<M>, parts: Parts<M>) {
    this.#options = options;
    this.id = options.id;
    this.directory = options.storage.folder;
    this.#conversation = parts.conversation;
    this.#stored = parts.stored;
    this.#recorder = new TurnRecorder({ ...options, format: this.format }, parts.conversation);
    this.#recovery = { ...parts.recovered.recovery, answeredCalls: 0 };
    this.#damage = parts.recovered.damage;
    const { now, onProblem, storage } = options;
    this.#renderer = new RequestRenderer({
      conversation: parts.conversation,
      parts: options,
      record: (event) => this.#log.append([event]),
      storeShaped: () => this.#storeShaped(),
      storeHidden: (hidden) => this.#storeHidden(hidden),
    });
    this.#log = new EventLog<M>({
      storage,
      end: parts.recovered.end,
      now,
      onProblem,
      onDurable: (event, place) => this.#apply(event, place),
      afterBatch: () => this.#upkeep.run(),
    });
    this.#upkeep = new Upkeep<M>(options, {
      conversation: parts.conversation,
      storage,
      log: this.#log,
      format: this.format.name,
      damage: parts.recovered.damage,
      storeHidden: () => this.#storeHidden([]),
    });
    this.#manager = this.#newManager();
  }

  /** Opens a session. If that fails, the storage is closed. */
  static async open<M>(options: DurableOptions<M>): Promise<DurableSession<M>> {
    const { storage } = options;
    let session: DurableSession<M> | undefined;
    try {
      const conversation = new Conversation(options.conversation);
      const stored = new Set<string>();
      const between = () => storeHidden(options, conversation, { stored, atLeastChars: MOST_WAITING_CHARS });
      const recovered = await storage.recover({ conversation, between });
      checkSameFormat(options, recovered);
      session = new DurableSession(options, { conversation, stored, recovered });
      await session.#begin();
      return session;
    } catch (error) {
      if (session) session.#log.close();
      await storage.close({ isSaved: false });
      throw error;
    }
  }

  get format(): Format<M> {
    return this.#options.writer.format;
  }
  get number(): number {
    return this.#conversation.facts.number;
  }
  get turns(): number {
    return this.#conversation.facts.turns;
  }
  get status(): SessionStatus {
    return this.#conversation.facts.status;
  }
  get recovery(): Recovery {
    return this.#recovery;
  }
  get manager(): SessionManager<M> {
    return this.#manager;
  }

  async add(...messages: readonly M[]): Promise<void> {
    await this.#change(messageEvents(messages));
  }

  async answer(...results: readonly ToolResult[]): Promise<void> {
    await this.#whenIdle(() => this.#change(resultEvents(this.#conversation, this.#options.writer, results)));
  }

  messages(): readonly M[] {
    return this.#conversation.messages();
  }

  view(): readonly M[] {
    return this.#conversation.view.messages();
  }

  async render(budget: RenderOptions<M> = {}): Promise<Rendered<M>> {
    return this.#renderer.render(this.#manager.limit, budget);
  }

  async mask(count?: number, options?: MaskOptions): Promise<MaskReport<M>> {
    const result = await this.#whenIdle(() => this.#manager.maskOldest(count, options));
    if (result.masked > 0) await this.#log.flush();
    const { masked, total, reclaimedPct, notice } = result;
    return { masked, total, reclaimedPct, notice, messages: this.view() };
  }

  async restart(reason = 'hard_threshold_exceeded'): Promise<void> {
    await this.#answerOpen(skippedByRestart);
    // Waits for messages that are being added, so that they are carried over too.
    await this.#whenIdle(() => this.#beginNext(reason));
    await this.#recordTurns();
  }

  continuity(): string {
    return sessionContinuity(this.number);
  }

  async windDown(): Promise<void> {
    await this.#options.onWindDown(this);
  }

  async log(event: LoggedEvent): Promise<void> {
    await this.#log.append([checkLogged(event)]);
  }

  record(event: LoggedEvent): void {
    this.#log.record(checkLogged(event));
  }

  async *events(options: EventOptions = {}): AsyncGenerator<SessionEvent<M>> {
    checkEventOptions('events', options);
    await this.#log.flush();
    yield* this.#options.storage.read({
      ...options,
      onDamage: (lines) => {
        this.#damage.lines = Math.max(this.#damage.lines, lines);
        this.#options.onProblem(damageFound(this.id, { lines, names: this.#options.place.names }));
      },
    });
  }

  decidedApprovals(): { callId: string; approved: boolean; reason?: string }[] {
    return [...this.#conversation.decisions()].map(([callId, decision]) => ({ callId, ...decision }));
  }

  pendingApprovals(): { callId: string; tool: string; arguments?: unknown }[] {
    return [...this.#conversation.approvals()].map(([callId, approval]) => ({ callId, ...approval }));
  }

  async reset(): Promise<void> {
    await this.#change([{ type: 'reset' }]);
    await this.#recordTurns();
    this.#manager = this.#newManager();
  }

  async acknowledgeDamage(): Promise<void> {
    if (!this.#damage.isOpen) return;
    const { lines, missing } = this.#damage;
    await this.#log.append([{ type: 'damage_acknowledged', lines, missing }]);
  }

  async compact(): Promise<void> {
    await this.#log.exclusively(() => this.#upkeep.compact());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#log.seal();
    let isSaved = false;
    try {
      await this.#log.flush();
      await this.#log.exclusively(async () => {
        isSaved = await this.#upkeep.trySnapshot();
      });
    } finally {
      this.#log.close();
      await this.#options.storage.close({ isSaved }).finally(() => this.#options.place.close());
    }
  }

  /** Writes the first event of a new log. In an existing log, answers calls that will never be executed. */
  async #begin(): Promise<void> {
    const { id, openCalls } = this.#options;
    this.#reportDamage();
    const { arrival } = this.#options.conversation;
    if (this.#recovery.from === 'nothing')
      await this.#log.append([{ type: 'session_start', id, format: this.format.name, arrival }]);
    else if (!isSameArrival(arrival, this.#conversation.view.arrival))
      await this.#log.append([{ type: 'arrival', ...arrival }]);
    // A reply is answered as a whole: while one of its calls waits for a person, none of them is executed.
    if (openCalls === 'keep' || this.#conversation.approvals().size > 0) return;
    const skipped = this.#conversation.skipped();
    const answeredCalls = await this.#answerOpen((call) => {
      const reason = skipped.get(call.id);
      return { call, text: reason === undefined ? INTERRUPTED : `Skipped: ${reason}`, isError: true };
    });
    this.#recovery = { ...this.#recovery, answeredCalls };
  }

  #reportDamage(): void {
    const { damagedLines, missing } = this.#recovery;
    if (damagedLines === 0 && missing.length === 0) return;
    this.#options.onProblem(damageFound(this.id, { lines: damagedLines, missing, names: this.#options.place.names }));
  }

  /** Answers the number of calls. */
  #answerOpen(resultOf: (call: ToolCall) => ToolResult): Promise<number> {
    return this.#whenIdle(async () => {
      const results = resultsForOpen(this.#options.writer, this.messages(), resultOf);
      const events = resultEvents(this.#conversation, this.#options.writer, results);
      await this.#change(events.map((event) => ({ ...event, recovered: true })));
      return results.length;
    });
  }

  async #beginNext(reason: string): Promise<void> {
    const { event, hidden } = this.#manager.beginNext(this.#options.writer, reason);
    try {
      // From now on only the log has the whole text, and the model can recall only what is stored.
      if (hidden.length > 0)
        await storeHidden(this.#options, this.#conversation, { stored: this.#stored, rendered: hidden });
      await this.#change([event]);
    } catch (error) {
      // The manager has already moved to the next session. Replace it by one with the current state.
      this.#manager = this.#newManager();
      throw error;
    }
  }

  /** Appends events that change the conversation. */
  async #change(bodies: readonly EventBody<M>[]): Promise<void> {
    if (bodies.length === 0) return;
    this.#changes += 1;
    try {
      await this.#log.append(bodies);
    } finally {
      this.#changes -= 1;
    }
  }

  /** Waits for messages that are being added: they come first in the log, so they must come first here. */
  async #whenIdle<T>(next: () => T | Promise<T>): Promise<T> {
    while (this.#log.isBusy || this.#changes > 0) await this.#log.flush();
    return next();
  }

  #apply(event: SessionEvent<M>, place: Place): void {
    const { type } = event;
    const isForgetting =
      type === 'session_restart' || type === 'reset' || (type === 'message' && this.#conversation.isFull);
    if (isForgetting) this.#recorder.keep();
    if (type === 'damage_acknowledged') this.#damage.take(event);
    this.#upkeep.take(event);
    this.#conversation.apply(event, place);
  }

  /** Stores originals. If the store fails or is slow, requests still go out, with the new results whole. */
  async #storeShaped(): Promise<void> {
    const problem = await storeShaped(this.#options, this.#conversation, this.#stored);
    if (!problem) return;
    this.#options.onProblem(problem);
    await this.#whenIdle(async () => {
      const handles = new Set(unstoredShaped(this.#conversation, this.#stored).map(({ handle }) => handle));
      const results = this.#conversation.view.shapedResults({ handles });
      const reason = `their originals could not be stored: ${problem.message}`;
      if (results.length > 0) await this.#log.append([{ type: 'arrival_skipped', results, reason }]);
    });
  }

  async #storeHidden(rendered: readonly Hidden[]): Promise<void> {
    await storeHidden(this.#options, this.#conversation, { stored: this.#stored, rendered });
    await this.#recorder.record();
  }

  /** Runs after the conversation has moved on, so a failing store must not make that fail. */
  async #recordTurns(): Promise<void> {
    await this.#storeHidden([]).catch((error) => this.#options.onProblem(error));
  }

  #newManager(): SessionManager<M> {
    return new SessionManager<M>(
      { ...this.#options.manager, session: this },
      {
        conversation: this.#conversation,
        record: (event) => this.#log.record(event),
        checkIdle: () => this.#checkIdle(),
      },
    );
  }

  /** Throws while messages are being added: a mask would be logged after them, but computed without them. */
  #checkIdle(): void {
    if (this.#changes === 0) return;
    throw new PalimpsestError(
      'BAD_INPUT',
      'Expected all that was added to the session to be in its log but some is not yet; await it first, or call session.mask(), which does',
    );
  }
}

interface Parts<M> {
  readonly conversation: Conversation<M>;
  readonly stored: Set<string>;
  readonly recovered: Recovered;
}

const INTERRUPTED = 'Error: tool execution interrupted by server restart';

function checkSameFormat<M>({ writer, id }: DurableOptions<M>, { format }: Recovered): void {
  const { name } = writer.format;
  if (format === undefined || format === name) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected the option format to be '${format}', the format of the messages in session ${id}, but found '${name}'`,
  );
}

const isSameArrival = (a: ArrivalSettings, b: ArrivalSettings): boolean =>
  (Object.keys(a) as (keyof ArrivalSettings)[]).every((name) => a[name] === b[name]);
