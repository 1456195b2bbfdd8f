import { harmOf } from './harm.ts';
import { headlineOf } from './headline.ts';
import type { ArmFigures, Report } from './report.ts';
import type { Arm, RequestRecord } from './request-record.ts';
import { estimateErrorOf, levelsOf, savingsOf } from './savings.ts';
import { createSessionReader, isCompared, type Pricing, type Range, type SessionFigures } from './sessions.ts';

export interface ReportOptions extends Pricing {
  readonly range: Range;
  /** The number of damaged records that the store left out, once all others are read. */
  readonly countDamaged?: () => number;
}

/** The confidence of all intervals is 95 %. */
export const ALPHA = 0.05;

/**
 * Sessions that began before the range are only known by their earlier requests: records should begin this long
 * before it.
 */
export const LEAD_MS = 7 * 86_400_000;

const ARMS: readonly Arm[] = ['treated', 'held-out', 'shadow'];

/** Compares the arms. The records may come in any order. */
export async function buildReport(
  records: Iterable<RequestRecord> | AsyncIterable<RequestRecord>,
  { range, countDamaged = () => 0, ...pricing }: ReportOptions,
): Promise<Report> {
  const reader = createSessionReader(range, pricing);
  for await (const record of records) reader.add(record);
  const damagedRecords = countDamaged();
  const { sessions, ...read } = reader.read();
  const [treated = [], heldOut = []] = ARMS.map((arm) => sessions.filter((session) => session.arm === arm));
  const arms = ARMS.flatMap((arm) => armFigures(arm, sessions));
  const savings = isCompared(read.drawn) ? savingsOf(treated, heldOut, ALPHA) : undefined;
  const harm = harmOf(treated, savings ? heldOut : [], ALPHA);
  const estimate = estimateErrorOf(heldOut, ALPHA);
  const figures = {
    ...{ range, alpha: ALPHA, arms, harm, ...read },
    ...(savings ? { savings } : {}),
    ...(estimate ? { estimate } : {}),
    ...(damagedRecords > 0 ? { damagedRecords } : {}),
  };
  return { ...figures, headline: headlineOf(figures) };
}

function armFigures(arm: Arm, all: readonly SessionFigures[]): ArmFigures[] {
  const sessions = all.filter((session) => session.arm === arm);
  if (sessions.length === 0) return [];
  const sum = (pick: (session: SessionFigures) => number): number =>
    sessions.reduce((total, session) => total + pick(session), 0);
  const cost = sum(({ costs }) => costs.billed);
  const estimate = estimatedSaving(arm, cost, sum);
  const windowRequests = sum((session) => session.windowRequests);
  return [
    {
      arm,
      sessions: sessions.length,
      requests: sum(({ requests }) => requests),
      inputTokens: sum(({ inputTokens }) => inputTokens),
      cost,
      ...levelsOf(sessions, ALPHA),
      ...(windowRequests > 0 ? { windowShare: sum(({ windowShares }) => windowShares) / windowRequests } : {}),
      ...(estimate === undefined ? {} : { estimatedSaving: estimate }),
    },
  ];
}

/** Treated requests against the receipts' figure without masks; in shadow both sides are the gateway's estimates. */
function estimatedSaving(
  arm: Arm,
  cost: number,
  sum: (pick: (session: SessionFigures) => number) => number,
): number | undefined {
  if (arm === 'held-out') return undefined;
  const without = sum(({ costs }) => (arm === 'treated' ? costs.receiptWithout : costs.expectedWithout));
  const sent = arm === 'treated' ? cost : sum(({ costs }) => costs.expectedSent);
  return without > 0 ? 1 - sent / without : undefined;
}
