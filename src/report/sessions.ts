import { inputCost, type PromptTokens } from '../plan/prices.ts';
import { type Arm, isRefusal, type RequestRecord } from './request-record.ts';

/** Dollars for the prompt of a request; undefined if no price per token is known. */
export type DollarsOf = (request: Pick<RequestRecord, 'model' | 'prices'>, prompt: PromptTokens) => number | undefined;

/** The context window of a request whose tokens have no price because its model is paid by the month; otherwise undefined. */
export type WindowOf = (request: Pick<RequestRecord, 'model'>) => number | undefined;

/** The price of tokens. */
export interface Pricing {
  /** Costs are in tokens if not given. */
  readonly dollarsOf?: DollarsOf | undefined;
  readonly windowOf?: WindowOf | undefined;
}

/** The unit of costs: dollars, or tokens at the base price of their model. */
export type CostUnit = 'dollars' | 'tokens';

/** Costs of a session's billed requests. */
export interface Costs {
  /** The cost as billed. */
  readonly billed: number;
  /** The gateway's estimates before the answers: without masks, and with those it decided. */
  readonly expectedWithout: number;
  readonly expectedSent: number;
  /** The receipts' figure without masks. */
  readonly receiptWithout: number;
}

/** One session in numbers. */
export interface SessionFigures {
  readonly arm: Arm;
  /** Requests that were answered (2xx). */
  readonly requests: number;
  /** All requests, failed ones too. */
  readonly attempts: number;
  /** Answered requests with usage, and with a price if costs are in dollars. Only these have costs. */
  readonly billedRequests: number;
  readonly costs: Costs;
  readonly inputTokens: number;
  /** Billed requests of subscriptions, and the sum of their parts of the context window. */
  readonly windowRequests: number;
  readonly windowShares: number;
  readonly output: number;
  readonly results: number;
  readonly failed: number;
  readonly repeated: number;
  readonly recalls: number;
  readonly refused: number;
  /** Whether it ended with a final answer; undefined if that is unknown. */
  readonly isFinished: boolean | undefined;
}

/** Sessions and requests that are not compared, by reason. */
export interface LeftOut {
  /** Sessions that began before the range, or in another store. */
  readonly beganBefore: number;
  /** Sessions that began in the last hour of the range: most of them still run. */
  readonly justBegan: number;
  /** Sessions with requests in more than one arm. */
  readonly severalArms: number;
  /** Treated sessions that were not drawn: they began when nothing was held out, or on a gateway that holds out none. */
  readonly notDrawn: number;
  /** Sessions that were drawn with another share than the newest: older and newer traffic would weigh differently in the arms. */
  readonly otherShare: number;
  /** Sessions that were answered, always without usage. */
  readonly neverBilled: number;
  /** Answered requests without usage, in sessions that are compared. */
  readonly unbilledRequests: number;
  /** Requests that failed, in sessions that are compared. Providers do not bill them. */
  readonly failedRequests: number;
}

/** In milliseconds since the epoch; `until` is not part of it. */
export interface Range {
  readonly since: number;
  readonly until: number;
  /** Whether `since` moves with the clock, as "7 days ago" does. Intervals then hold for one look, not for daily ones. */
  readonly isMoving?: boolean;
}

/** A session that began, or was used, less than this before the end of the range counts as still running. */
export const SETTLE_MS = 3_600_000;

/** Sessions that chance put into an arm, with the share of the newest one. Only these are compared. */
export interface Drawn {
  /** The share that is held out, 0 to 1. */
  readonly share: number;
  readonly treated: number;
  readonly heldOut: number;
}

export interface ReadSessions {
  /** All sessions if one of the arms has no drawn session: then nothing is compared. */
  readonly sessions: readonly SessionFigures[];
  readonly leftOut: LeftOut;
  readonly unit: CostUnit;
  /** Billed requests of models without a price. Above 1 %, all costs are in tokens; else these requests have no costs. */
  readonly unpricedRequests: number;
  /** From the first request of the sessions to their last; absent if there are none. */
  readonly covers?: Covers;
  /** Absent if no session was drawn. */
  readonly drawn?: Drawn;
}

/** In milliseconds since the epoch. */
export interface Covers {
  readonly from: number;
  readonly to: number;
}

export interface SessionReader {
  /** In any order. Requests before the range show that their session began before it. */
  add(record: RequestRecord): void;
  read(): ReadSessions;
}

/** Adds up requests by session. Whether a session is compared never depends on how long it was or how it ended. */
export function createSessionReader(range: Range, pricing: Pricing = {}): SessionReader {
  const sums = new Map<string, SessionSum>();
  return {
    add: (record) => {
      if (record.at >= range.until) return;
      const name = record.root ?? record.session;
      const sum = sums.get(name) ?? newSum();
      sums.set(name, sum);
      addTo(sum, record, pricing);
    },
    read: () => readSums([...sums.values()], range),
  };
}

