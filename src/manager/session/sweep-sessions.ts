import { statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { badOption, checkOptions, flag, func, rule } from '../../options.ts';
import { deleteSession } from './delete-session.ts';
import { endSession } from './end-session.ts';
import { listSessions } from './list-sessions.ts';
import { EVENTS } from './session-files.ts';
import { directoryRule, sessionFolder } from './session-folder.ts';

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
  /** Sessions that could be neither, and why: such as one in a format of your own, which can only be deleted. */
  readonly failed: readonly { readonly id: string; readonly error: Error }[];
}

const HOUR_MS = 3_600_000;

/** Ends the sessions in which nothing happened for too long. They go on if a message is added. */
export async function sweepSessions(options: SweepOptions): Promise<Swept> {
  const hours = rule('a number of 0 or more', (v) => typeof v === 'number' && v >= 0 && Number.isFinite(v));
  checkOptions('sweepSessions', options, {
    directory: directoryRule,
    ttlHours: hours,
    remove: flag,
    now: func,
  });
  const { directory, ttlHours = 168, remove = false, now = Date.now } = options;
  if (directory === undefined) throw badOption('sweepSessions option directory', directoryRule.expected, directory);
  const [done, open, failed]: [string[], string[], { id: string; error: Error }[]] = [[], [], []];
  for (const { id, format, status, lastActive } of ttlHours === 0 ? [] : listSessions(directory)) {
    if (status === 'completed' && !remove) continue;
    try {
      const activeAt = lastActivity(join(sessionFolder(directory, id), EVENTS), { lastActive, now: now() });
      if (now() - activeAt <= ttlHours * HOUR_MS) continue;
      if (remove) await deleteSession({ directory, id });
      else await endSession({ directory, id, format, reason: 'expired', now });
      done.push(id);
    } catch (error) {
      if ((error as { code?: string }).code === 'STORE_LOCKED') open.push(id);
      else failed.push({ id, error: error as Error });
    }
  }
  return { expired: remove ? [] : done, removed: remove ? done : [], open, failed };
}

/**
 * When something last happened in a session. Times in a log never go back, so one clock reading in the future would keep it
 * for ever: then the time of the file counts. If that is in the future too, the time of this sweep is noted there and counts.
 */
function lastActivity(log: string, { lastActive, now }: { readonly lastActive: string; readonly now: number }): number {
  const logged = Date.parse(lastActive);
  if (logged <= now) return logged;
  const written = statSync(log).mtimeMs;
  if (written <= now) return written;
  utimesSync(log, new Date(now), new Date(now));
  return now;
}
