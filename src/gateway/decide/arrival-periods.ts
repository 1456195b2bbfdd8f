import type { ReplaceEdit, Segment } from '../../message.ts';
import type { ArrivalPeriod } from '../../plan/arrival/arrivals.ts';
import { type Arrival, toArrival } from '../../plan/arrival/options.ts';
import { isArrival } from '../../plan/ledger/rows.ts';
import type { Policy } from '../../plan/policy.ts';
import type { CachedHistory, Listed } from '../conversation/cached-history.ts';
import type { FoundSettings } from './settings.ts';

/** How a policy makes results smaller when they are first sent; undefined if it does not. */
export function arrivalOf({ arrival, maxResultTokens: truncate }: Policy): Arrival | undefined {
  const options = toArrival(arrival, truncate === undefined ? {} : { truncate });
  const isOn = options.clean || options.references || options.shellOutput !== undefined;
  return isOn || options.truncate !== undefined ? options : undefined;
}

interface Now {
  /** The current options. */
  readonly arrival: Arrival | undefined;
  /** Whether they are recorded with this request. */
  readonly isNew: boolean;
  /** Whether the original is sent, so that no sent byte must be kept. */
  readonly isUnsent: boolean;
  /** The size to which the current policy cuts results. */
  readonly truncate: number | undefined;
}

/**
 * How the results of each part of a conversation are made smaller. The first recorded options apply from the newest turn of their request
 * on: everything before it was sent unchanged. Options that changed later apply from the next turn on, because their request may have
 * been sent before.
 */
export function arrivalPeriods(
  listed: readonly Listed[],
  recorded: readonly FoundSettings[],
  { arrival, isNew, isUnsent, truncate }: Now,
): ArrivalPeriod[] {
  if (isUnsent) return arrival ? [{ fromMessage: 0, ...arrival }] : [];
  const changes: Change[] = recorded.map(({ event, messages }, i) => ({
    messages,
    arrival:
      event.arrival ?? (i === 0 ? ofOlderVersion(event.policy ? event.policy.options.maxResultTokens : truncate) : OFF),
    isFromStart: i === 0 && !event.arrival,
  }));
  if (isNew) changes.push({ messages: listed.length, arrival: arrival ?? OFF, isFromStart: false });
  return changes.flatMap(({ messages, arrival: options, isFromStart }, i) => {
    if (i > 0 && isSame(options, changes[i - 1]?.arrival)) return [];
    if (isFromStart) return [{ fromMessage: 0, ...options }];
    return [{ fromMessage: i === 0 ? newestTurn(listed, messages) : nextTurn(listed, messages), ...options }];
  });
}

interface Change {
  /** The number of messages of the request on which it was recorded. */
  readonly messages: number;
  readonly arrival: Arrival;
  readonly isFromStart: boolean;
}

const OFF: Arrival = { clean: false, references: false, shellOutput: undefined, truncate: undefined };

/** Versions that recorded no arrival options cut results from the first message on. */
const ofOlderVersion = (truncate: unknown): Arrival => (typeof truncate === 'number' ? { ...OFF, truncate } : OFF);

/** Whether two values are the same data. Mostly they are one object or number, and writing them as JSON would take longer. */
export const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** The first message after the last reply of a request. Its results are sent for the first time. */
export function newestTurn(listed: readonly Listed[], messages = listed.length): number {
  let first = Math.min(messages, listed.length);
  while (first > 0 && !listed[first - 1]?.read.isReply) first -= 1;
  return first;
}

/** The first reply after a number of messages. */
function nextTurn(listed: readonly Listed[], messages: number): number {
  const index = listed.findIndex(({ read }, i) => i >= messages && read.isReply);
  return index < 0 ? Math.max(messages, listed.length) : index;
}

/**
 * Passes other periods to a planner, if they change nothing about the messages that it has. Returns false if they do. A planner that has
 * made nothing smaller yet may have begun with an earlier period than the recorded one.
 */
export function takePeriods({ arrivals, listed, planner }: CachedHistory, periods: readonly ArrivalPeriod[]): boolean {
  if (isSame(arrivals, periods)) return true;
  const isIndexed = (list: readonly ArrivalPeriod[]): boolean => list.some(({ references }) => references);
  if (isIndexed(arrivals) !== isIndexed(periods)) return false;
  const first = periods[0]?.fromMessage ?? Number.POSITIVE_INFINITY;
  const { segments } = planner.ledger;
  const isShaped = (edit: ReplaceEdit): boolean =>
    isArrival(edit.why) && (segments[edit.segment] as Segment).message < first;
  const isUnshaped =
    planner.hidden.length === 0 || !planner.ledger.edits().some((edit) => edit.kind === 'replace' && isShaped(edit));
  const starts = [...arrivals, ...periods].map(({ fromMessage }) => fromMessage);
  const isKept = starts.every(
    (start) =>
      start >= listed.length ||
      (start < first && isUnshaped) ||
      isSame(optionsAt(arrivals, start), optionsAt(periods, start)),
  );
  if (isKept) arrivals.splice(0, arrivals.length, ...periods);
  return isKept;
}

function optionsAt(periods: readonly ArrivalPeriod[], message: number): Arrival | undefined {
  const { fromMessage: _start, ...options } = periods.findLast(({ fromMessage }) => fromMessage <= message) ?? {
    ...OFF,
    fromMessage: 0,
  };
  return options;
}
