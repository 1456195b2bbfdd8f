import { PalimpsestError } from '../errors.ts';
import { boundThinking } from '../laws/bound-reasoning.ts';
import { brokenLaws } from '../laws/index.ts';
import type { Edit, Format, Plan, Violation } from '../message.ts';
import type { ArrivalPeriod, Arrivals, ArrivalsOptions } from './arrival/arrivals.ts';
import { type ArrivalOptions, toArrival } from './arrival/options.ts';
import { Copies } from './copies.ts';
import type { Hidden } from './ledger/hidden.ts';
import type { Viewed } from './ledger/history.ts';
import { Ledger, type LedgerOptions } from './ledger/ledger.ts';
import type { BudgetPart, PlannerParts } from './parts/parts.ts';
import type { EpochRecord, Policy, Reason, Step } from './policy.ts';
import { createReport, type Decision, type Report } from './report.ts';
import type { Snapshot } from './snapshot.ts';
import { insideWindow, maskAll, outsideWindow } from './stages/mask.ts';
import { type Budget, type ReductionStage, sizeOf } from './stages/stage.ts';
import type { SummaryBudget } from './stages/summarise.ts';
import type { Summarize } from './summary.ts';

export interface PlannerOptions<M> extends Omit<LedgerOptions<M>, 'style' | 'coversLater'> {
  readonly policy: Policy;
  /** Options that need a missing part are refused. */
  readonly parts?: PlannerParts | undefined;
  readonly maxTokens?: number | undefined;
  readonly model?: string | undefined;
  /** Earlier epochs on a cold cache, to be repeated. */
  readonly epochs?: readonly EpochRecord[] | undefined;
  /** Writes summaries, in place of the policy's own function. */
  readonly summarize?: Summarize | undefined;
  /** How results are made smaller when they are first sent, if it differs from the policy's own. */
  readonly arrival?: ArrivalOptions | undefined;
  /** The same, if it changes during the history. The planner reads this list whenever it takes messages. */
  readonly arrivalPeriods?: readonly ArrivalPeriod[] | undefined;
  /** Segments of results that were sent whole, and stay whole. */
  readonly sentWhole?: ReadonlySet<number> | undefined;
  /** Messages that are passed as they were sent before: their results stay as they are. */
  readonly sent?: ReadonlySet<M> | undefined;
}

/** Each round of repairs leaves fewer references. */
const MOST_ROUNDS = 10;

/** The decisions of one call of `add`. */
export interface Added {
  /** The new edits. Edits that a later message withdrew are only missing in `plan`. */
  readonly edits: readonly Edit[];
  /** Sizes, masks and the decision, as `fit` would report them for the whole history. */
  readonly report: Report;
}

interface TakeOptions {
  readonly isCold?: boolean;
  readonly seen?: Snapshot;
}

/** A decision without its text, because a history of a thousand turns has a thousand decisions. */
interface Decided {
  readonly because: Reason;
  readonly masked: number;
  readonly cut: Cut | undefined;
  readonly isCold: boolean;
}

type Cut = Decision & { readonly stage: ReductionStage };

function toDecision({ because, masked, cut }: Decided): Decision {
  if (cut) return cut;
  const act = because.act === 'cold-cache' ? because.act : 'mask';
  return masked > 0 ? { ...because, act, masked } : { ...because };
}

interface Parts<M> {
  readonly ledger: Ledger<M>;
  readonly arrivals: Arrivals<M> | undefined;
  readonly copies: Copies<M>;
}

interface Progress {
  readonly state: unknown;
  readonly epoch: number;
  readonly previousTokens: number;
  /** The last stage that a budget has needed so far. */
  readonly stage: ReductionStage | undefined;
  readonly lastChange: Decided | undefined;
}

const noProgress = (policy: Policy): Progress => ({
  state: policy.init(),
  epoch: 0,
  previousTokens: 0,
  stage: undefined,
  lastChange: undefined,
});

