import { dirname, join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Format } from '../../message.ts';
import type { Hidden } from '../../plan/ledger.ts';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import type { ContextManagerOptions, ManagerState, MaskResult } from '../context-manager.ts';
import type { Cut } from '../cut-history.ts';
import type { Dialect, ToolCall } from '../dialect.ts';
import { sessionContinuity } from '../notices.ts';
import { type Rendered, type RenderOptions, renderWithBudget } from '../render-with-budget.ts';
import type { Usage } from '../usage.ts';
import { checkLogged } from './check-logged.ts';
import { archiveEvents, replaceEvents, rewriteEvents } from './compact.ts';
import { Conversation, type ConversationOptions } from './conversation.ts';
import { encodeBody, writeLine } from './event-line.ts';
import { EventLog } from './event-log.ts';
import type { Place } from './lines.ts';
import { readEvents } from './read-events.ts';
import { type Recovered, recover } from './recover.ts';
import type { EventOptions, MaskReport, Recovery, Session } from './session.ts';
import type { LoggedEvent, SessionEvent, SessionStatus } from './session-event.ts';
import { EVENTS } from './session-files.ts';
import { SessionManager } from './session-manager.ts';
import { writeSnapshot } from './snapshot.ts';
import { type HiddenStore, storeHidden } from './store-hidden.ts';

/** What `openSession` makes of its options. */
export interface DurableOptions<M> extends HiddenStore {
  readonly disk: Disk;
  readonly folder: string;
  readonly dialect: Dialect<M>;
  readonly conversation: ConversationOptions<M>;
  readonly manager: Omit<ContextManagerOptions<M>, 'session' | 'state'>;
  readonly compaction: 'archive' | 'discard' | 'off';
  readonly compactAfterBytes: number;
  readonly snapshotEvery: number;
  readonly openCalls: 'answer' | 'keep';
  readonly onWindDown: (session: Session<M>) => Promise<void> | void;
  readonly onProblem: (problem: Error) => void;
  readonly now: () => number;
  /** Throws where another process has taken over. */
  readonly mayWrite: () => void;
  readonly onClose: () => void;
}

/** So much that is hidden may wait for the store while a log is replayed. */
const MOST_WAITING_CHARS = 4_000_000;

/** A session whose truth is a log of events on disk: memory, snapshot and view are what they amount to. */
export class DurableSession<M> implements Session<M> {
  readonly id: string;
  readonly directory: string;
  readonly dialect: Dialect<M>;
  readonly #options: DurableOptions<M>;
  readonly #conversation: Conversation<M>;
  readonly #log: EventLog<M>;
  readonly #stored: Set<string>;
  #manager: SessionManager<M>;
  #recovery: Recovery;
  #archiveBytes: number;
  #checkpointBytes = 0;
  #sinceSnapshot = 0;
  /** Something may have come to be no longer needed. */
  #mayCompact = false;
  #hasFailedCompaction = false;
  #closing: Promise<void> | undefined;

