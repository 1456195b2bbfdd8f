import type { Interval } from './interval.ts';
import type { Arm } from './request-record.ts';
import type { CostUnit, Covers, Drawn, LeftOut, Range } from './sessions.ts';

/** The comparison of the arms, in numbers and in words, without any text of a conversation. */
export interface Report {
  readonly range: Range;
  /** From the first request of the sessions to their last; absent if there are none. */
  readonly covers?: Covers;
  /** The chance with which the intervals miss the truth: at any look, or at one look if the range moves. */
  readonly alpha: number;
  readonly headline: Headline;
  /** The unit of all costs. Tokens are counted at the base price of input: a cached token counts less. */
  readonly unit: CostUnit;
  /** Billed requests of models without a price. Above 1 %, all costs are in tokens; else these requests have no costs. */
  readonly unpricedRequests: number;
  /** The arms that have sessions. */
  readonly arms: readonly ArmFigures[];
  /** The sessions that are compared; absent if none was drawn. */
  readonly drawn?: Drawn;
  /** Treated against held-out sessions; absent if one of them has no drawn sessions. */
  readonly savings?: Savings;
  readonly harm: Harm;
  /** How far the gateway's estimate of the cost without masks is off in the held-out arm, where that cost was billed. */
  readonly estimate?: EstimateError;
  readonly leftOut: LeftOut;
  /** Damaged records of requests, which are in no figure. Absent if there are none. */
  readonly damagedRecords?: number;
}

export type Verdict =
  /** No session to report on. */
  | 'nothing'
  /** No session was drawn, so savings are estimates. */
  | 'not-measured'
  | 'too-few'
  | 'saves'
  | 'costs-more'
  | 'no-difference';

export interface Headline {
  readonly verdict: Verdict;
  readonly sentence: string;
  /** More sentences, the most important first. */
  readonly details: readonly string[];
  /** About how many more sessions are needed, if there are too few. */
  readonly moreSessions?: number;
}

/** One arm as it was billed. */
export interface ArmFigures {
  readonly arm: Arm;
  readonly sessions: number;
  readonly requests: number;
  readonly inputTokens: number;
  readonly cost: number;
  readonly costPerSession: Level;
  readonly costPerRequest: Level;
  /** The mean part of the context window that a prompt took, in requests of subscriptions. Absent if no window is known. */
  readonly windowShare?: number;
  /** An estimate of the saving, from the receipts, or in shadow from the gateway's plans. It is not measured. */
  readonly estimatedSaving?: number;
}

export interface Level {
  readonly value: number;
  /** Absent if there are too few sessions. */
  readonly interval?: Interval;
}

/** Shares of the cost: 0.24 is 24 % less. */
export interface Savings {
  /** Against the estimate of the cost without masks, which the held-out arm corrects. */
  readonly sameWork: Saving;
  readonly perSession: Saving;
  readonly perRequest: Saving;
}

export interface Saving {
  /** Absent if there is nothing to divide. */
  readonly value?: number;
  /** Absent if there are too few sessions. */
  readonly interval?: Interval;
  /** Sessions that the smaller arm needs for an interval. */
  readonly leastSessions: number;
  /**
   * About how many more sessions are needed to distinguish the saving from zero, if it is as large as it seems or 10 %. Absent if there
   * are enough.
   */
  readonly moreSessions?: number;
}

export interface Harm {
  readonly verdict: 'not-judged' | 'none-seen' | 'seen';
  /** The number of compared measures. Their intervals hold together with the confidence of the report. */
  readonly compared: number;
  readonly measures: readonly HarmMeasure[];
}

export type HarmName = 'requests' | 'size' | 'output' | 'failed' | 'repeated' | 'refused' | 'unfinished' | 'recalls';

export interface HarmMeasure {
  readonly name: HarmName;
  readonly title: string;
  /** `typical` is the geometric mean of sessions, `mean` their mean, and `share` a part of a whole. */
  readonly kind: 'typical' | 'mean' | 'share';
  readonly treated?: number;
  readonly heldOut?: number;
  /** Treated against held-out: the difference of shares, otherwise relative. More is worse. Absent if it is unknown. */
  readonly change?: Interval;
  /** An increase of this size would be seen four times out of five. */
  readonly wouldShow?: number;
  readonly isHarm: boolean;
  /** Why there is no comparison. */
  readonly note?: string;
}

export interface EstimateError {
  /** −0.04: the estimate was 4 % too low. */
  readonly offBy: number;
  readonly interval?: Interval;
  /** Half of the sessions are off by less than this, after that is corrected. */
  readonly typicalError: number;
  readonly sessions: number;
}