interface SessionSum {
  readonly arms: Set<Arm>;
  /** There is a request of the session itself, and not only of its forks and resumes. */
  hasRoot: boolean;
  /** Chance put it into its arm, from its first request on. Requests whose arm is unknown do not count. */
  isDrawn: boolean;
  /** The share at its first request whose arm is known, and the time of that request. */
  share: number | undefined;
  armAt: number;
  firstAt: number;
  lastAt: number;
  requests: number;
  attempts: number;
  billedRequests: number;
  unpricedRequests: number;
  readonly tokens: Mutable<Costs>;
  readonly dollars: Mutable<Costs>;
  inputTokens: number;
  windowRequests: number;
  windowShares: number;
  output: number;
  results: number;
  failed: number;
  repeated: number;
  recalls: number;
  refused: number;
  readonly conversations: Map<string, ConversationEnd>;
}

interface ConversationEnd {
  requests: number;
  results: number;
  lastAt: number;
  isFinished: boolean | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const newSum = (): SessionSum => ({
  arms: new Set(),
  hasRoot: false,
  isDrawn: true,
  share: undefined,
  armAt: Number.POSITIVE_INFINITY,
  firstAt: Number.POSITIVE_INFINITY,
  lastAt: Number.NEGATIVE_INFINITY,
  requests: 0,
  attempts: 0,
  billedRequests: 0,
  unpricedRequests: 0,
  tokens: { billed: 0, expectedWithout: 0, expectedSent: 0, receiptWithout: 0 },
  dollars: { billed: 0, expectedWithout: 0, expectedSent: 0, receiptWithout: 0 },
  inputTokens: 0,
  windowRequests: 0,
  windowShares: 0,
  output: 0,
  results: 0,
  failed: 0,
  repeated: 0,
  recalls: 0,
  refused: 0,
  conversations: new Map(),
});

function addTo(sum: SessionSum, record: RequestRecord, pricing: Pricing): void {
  const { at, status, signs } = record;
  const isAnswered = status >= 200 && status < 300;
  if (!record.isArmUnknown) addArm(sum, record);
  sum.hasRoot ||= record.root === undefined;
  sum.firstAt = Math.min(sum.firstAt, at);
  sum.lastAt = Math.max(sum.lastAt, at);
  sum.attempts++;
  if (isAnswered) sum.requests++;
  if (isAnswered && record.billed) addBilled(sum, record, record.billed, pricing);
  if (isRefused(record)) sum.refused++;
  sum.results += signs.results;
  sum.failed += signs.failed;
  sum.repeated += signs.repeated;
  sum.recalls += signs.recalls;
  addEnd(sum.conversations, record, isAnswered ? signs.isFinal : false);
}

function addArm(sum: SessionSum, { arm, at, holdoutShare }: RequestRecord): void {
  sum.arms.add(arm);
  sum.isDrawn &&= holdoutShare !== undefined;
  if (at < sum.armAt) Object.assign(sum, { share: holdoutShare, armAt: at });
}

function addBilled(
  sum: SessionSum,
  record: RequestRecord,
  billed: NonNullable<RequestRecord['billed']>,
  { dollarsOf, windowOf }: Pricing,
): void {
  const { prices, expected, without } = record;
  const prompts = {
    billed,
    expectedWithout: expected.without,
    expectedSent: expected.sent,
    receiptWithout: without,
  };
  const names = ['billed', 'expectedWithout', 'expectedSent', 'receiptWithout'] as const;
  const dollars = names.map((name) => dollarsOf?.(record, prompts[name]));
  const isPriced = !dollars.includes(undefined);
  for (const [i, name] of names.entries()) {
    sum.tokens[name] += inputCost(prompts[name], prices);
    if (isPriced) sum.dollars[name] += dollars[i] ?? 0;
  }
  sum.billedRequests++;
  if (!isPriced) sum.unpricedRequests++;
  const inputTokens = billed.cached + billed.written;
  sum.inputTokens += inputTokens;
  const window = windowOf?.(record);
  if (window !== undefined) {
    sum.windowRequests++;
    sum.windowShares += inputTokens / window;
  }
  sum.output += billed.output;
}

/** The provider refused the request as such: the edited request, or an unedited one. */
const isRefused = ({ refused, status }: RequestRecord): boolean => refused !== undefined || isRefusal(status);

function addEnd(
  ends: SessionSum['conversations'],
  { conversation, at, signs }: RequestRecord,
  isFinished?: boolean,
): void {
  const end = ends.get(conversation) ?? { requests: 0, results: 0, lastAt: at, isFinished };
  ends.set(conversation, end);
  end.requests++;
  end.results += signs.results;
  if (at >= end.lastAt) Object.assign(end, { lastAt: at, isFinished });
}

function readSums(sums: readonly SessionSum[], range: Range): ReadSessions {
  const leftOut = { beganBefore: 0, justBegan: 0, severalArms: 0, neverBilled: 0 };
  const fit: SessionSum[] = [];
  for (const sum of sums.filter(({ lastAt }) => lastAt >= range.since)) {
    const reason = reasonToLeaveOut(sum, range);
    if (reason) leftOut[reason]++;
    else fit.push(sum);
  }
  const { kept, drawn, notDrawn, otherShare } = comparable(fit);
  const total = (pick: (sum: SessionSum) => number): number => kept.reduce((all, sum) => all + pick(sum), 0);
  const unpricedRequests = total((sum) => sum.unpricedRequests);
  const billedRequests = total((sum) => sum.billedRequests);
  const unbilledRequests = total(({ requests }) => requests) - billedRequests;
  const failedRequests = total(({ attempts, requests }) => attempts - requests);
  // One unit for all: costs in two units cannot be added.
  const isPriced = billedRequests > 0 && unpricedRequests <= MOST_UNPRICED * billedRequests;
  const unit: CostUnit = isPriced ? 'dollars' : 'tokens';
  return {
    sessions: kept.map((sum) => figuresOf(sum, unit, range)),
    leftOut: { ...leftOut, notDrawn, otherShare, unbilledRequests, failedRequests },
    unit,
    unpricedRequests,
    ...(kept.length === 0 ? {} : { covers: coversOf(kept) }),
    ...(drawn ? { drawn } : {}),
  };
}

/** If a larger share of billed requests has no price, all costs are in tokens. */
const MOST_UNPRICED = 0.01;

const coversOf = (kept: readonly SessionSum[]): Covers => ({
  from: kept.reduce((least, { firstAt }) => Math.min(least, firstAt), Number.POSITIVE_INFINITY),
  to: kept.reduce((most, { lastAt }) => Math.max(most, lastAt), 0),
});

type Reason = 'beganBefore' | 'justBegan' | 'severalArms' | 'neverBilled';

function reasonToLeaveOut(sum: SessionSum, { since, until }: Range): Reason | undefined {
  if (sum.firstAt < since || !sum.hasRoot) return 'beganBefore';
  if (sum.arms.size > 1) return 'severalArms';
  if (sum.firstAt >= until - SETTLE_MS) return 'justBegan';
  return sum.requests > 0 && sum.billedRequests === 0 ? 'neverBilled' : undefined;
}

interface Comparable extends Pick<LeftOut, 'notDrawn' | 'otherShare'> {
  readonly kept: readonly SessionSum[];
  readonly drawn?: Drawn;
}

/**
 * Sessions that were not drawn, or drawn with another share, belong to other times or other gateways than the rest. All sessions are
 * kept if one of the arms is empty: then nothing is compared.
 */
function comparable(sums: readonly SessionSum[]): Comparable {
  const all = { kept: sums, notDrawn: 0, otherShare: 0 };
  const lots = sums.filter(({ arms, isDrawn }) => isDrawn && arms.size > 0 && !arms.has('shadow'));
  const share = lots.reduce<SessionSum | undefined>((a, b) => (a && a.firstAt >= b.firstAt ? a : b), undefined)?.share;
  if (share === undefined) return all;
  const same = new Set(lots.filter((sum) => sum.share === share));
  const heldOut = [...same].filter(({ arms }) => arms.has('held-out')).length;
  const drawn = { share, treated: same.size - heldOut, heldOut };
  if (!isCompared(drawn)) return { ...all, drawn };
  const kept = sums.filter((sum) => same.has(sum) || sum.arms.has('shadow'));
  const otherShare = lots.length - same.size;
  return { kept, drawn, otherShare, notDrawn: sums.length - kept.length - otherShare };
}

/** Whether both arms have sessions. */
export const isCompared = (drawn: Drawn | undefined): drawn is Drawn =>
  drawn !== undefined && drawn.treated > 0 && drawn.heldOut > 0;

function figuresOf(sum: SessionSum, unit: CostUnit, { until }: Range): SessionFigures {
  const {
    arms,
    hasRoot,
    isDrawn,
    share,
    armAt,
    firstAt,
    lastAt,
    tokens,
    dollars,
    conversations,
    unpricedRequests,
    ...figures
  } = sum;
  const [arm = 'treated'] = arms;
  const isQuiet = lastAt < until - SETTLE_MS;
  return {
    ...figures,
    arm,
    billedRequests: sum.billedRequests - (unit === 'dollars' ? unpricedRequests : 0),
    costs: sum[unit],
    isFinished: isQuiet ? endsWithLastWord(conversations) : undefined,
  };
}

/**
 * The last conversation with tool results decides: an agent that compacts its history continues in a new one. Side conversations, such
 * as one for a title, have no results.
 */
function endsWithLastWord(conversations: SessionSum['conversations']): boolean | undefined {
  const all = [...conversations.values()];
  const working = all.filter(({ results }) => results > 0);
  const end =
    working.length > 0
      ? working.reduce((last, one) => (one.lastAt > last.lastAt ? one : last))
      : all.reduce((longest, one) => (one.requests > longest.requests ? one : longest));
  return end.isFinished;
}
