import type { FormatName } from '../../message.ts';
import { badOption, checkOptions, flag, func, given, rule, text } from '../../options.ts';
import { openSession } from '../open-session.ts';
import { deleteSession } from './delete-session.ts';
import { listSessions, type SessionInfo } from './list-sessions.ts';

/** Options of `sweepSessions`. */
export interface SweepOptions {
  readonly directory: string;
  /** How long nothing may have happened in a session that is not over; 168 if not given, and 0 sweeps nothing. */
  readonly ttlHours?: number;
  /** Deletes them, and does not only end them. */
  readonly remove?: boolean;
  readonly now?: () => number;
}

/** What a sweep did. */
export interface Swept {
  /** Sessions that were ended. */
  readonly expired: readonly string[];
  /** Sessions that were deleted. */
  readonly removed: readonly string[];
  /** Sessions that are old, but open. */
  readonly open: readonly string[];
}

const HOUR_MS = 3_600_000;

/** Ends the sessions in which nothing happened for too long. They go on if a message is added. */
export async function sweepSessions(options: SweepOptions): Promise<Swept> {
  const hours = rule('a number of 0 or more', (v) => typeof v === 'number' && v >= 0 && Number.isFinite(v));
  checkOptions('sweepSessions', given('sweepSessions', options), {
    directory: text,
    ttlHours: hours,
    remove: flag,
    now: func,
  });
  const { directory, ttlHours = 168, remove = false, now = Date.now } = options;
  if (directory === undefined) throw badOption('sweepSessions option directory', 'a folder', directory);
  const swept = { expired: [] as string[], removed: [] as string[], open: [] as string[] };
  if (ttlHours === 0) return swept;
  for (const info of listSessions(directory)) {
    const isOld = now() - Date.parse(info.lastActive) > ttlHours * HOUR_MS;
    if (!isOld || (info.status === 'completed' && !remove)) continue;
    try {
      if (remove) await deleteSession({ directory, id: info.id });
      else await endSession(directory, info, now);
      (remove ? swept.removed : swept.expired).push(info.id);
    } catch (error) {
      if ((error as { code?: string }).code !== 'STORE_LOCKED') throw error;
      swept.open.push(info.id);
    }
  }
  return swept;
}

async function endSession(directory: string, { id, format }: SessionInfo, now: () => number): Promise<void> {
  const session = await openSession<unknown>({ directory, id, dialect: format as FormatName, openCalls: 'keep', now });
  try {
    await session.log({ type: 'session_end', reason: 'expired', total_turns: session.turns });
  } finally {
    await session.close();
  }
}