  private constructor(options: DurableOptions<M>, parts: Parts<M>) {
    this.#options = options;
    this.id = options.id;
    this.directory = options.folder;
    this.dialect = options.dialect;
    this.#conversation = parts.conversation;
    this.#stored = parts.stored;
    this.#archiveBytes = parts.recovered.archiveBytes;
    this.#recovery = { ...parts.recovered.recovery, answeredCalls: 0 };
    this.#manager = this.#newManager();
    const { now, mayWrite, onProblem } = options;
    this.#log = new EventLog<M>({
      file: parts.file,
      end: parts.recovered.end,
      now,
      mayWrite,
      onProblem,
      onDurable: (event, place) => this.#apply(event, place),
      afterBatch: () => this.#maintain(),
    });
  }

  static async open<M>(options: DurableOptions<M>): Promise<DurableSession<M>> {
    const { disk, folder } = options;
    const file = await openLog(disk, folder);
    try {
      const conversation = new Conversation(options.conversation);
      const stored = new Set<string>();
      const between = () => storeHidden(options, conversation, { stored, atLeastChars: MOST_WAITING_CHARS });
      const recovered = await recover({ disk, folder, file, conversation, between });
      checkFormat(options, recovered);
      const session = new DurableSession(options, { conversation, stored, recovered, file });
      await session.#begin(recovered);
      return session;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get format(): Format<M> {
    return this.dialect.format;
  }
  get number(): number {
    return this.#conversation.number;
  }
  get turns(): number {
    return this.#conversation.turns;
  }
  get status(): SessionStatus {
    return this.#conversation.status;
  }
  get recovery(): Recovery {
    return this.#recovery;
  }
  get manager(): SessionManager<M> {
    return this.#manager;
  }

  async add(...messages: readonly M[]): Promise<void> {
    if (messages.length === 0) return;
    await this.#log.append(messages.map((message) => ({ type: 'message', message })));
  }

  messages(): readonly M[] {
    return this.#conversation.messages();
  }

  view(): readonly M[] {
    return this.#conversation.view.messages();
  }

  async render(budget: RenderOptions<M> = {}): Promise<Rendered<M>> {
    const { conversation, manager, store } = this.#options;
    const before = this.#conversation.cut as Cut | undefined;
    const first = this.#conversation.firstKey ?? null;
    const { model } = manager;
    const rendered = renderWithBudget(this.view(), {
      ...(model === undefined ? {} : { model }),
      counter: conversation.counter,
      recall: store !== undefined,
      ...budget,
      format: this.format,
      cut: before,
    });
    await this.#storeHidden(rendered.hidden);
    const { cut = null, omitted } = rendered;
    if (isOtherCut(before, rendered.cut)) await this.#log.append([{ type: 'context_cut', cut, omitted, first }]);
    return rendered;
  }

  async mask(count?: number): Promise<MaskReport<M>> {
    await this.#idle();
    const result = this.#manager.maskOldest(count);
    if (result.masked > 0) await this.#log.flush();
    const { masked, total, reclaimedPct, notice } = result;
    return { masked, total, reclaimedPct, notice, messages: this.view() };
  }

  async restart(reason = 'hard_threshold_exceeded'): Promise<void> {
    await this.#answer(this.#conversation.openCalls(), () => SKIPPED_BY_RESTART);
    // What is being added now is part of what is carried over.
    await this.#idle();
    const previous_turns = this.#conversation.turns;
    const { sessionNumber, carryover, notice } = this.#manager.beginNext();
    const messages = [...carryover, this.dialect.notice(notice)];
    const carryover_messages = carryover.length;
    try {
      const about = { session_number: sessionNumber, previous_turns, carryover_messages, reason };
      await this.#log.append([{ type: 'session_restart', ...about, messages }]);
    } catch (error) {
      // The manager has gone on already.
      this.#manager = this.#newManager();
      throw error;
    }
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
    await this.#log.flush();
    yield* readEvents<M>(this.#options.disk, this.directory, options);
  }

  pendingApprovals(): { callId: string; tool: string; arguments?: unknown }[] {
    return [...this.#conversation.approvals()].map(([callId, approval]) => ({ callId, ...approval }));
  }

  async reset(): Promise<void> {
    await this.#log.append([{ type: 'reset' }]);
    this.#manager = this.#newManager();
  }

  async compact(): Promise<void> {
    await this.#log.exclusively(() => this.#compact());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#log.seal();
    try {
      await this.#log.flush();
      await this.#log.exclusively(() => this.#attempt(() => this.#snapshot()));
    } finally {
      this.#log.close();
      this.#options.onClose();
    }
  }

  /** A new log begins with its first event; in an old one nobody executes the calls any more that are still open. */
  async #begin({ end }: Recovered): Promise<void> {
    const { id, openCalls } = this.#options;
    this.#reportDamage();
    if (end.seq === 0) await this.#log.append([{ type: 'session_start', id, format: this.format.name }]);
    // A reply is answered as a whole: while one of its calls waits for a person, none of them was made.
    if (openCalls === 'keep' || this.#conversation.approvals().size > 0) return;
    const skipped = this.#conversation.skipped();
    const answeredCalls = await this.#answer(this.#conversation.openCalls(), ({ id }) => {
      const reason = skipped.get(id);
      return reason === undefined ? INTERRUPTED : `Skipped: ${reason}`;
    });
    this.#recovery = { ...this.#recovery, answeredCalls };
  }

  #reportDamage(): void {
    const { damagedLines, missing } = this.#recovery;
    if (damagedLines === 0 && missing.length === 0) return;
    const lost = missing.length === 0 ? '' : `, and events missing (${missing.slice(0, 10).join(', ')})`;
    const text = `Expected a log without damage but found ${damagedLines} lines that are no events${lost}; the rest is there`;
    this.#options.onProblem(new PalimpsestError('STORE_DAMAGED', text));
  }

  async #answer(calls: readonly ToolCall[], textFor: (call: ToolCall) => string): Promise<number> {
    if (calls.length === 0) return 0;
    const answers = this.dialect.results(calls.map((call) => ({ call, text: textFor(call), isError: true })));
    const before = this.format.check(this.messages()).length;
    // A call that the provider executes itself may be answered by nobody else.
    if (this.format.check([...this.messages(), ...answers]).length > before) return 0;
    await this.#log.append(answers.map((message) => ({ type: 'message', message, recovered: true })));
    return calls.length;
  }

  /** What is being added now stands before what comes next in the log, and so it must here. */
  async #idle(): Promise<void> {
    while (this.#log.isBusy) await this.#log.flush();
  }

  #apply(event: SessionEvent<M>, place: Place): void {
    this.#sinceSnapshot += 1;
    this.#mayCompact ||= event.type === 'session_restart' || event.type === 'reset';
    this.#conversation.apply(event, place);
  }

  /** Between two batches. What goes wrong here harms no event. */
  async #maintain(): Promise<void> {
    if (this.#sinceSnapshot >= this.#options.snapshotEvery) await this.#attempt(() => this.#snapshot());
    if (this.#mayCompact && this.#isWorthCompacting()) await this.#attempt(() => this.#compact());
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.onProblem(error as Error);
    }
  }

  async #snapshot(): Promise<void> {
    // Also where it fails: the next attempt is due after as many events again.
    this.#sinceSnapshot = 0;
    this.#mayCompact = true;
    const { disk, folder, id } = this.#options;
    this.#options.mayWrite();
    await this.#storeHidden([]);
    const { seq, time, position: offset } = this.#log.end;
    const { messages: _keys, ...state } = this.#conversation.dump();
    const messages = this.#conversation.places();
    const about = { id, format: this.format.name, seq, time, offset, archive_bytes: this.#archiveBytes };
    await writeSnapshot(disk, folder, { ...about, state, messages });
  }

  #isWorthCompacting(): boolean {
    const { compaction, compactAfterBytes } = this.#options;
    this.#mayCompact = false;
    if (compaction === 'off' || this.#hasFailedCompaction) return false;
    const { position } = this.#log.end;
    if (position < compactAfterBytes) return false;
    const live = keptLines(this.#conversation).reduce((sum, { bytes }) => sum + bytes, this.#checkpointBytes);
    return position - live >= Math.max(compactAfterBytes, live);
  }

  /** Archives all, keeps what is needed with all that it amounts to, and only then lets the rest go. */
  async #compact(): Promise<void> {
    const { compaction, disk, folder } = this.#options;
    if (compaction === 'off') return;
    // Stays so if this fails: it would fail again and again.
    this.#hasFailedCompaction = true;
    this.#options.mayWrite();
    await this.#storeHidden([]);
    const { file: events, end } = this.#log;
    const soundBytes = this.#archiveBytes;
    const archive_bytes =
      compaction === 'archive' ? await archiveEvents(disk, folder, { events, soundBytes }) : soundBytes;
    const seq = end.seq + 1;
    const state = { format: this.format.name, ...this.#conversation.dump() };
    const last = writeLine(encodeBody({ type: 'checkpoint', archive_bytes, state }), {
      seq,
      time: end.time,
      batch: seq,
    });
    const kept = keptLines(this.#conversation);
    const { file, size, places } = await rewriteEvents(disk, folder, { events, kept, last });
    const { hasMoved, error } = await replaceEvents(disk, folder);
    if (!hasMoved) file.close();
    else this.#log.moveTo(file, { position: size, seq, time: end.time });
    if (error) throw hasMoved ? this.#log.fail(unsureName(error)) : error;
    this.#conversation.moved((place) => places.get(place.offset) ?? place);
    this.#archiveBytes = archive_bytes;
    this.#checkpointBytes = Buffer.byteLength(last);
    this.#hasFailedCompaction = false;
    await this.#snapshot();
  }

  async #storeHidden(rendered: readonly Hidden[]): Promise<void> {
    await storeHidden(this.#options, this.#conversation, { stored: this.#stored, rendered });
  }

  #newManager(): SessionManager<M> {
    const session = { format: this.format, messages: () => this.messages(), view: () => this.view() };
    const state = managerState(this.#conversation);
    const manager = new SessionManager<M>(
      { ...this.#options.manager, session, state },
      {
        onUsage: (usage) => this.#recordUsage(usage),
        onMask: (result) => this.#recordMask(result),
        onWindDown: (notice) => this.#log.record({ type: 'wind_down', notice }),
      },
    );
    // Its count is for what is there now: what comes later is more.
    manager.setMessages(this.view());
    return manager;
  }

  #recordUsage({ promptTokens, completionTokens, cachedTokens, cacheWriteTokens }: Usage): void {
    const { contextLimit } = this.#manager;
    this.#log.record({
      type: 'token_usage',
      turn: this.#conversation.turns,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      ...(cachedTokens > 0 ? { cached_tokens: cachedTokens } : {}),
      ...(cacheWriteTokens > 0 ? { cache_write_tokens: cacheWriteTokens } : {}),
      context_used_pct: promptTokens / contextLimit,
      view_tokens: this.#conversation.viewTokens(),
      ...(this.#manager.state().isWindingDown ? { winding_down: true } : {}),
    });
  }

  /** Shown at once; in the log a little later, or when it is waited for. */
  #recordMask({ messages, masked, total, reclaimedPct }: MaskResult<M>): void {
    const masks = this.#conversation.view.masksTo(messages);
    this.#conversation.view.mask(masks);
    const isCounted = this.#manager.state().promptTokens !== undefined;
    const counted = { prompt_tokens: this.#manager.promptTokens, view_tokens: this.#conversation.viewTokens() };
    this.#log.record({
      type: 'context_mask',
      observations_masked: masked,
      total_masked: total,
      context_reclaimed_pct: reclaimedPct,
      ...(isCounted ? counted : {}),
      masks,
    });
  }
}