/**
 * Plans turn by turn: the fold of a policy over the requests that a conversation implies. A decision is final once its reply came. A
 * decision about the next request is withdrawn if more messages come before the reply, so that the plan is the one `fit` would make of
 * the whole history.
 */
export class Planner<M> {
  #ledger: Ledger<M>;
  readonly #parts: PlannerParts;
  /** Undefined if no result is made smaller when it is first sent. */
  #arrivals: Arrivals<M> | undefined;
  #copies: Copies<M>;
  readonly #policy: Policy;
  readonly #budgets: readonly Budget[];
  readonly #summary: SummaryBudget;
  readonly #model: string | undefined;
  readonly #epochs: readonly EpochRecord[];
  readonly #create: (viewed?: Viewed<M>) => Parts<M>;
  #mayStartAgain: boolean;
  /** For each result, the segment of a later result that shows that it was not masked before: see `keptResults`. */
  #keptResults: ReadonlyMap<number, number> = new Map();
  #progress: Progress;
  /** The state before the next request, if that request was already decided. */
  #undecided: Progress | undefined;
  #isLawful = false;
  #decision: { readonly plan: Plan; readonly hidden: readonly Hidden[] } | undefined;
  #report: Report | undefined;
  #decided: Decided = {
    because: { act: 'wait', because: 'nothing to decide yet' },
    masked: 0,
    cut: undefined,
    isCold: false,
  };

  constructor(format: Format<M>, options: PlannerOptions<M>) {
    // Not kept: the view of the first messages is needed only once.
    const { viewed, ...kept } = options;
    const { policy, model, epochs, sent, sentWhole, parts = {} } = kept;
    checkParts(options);
    this.#parts = parts;
    const { style, toolUse, truncation, maxResultTokens: truncate } = policy;
    const arrival = toArrival(options.arrival, policy.arrival, truncate === undefined ? {} : { truncate });
    const periods = options.arrivalPeriods ?? [{ fromMessage: 0, ...arrival }];
    const { oldTexts } = policy;
    const arrivalsOptions: ArrivalsOptions<M> = { periods, truncation, sent, sentWhole, oldTexts };
    this.#create = (seen) => {
      const ledger = new Ledger(format, {
        ...kept,
        viewed: seen,
        style,
        toolUse,
        coversLater: parts.arrival !== undefined,
      });
      const arrivals = parts.arrival?.createArrivals(ledger, arrivalsOptions);
      return { ledger, arrivals, copies: new Copies(ledger) };
    };
    ({ ledger: this.#ledger, arrivals: this.#arrivals, copies: this.#copies } = this.#create(viewed));
    // Messages that were viewed before cannot be viewed again.
    this.#mayStartAgain = viewed === undefined;
    this.#epochs = epochs ?? [];
    this.#policy = policy;
    const own = policy.summarize && parts.budget?.summarizeNow(policy.name ?? 'policy', policy.summarize);
    this.#summary = { summarize: options.summarize ?? own };
    const budgets = parts.budget?.budgetsOf(policy, options.maxTokens) ?? [];
    this.#budgets = budgets.map((budget) => ({ ...budget, ...this.#summary }));
    this.#model = model;
    this.#progress = noProgress(policy);
  }

  /** Adds messages, and returns what changes. */
  add(...messages: readonly M[]): Added {
    this.take(messages);
    return { edits: this.#ledger.takeNewEdits(), report: this.report() };
  }

  /** Like `add`, for callers that only need the whole at the end. Planned messages are added to `seen`. */
  take(messages: readonly M[], { isCold = false, seen }: TakeOptions = {}): void {
    for (const message of messages) {
      this.#takeOne(message);
      // Now, while its texts are in the processor's caches.
      seen?.add(message);
    }
    if (!this.#undecided) this.#decide(isCold);
    if (this.#arrivals?.isContradicted) this.#startAgain(this.#arrivals, isCold);
    // A decision on a cold cache cannot be repeated from the messages.
    if (isCold) this.#mayStartAgain = false;
  }

  /**
   * Decides again from the first message on, if a fed-back history shows that a result was not masked so early: a later result refers to
   * it, or to one that it leaves together with. In such a history newer results are small from the start, so masking seems to pay sooner.
   */
  #startAgain(arrivals: Arrivals<M>, isCold: boolean): void {
    arrivals.isContradicted = false;
    const { messages, results } = this.#ledger;
    // Also if its turn is left out by now.
    const wasFitted = results.some((result) => result?.masked && result.why === undefined);
    const kept = wasFitted && this.#mayStartAgain ? arrivals.keptResults(this.#keptResults) : undefined;
    if (!kept) return;
    this.#keptResults = kept;
    ({ ledger: this.#ledger, arrivals: this.#arrivals, copies: this.#copies } = this.#create());
    this.#progress = noProgress(this.#policy);
    this.#undecided = undefined;
    this.take(messages, { isCold });
  }

  /** All edits so far, as data. */
  plan(): Plan {
    return { version: 1, edits: this.#ledger.edits() };
  }

  /** The messages to send. Messages must not be changed after they were passed to a planner: edited ones are copies of their earlier state. */
  messages(): M[] {
    return this.result().messages;
  }

  /** The plan and the messages. A plan that has not changed is not made again. */
  result(): { readonly plan: Plan; readonly messages: M[]; readonly hidden: readonly Hidden[] } {
    this.#decision ??= { plan: this.plan(), hidden: this.#ledger.hidden.slice() };
    const { plan, hidden } = this.#decision;
    return { plan, messages: this.#copies.apply(plan.edits), hidden };
  }

  /** The laws that the plan breaks. A plan that was found to keep them is not checked again. */
  check(before: readonly M[], after: readonly M[], plan: Plan): readonly Violation[] {
    if (this.#isLawful) return [];
    const { format, segments } = this.#ledger;
    const broken = brokenLaws({ format, before, after, segments, plan });
    this.#isLawful = broken.length === 0;
    this.#freeze();
    return broken;
  }

  /** Every text that the messages to send no longer show, oldest first. */
  get hidden(): readonly Hidden[] {
    return this.#ledger.hidden;
  }

  /** The size of the messages to send, in tokens of the counter. */
  get tokens(): number {
    return this.#ledger.tokens;
  }

  /** The results that a forced epoch could mask now, oldest first, and how much each would save. */
  forceable({
    inside,
  }: Pick<EpochRecord, 'inside'> = {}): readonly { readonly segment: number; readonly gain: number }[] {
    if (this.#policy.ignoresThresholds) return [];
    const results = this.#candidates(inside).flatMap((segment) => this.#ledger.results[segment] ?? []);
    const gains = results.map((result) => ({ segment: result.segment, gain: this.#ledger.gain(result) }));
    return gains.filter(({ gain }) => gain > 0).sort((a, b) => a.segment - b.segment);
  }

  /** @internal */
  get ledger(): Ledger<M> {
    return this.#ledger;
  }

  /** Frozen, because the next call returns the same object. */
  report(): Report {
    this.#report ??= freezeReport(this.#writeReport());
    return this.#report;
  }

  #writeReport(): Report {
    const ledger = this.#ledger;
    const { epoch, previousTokens, stage, lastChange } = this.#progress;
    const firstEdited = ledger.firstEdited ?? Number.POSITIVE_INFINITY;
    return createReport(ledger, {
      decision: toDecision(this.#decided),
      epoch,
      stage,
      previousTokens,
      requires: boundThinking(firstEdited, ledger.lastSigned, this.#model),
      withinBudget: this.#budgets.every((budget) => sizeOf(ledger, budget) <= budget.max),
      record: this.#decided.isCold ? { turns: ledger.turns, messages: ledger.messages.length } : undefined,
      lastChange: lastChange && toDecision(lastChange),
    });
  }

  /** The next call returns the same objects, so a caller must not change them. Done last, because frozen lists are slower. */
  #freeze(): void {
    const { plan, hidden } = this.#decision ?? {};
    Object.freeze(plan?.edits);
    Object.freeze(plan);
    Object.freeze(hidden);
  }

  #takeOne(message: M): void {
    this.#forget();
    this.#ledger.append(message, (beginsReply) => {
      if (beginsReply && !this.#undecided) this.#decide();
      else if (!beginsReply && this.#undecided) {
        this.#ledger.undoRequest();
        this.#progress = this.#undecided;
      }
      this.#undecided = undefined;
    });
  }

  /** Forgets the plan and the report that callers got: a message or a decision has changed them. */
  #forget(): void {
    this.#isLawful = false;
    this.#decision = undefined;
    this.#report = undefined;
  }

  #decide(isCold = false): void {
    const ledger = this.#ledger;
    const taken = this.#epochs.length === 0 ? this.#epochs : this.#takenNow();
    ledger.isCold = isCold || taken.some(({ before }) => before === undefined);
    this.#forget();
    const before = this.#progress;
    const previousTokens = ledger.requestTokens;
    const { maskedCount } = ledger;
    // Not undone with the request: it does not depend on its decisions.
    this.#arrivals?.take();
    ledger.beginRequest();
    const { state, because } = this.#followPolicy(before.state);
    const forced = this.#force(taken);
    const isRepaired = this.#repair();
    if (this.#policy.oldTexts) this.#parts.oldTexts?.shortenCalls(ledger, this.#policy.toolUse);
    const masked = ledger.maskedCount - maskedCount;
    const cut = this.#cutAndRepair();
    ledger.endRequest();
    this.#decided = { because: forced > 0 ? FORCED : because, masked, cut, isCold: because.act === 'cold-cache' };
    const isChange = ledger.firstChange() !== undefined;
    const epoch = before.epoch + (isChange ? 1 : 0);
    const lastChange = isChange ? this.#decided : before.lastChange;
    const stage = furthest(before.stage, cut?.stage);
    this.#progress = {
      state: cut || isRepaired || forced > 0 ? this.#policy.init() : state,
      epoch,
      previousTokens,
      stage,
      lastChange,
    };
    this.#undecided = before;
  }

  /** Changes results whose references lost their target. Then the policy decides again on the rest. */
  #repair(): boolean {
    if (!this.#arrivals?.repair()) return false;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      this.#followPolicy(this.#policy.init());
      if (!this.#arrivals.repair()) break;
    }
    return true;
  }

  /** A result that is no longer as small as it was may exceed the budget again. */
  #cutAndRepair(): Cut | undefined {
    let decision: Cut | undefined;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const cut = this.#cut();
      if (!cut) return decision;
      decision = cut;
      // The policy starts again on the rest, as if it had never seen more.
      this.#followPolicy(this.#policy.init());
      if (!this.#repair()) return decision;
    }
    return decision;
  }

  /** The recorded epochs of this request, or of the same request with fewer messages before the reply. */
  #takenNow(): EpochRecord[] {
    const { lastRow, messages: all } = this.#ledger;
    return this.#epochs.filter(({ messages }) => lastRow.from < messages && messages <= all.length);
  }

  /**
   * Asks the policy and applies its decision. If turns were left out, the policy starts again on the rest, as if it had never seen
   * more.
   */
  #followPolicy(start: unknown): Step<unknown> {
    const ledger = this.#ledger;
    for (let state = start; ; state = this.#policy.init()) {
      const step = this.#policy.step(state, ledger);
      if (step.mask.some((segment) => this.#isKept(segment)))
        return { state: this.#policy.init(), mask: [], because: KEPT };
      maskAll(ledger, step.mask);
      ledger.commit();
      // A policy that asks for a summary knows the results: the summary uses the originals, though they were masked since.
      const removed =
        step.summarize !== undefined &&
        this.#budgetPart().summariseTurns(ledger, this.#summary, {
          upTo: step.summarize,
          fromOriginals: true,
        });
      if (!removed) return step;
    }
  }

  /** Whether a result that is still to come shows that this one was whole. */
  #isKept(segment: number): boolean {
    const referrer = this.#keptResults.get(segment);
    return referrer !== undefined && referrer >= this.#ledger.startOf(this.#ledger.messages.length);
  }

  /** Repeats the forced epochs of this request. */
  #force(epochs: readonly EpochRecord[]): number {
    if (epochs.length === 0) return 0;
    const end = Math.max(...epochs.map(({ before = 0 }) => before));
    const inside = epochs.some((epoch) => epoch.inside) || undefined;
    const segments = end === 0 ? [] : this.#candidates(inside).filter((segment) => segment < end);
    return maskAll(this.#ledger, segments);
  }

  /** Brings the history below every limit. Returns the cut for the last limit that it exceeded. */
  #cut(): Cut | undefined {
    let decision: Cut | undefined;
    for (const budget of this.#budgets) {
      const stage = this.#budgetPart().reduce(this.#ledger, budget, this.#policy);
      const size = sizeOf(this.#ledger, budget);
      const because = `the budget of ${budget.max} ${budget.measure} was exceeded`;
      if (stage) decision = { act: 'over-limit', because, stage, limit: budget.max, size };
    }
    return decision;
  }

  /** A custom policy may ask for a summary without declaring `leavesOut`. */
  #budgetPart(): BudgetPart {
    return this.#parts.budget ?? refuse('budget', 'for a policy with a limit or summaries');
  }

  /** The results that a forced epoch may mask: those outside the window, or those inside it too. */
  #candidates(inside: true | undefined): readonly number[] {
    const ledger = this.#ledger;
    const outside = outsideWindow(ledger, this.#policy);
    if (!inside) return outside;
    const all = new Set([...outside, ...insideWindow(ledger, this.#policy)]);
    return [...all].filter((segment) => ledger.results[segment]?.row !== ledger.lastRow);
  }
}

const KEPT = { act: 'wait', because: 'a later result refers to one that would go' } as const;
const FORCED = { act: 'mask', because: 'an epoch was forced' } as const;

/** Does not freeze the details of a policy's reason: they may be the caller's own objects. */
function freezeReport(report: Report): Report {
  for (const part of Object.values(report)) Object.freeze(part);
  for (const sizes of Object.values(report.byKind)) {
    Object.freeze(sizes);
    Object.freeze(sizes.before);
    Object.freeze(sizes.after);
  }
  return Object.freeze(report);
}

type Reach = ReductionStage | undefined;
const REACHES: readonly Reach[] = [undefined, 'masking', 'summarization', 'fallback'];

const furthest = (a: Reach, b: Reach): Reach => (REACHES.indexOf(a) > REACHES.indexOf(b) ? a : b);

/** Refuses options whose part is missing: without it they would do nothing. */
function checkParts<M>({ policy, parts = {}, maxTokens, arrival }: PlannerOptions<M>): void {
  const { limit, leavesOut, summarize, oldTexts, maxResultTokens } = policy;
  if (!parts.budget) {
    if (maxTokens !== undefined) refuse('budget', 'for maxTokens or a model');
    if (limit || leavesOut || summarize) refuse('budget', 'for a policy with a limit or summaries');
  }
  if (!parts.oldTexts && oldTexts) refuse('oldTexts', 'for a policy with oldTexts');
  const isShaped = Object.values(toArrival(arrival, policy.arrival)).some(Boolean) || maxResultTokens !== undefined;
  if (!parts.arrival && isShaped) refuse('arrival', 'for clean, references, shellOutput or maxResultTokens');
}

function refuse(part: keyof PlannerParts, where: string): never {
  throw new PalimpsestError('BAD_OPTION', `Expected the option parts to have ${part} ${where}, but found no such part`);
}
