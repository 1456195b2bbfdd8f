import { formatByName } from '../../formats/detect-format.ts';
import type { Format, FormatName } from '../../message.ts';
import { amount, checkOptions, flag, func } from '../../options.ts';
import { never } from '../../plan/policies/never.ts';
import { Conversation } from './conversation/conversation.ts';
import { PLACE_RULES, type SessionPlaceOptions, withPlace } from './find-place.ts';
import { EventLog } from './log/event-log.ts';
import type { SessionInfo } from './session-info.ts';
import type { SessionPlace } from './session-storage.ts';

/** Options of `sweepSessions`. */
export interface SweepOptions extends SessionPlaceOptions {
  /**
   * Sweeps sessions without an event for more than this many hours; 0 sweeps nothing. Sessions that are over are only
   * swept with `remove`. @default 168
   */
  readonly ttlHours?: number;
  /** Deletes the sessions instead of ending them. @default false */
  readonly remove?: boolean;
  /** The clock, in ms since the epoch. @default Date.now */
  readonly now?: () => number;
}

/** The result of a sweep. */
export interface Swept {
  /** Sessions that were ended. */
  readonly expired: readonly string[];
  /** Sessions that were deleted. */
  readonly removed: readonly string[];
  /** Old sessions that a process has open. */
  readonly open: readonly string[];
  /** Sessions that could not be ended or deleted, and why. A session in a custom format can only be deleted. */
  readonly failed: readonly { readonly id: string; readonly error: Error }[];
}

const HOUR_MS = 3_600_000;

/**
 * Ends the sessions that had no event for too long. A session continues if a message is added.
 *
 * @example
 * ```ts
 * import { sweepSessions } from 'palimpsest/manager';
 *
 * const { expired } = await sweepSessions({ directory: 'sessions', ttlHours: 24 });
 * ```
 */
export async function sweepSessions(options: SweepOptions): Promise<Swept> {
  checkOptions('sweepSessions', options, { ...PLACE_RULES, ttlHours: amount, remove: flag, now: func });
  return withPlace('sweepSessions', options, (place) => sweep(place, options));
}

async function sweep(
  place: SessionPlace,
  { ttlHours = 168, remove = false, now = Date.now }: SweepOptions,
): Promise<Swept> {
  const [done, open, failed]: [string[], string[], { id: string; error: Error }[]] = [[], [], []];
  for (const session of ttlHours === 0 ? [] : await place.list()) {
    const { id, status } = session;
    if (status === 'completed' && !remove) continue;
    try {
      if (now() - (await lastActivity(place, session, now())) <= ttlHours * HOUR_MS) continue;
      // A session that was continued while others were swept stays.
      const isDone = remove ? await place.delete(id, session) : await endSession(place, session, now);
      if (isDone) done.push(id);
    } catch (error) {
      if ((error as { code?: string }).code === 'STORE_LOCKED') open.push(id);
      else failed.push({ id, error: error as Error });
    }
  }
  return { expired: remove ? [] : done, removed: remove ? done : [], open, failed };
}

/**
 * The time of the last event. Times in a log never go back, so one wrong clock reading would keep a session for ever. If the time
 * is in the future, the time of the last write counts. If that is in the future too, `now` is recorded and counts.
 */
async function lastActivity(place: SessionPlace, { id, lastActive }: SessionInfo, now: number): Promise<number> {
  const logged = Date.parse(lastActive);
  return logged <= now ? logged : place.lastWritten(id, now);
}

/**
 * Logs only that a session is over. Opening it as a session would write a snapshot under the wrong policy, limits and store.
 * Answers whether it was ended: a session that has more events by now is not.
 */
export async function endSession(
  place: SessionPlace,
  { id, format, events }: SessionInfo,
  now: () => number,
): Promise<boolean> {
  const conversation = untouched(formatByName(format as FormatName));
  const nothing = async (): Promise<void> => {};
  const storage = await place.open<unknown>(id, nothing);
  try {
    const { end } = await storage.recover({ conversation, between: nothing });
    if (end.seq > events) return false;
    const log = new EventLog({ storage, end, now, onDurable: nothing, afterBatch: nothing, onProblem: nothing });
    await log.append([{ type: 'session_end', reason: 'expired', total_turns: conversation.facts.turns }]);
    return true;
  } finally {
    await storage.close({ isSaved: false });
  }
}

/** A minimal conversation, used only to count turns. */
const untouched = (format: Format<unknown>): Conversation<unknown> =>
  new Conversation({
    format,
    policy: never(),
    counter: () => 0,
    show: 'nothing',
    arrival: { clean: false, references: false, shell_output: false, truncate: false, truncation: 'head' },
    limit: Number.MAX_SAFE_INTEGER,
  });