interface Parts<M> {
  readonly conversation: Conversation<M>;
  readonly stored: Set<string>;
  readonly recovered: Recovered;
  readonly file: DiskFile;
}

const INTERRUPTED = 'Error: tool execution interrupted by server restart';
const SKIPPED_BY_RESTART = 'Skipped: the session was restarted';

/** Its name may be new, or that of a compacted log, and a process was killed before it could sync it. */
async function openLog(disk: Disk, folder: string): Promise<DiskFile> {
  const path = join(folder, EVENTS);
  const file = disk.open(path, disk.exists(path) ? 'write' : 'create');
  try {
    if (file.size() === 0) await disk.syncFolder(dirname(folder));
    await disk.syncFolder(folder);
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

function checkFormat<M>({ dialect, id }: DurableOptions<M>, { format }: Recovered): void {
  if (format === undefined || format === dialect.format.name) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected the dialect of session ${id} to be '${format}', in which its messages are, but found '${dialect.format.name}'`,
  );
}

function unsureName(cause: Error): PalimpsestError {
  const text = 'Expected the name of the new log to reach the disk but the sync failed; open the session again';
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

const isOtherCut = (a: Cut | undefined, b: Cut | undefined): boolean =>
  JSON.stringify(a?.steps) !== JSON.stringify(b?.steps);

/** The lines that hold the messages in memory, each once. */
function keptLines<M>(conversation: Conversation<M>): Place[] {
  const lines = new Map(conversation.places().map(([, place]) => [place.offset, place]));
  return [...lines.values()];
}

function managerState<M>(conversation: Conversation<M>): ManagerState {
  const promptTokens = conversation.promptTokens();
  return {
    sessionNumber: conversation.number,
    ...(promptTokens === undefined ? {} : { promptTokens }),
    completionTokens: conversation.usage?.completion_tokens ?? 0,
    maskedTotal: conversation.totalMasked,
    isWindingDown: conversation.isWindingDown,
    hasTriedMask: false,
  };
}
