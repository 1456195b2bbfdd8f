import { storeLimits } from '../limits.ts';
import type { Plan, Segment } from '../message.ts';
import { badOption, checkOptions, flag, func, positive, rule } from '../options.ts';
import { FIT_RULES, type FitOptions, type FitResult, fit } from '../plan/fit.ts';
import type { Hidden } from '../plan/ledger/hidden.ts';
import { resolveFormat } from '../plan/resolve-format.ts';
import { fitWithSummaries, isNoteStore, type NoteStore } from './fit-with-summaries.ts';
import { handleOf } from './handle.ts';
import { type Store, sessionRule } from './store.ts';
import { type AsyncSummaryWriter, SUMMARY_TIMEOUT_MS, SummaryLog } from './summary-log.ts';
import { type Shown, turnRecords } from './turn-records.ts';
import { isTurnStore, type TurnStore, TurnWriter } from './turn-writer.ts';

/** Options of `fitAndStore`: those of `fit`, and the store for hidden texts. */
export interface FitAndStoreOptions extends Omit<FitOptions, 'handleOf'> {
  /** Shows handles in placeholders. Fixed for the life of a conversation. @default true */
  readonly recall?: boolean;
  /** The store. Turns are recorded if it has `putTurns` and `turns`, as every store of Palimpsest does. */
  readonly store: Pick<Store, 'putMany'> & Partial<TurnStore & NoteStore & Pick<Store, 'touch' | 'deletions'>>;
  /** The conversation, so that its texts can be listed, searched and deleted together. @default none */
  readonly session?: string;
  /**
   * Writes the summaries that the policy or the budget asks for, such as with a model. Awaited; on failure the rules
   * write them, and `report.summary` says why. @default the policy's own
   */
  readonly summarize?: AsyncSummaryWriter<never>;
  /** How long one summary may take. @default 60000 */
  readonly summarizeTimeoutMs?: number;
  /** Also stores the turns of the session: recent turns whole, masked turns with a placeholder. @default true */
  readonly recordTurns?: boolean;
}

/**
 * Fits a history and stores the texts that it hides. When it resolves, every handle in a placeholder can be recalled, also after
 * a crash, and the turns of the session are stored. If the store fails, this fails too, before anything is sent.
 *
 * @example
 * ```ts
 * import { fitAndStore, openStore, recallTool } from 'palimpsest/store';
 *
 * const store = await openStore({ path: 'history' });
 * const { messages } = await fitAndStore(history, { store, session: 'ticket-42' });
 * const tool = recallTool(store); // give it to the model, which recalls a text by the handle in its placeholder
 * ```
 */
export async function fitAndStore<M>(messages: readonly M[], options: FitAndStoreOptions): Promise<FitResult<M>> {
  checkOptions('fitAndStore', options, RULES, ['store']);
  const { store, session, recordTurns: _, summarize, summarizeTimeoutMs, ...rest } = options;
  const recorded = recordedOf(options);
  const known = knownTo(store, session ?? '');
  forgetDeleted(known, await store.deletions?.());
  const fitOptions = { ...rest, handleOf, recall: rest.recall ?? true };
  const writer = (summarize ?? rest.policy?.summarize) as AsyncSummaryWriter<M> | undefined;
  const fitted = writer
    ? await fitWithSummaries(messages, fitOptions, {
        writer,
        timeoutMs: summarizeTimeoutMs ?? SUMMARY_TIMEOUT_MS,
        log: known.summaries,
        store: isNoteStore(store) ? store : undefined,
        session: session ?? NO_SESSION,
      })
    : fit(messages, fitOptions);
  const fresh = fitted.hidden.filter(({ handle }) => !known.handles.has(handle));
  if (fresh.length > 0)
    await store.putMany(fresh.map((hidden) => ({ text: hidden.text, about: aboutOf(hidden, session) })));
  for (const { handle } of fresh) known.handles.add(handle);
  // Texts behind placeholders are in use even if nothing new is stored.
  if (fresh.length === 0 && fitted.hidden.length > 0 && session !== undefined) await store.touch?.(session);
  // Runs last: a turn record that names a handle replaces one that holds the text.
  if (recorded) {
    known.turns ??= new TurnWriter(recorded.store, recorded.session);
    const { plan } = fitted;
    const segments = resolveFormat<M>(messages, rest.format).view(messages);
    const records = turnRecords(segments, { session: recorded.session, shown: replacementsIn(plan) });
    await known.turns.write(records, { leftOut: droppedBy(plan, segments), mayBeCut: true });
  }
  return fitted;
}

/** Summaries of conversations without an id are recorded under this one. */
const NO_SESSION = '_';

const RULES = {
  store: rule('a store, such as openStore() gives', (v) => func.check((v as Partial<Store> | null)?.putMany)),
  session: sessionRule,
  summarize: func,
  summarizeTimeoutMs: positive,
  recordTurns: flag,
  ...FIT_RULES,
};

/** The store and session for turns. Undefined if turns are not recorded. */
function recordedOf({ store, session, recordTurns }: FitAndStoreOptions) {
  if (recordTurns && session === undefined)
    throw badOption('fitAndStore option session', 'the id under which turns are recorded', session);
  if (recordTurns && !isTurnStore(store))
    throw badOption('fitAndStore option store', 'a store with putTurns and turns, to record turns in', store);
  return recordTurns !== false && session !== undefined && isTurnStore(store) ? { store, session } : undefined;
}

function replacementsIn({ edits }: Plan): Map<number, Shown> {
  const replaced = edits.filter((edit) => edit.kind === 'replace');
  return new Map(replaced.map(({ segment, text, handle = '' }) => [segment, { text, handle }]));
}

function droppedBy({ edits }: Plan, segments: readonly Segment[]): Set<number> {
  const dropped = edits.filter((edit) => edit.kind === 'drop');
  const isDropped = ({ message }: Segment): boolean => dropped.some(({ from, to }) => from <= message && message < to);
  return new Set(dropped.length === 0 ? [] : segments.filter(isDropped).map(({ turn }) => turn));
}

function aboutOf({ turn, tool }: Hidden, session: string | undefined) {
  return { turn, ...(session === undefined ? {} : { session }), ...(tool === undefined ? {} : { tool }) };
}

/** Texts that the store has acknowledged. A conversation hides the same texts on every call, and they are not put again. */
interface Known {
  readonly handles: Set<string>;
  readonly summaries: SummaryLog;
  turns?: TurnWriter | undefined;
  /** The store's count of deletions at that time. */
  deletions?: number | undefined;
}

/** After a deletion by any process, texts are put again: this call carries the originals. */
function forgetDeleted(known: Known, deletions: number | undefined): void {
  if (known.deletions !== deletions) {
    known.handles.clear();
    known.turns = undefined;
  }
  known.deletions = deletions;
}

const acknowledged = new WeakMap<object, Map<string, Known>>();

function knownTo(store: object, session: string): Known {
  const sessions = acknowledged.get(store) ?? new Map<string, Known>();
  acknowledged.set(store, sessions);
  if (sessions.size > storeLimits.fittedSessions) sessions.clear();
  const known = sessions.get(session) ?? { handles: new Set<string>(), summaries: new SummaryLog() };
  sessions.set(session, known);
  return known;
}
