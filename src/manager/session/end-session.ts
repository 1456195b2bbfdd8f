import { formatByName } from '../../formats/detect-format.ts';
import type { Format, FormatName } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { nodeDisk } from '../../store/embedded/disk.ts';
import { Conversation } from './conversation.ts';
import { EventLog } from './event-log.ts';
import { lockSession } from './lock-session.ts';
import { openLog, type WrittenSession } from './open-log.ts';
import { recover } from './recover.ts';
import { sessionFolder } from './session-folder.ts';
import { SyncMark } from './sync-mark.ts';

export interface EndOptions {
  readonly directory: string;
  readonly id: string;
  readonly format: string;
  readonly reason: string;
  readonly now: () => number;
}

/**
 * Writes to a log that its session is over, and nothing else. Opened as a session it would get a snapshot of what is shown
 * under a policy, limits and a store that are not its own.
 */
export async function endSession({ directory, id, format, reason, now }: EndOptions): Promise<void> {
  const own = formatByName(format as FormatName);
  const folder = sessionFolder(directory, id);
  const lock = lockSession(folder, id);
  try {
    await appendEnd({ disk: nodeDisk, folder, ...lock.writing }, { format: own, reason, now });
  } finally {
    lock.release();
  }
}

interface AppendOptions extends Pick<EndOptions, 'reason' | 'now'> {
  readonly format: Format<unknown>;
}

async function appendEnd(session: WrittenSession, { format, reason, now }: AppendOptions): Promise<void> {
  const file = await openLog(session);
  let mark: SyncMark | undefined;
  try {
    const conversation = untouched(format);
    const between = async (): Promise<void> => {};
    const { end } = await recover({ ...session, file, conversation, between });
    mark = await SyncMark.create({ ...session, onProblem: () => {} }, end.seq);
    const log = new EventLog({
      file,
      end,
      now,
      mayWrite: session.mayWrite,
      onSynced: (seq) => mark?.write(seq),
      onDurable: () => {},
      afterBatch: between,
      onProblem: () => {},
    });
    await log.append([{ type: 'session_end', reason, total_turns: conversation.turns }]);
  } finally {
    mark?.close();
    file.close();
  }
}

/** Only its turns are asked for. */
const untouched = <M>(format: Format<M>): Conversation<M> =>
  new Conversation({
    format,
    policy: never(),
    counter: () => 0,
    show: 'nothing',
    arrival: { clean: false, references: false, shell_output: false, truncate: false, truncation: 'head' },
    limit: Number.MAX_SAFE_INTEGER,
  });
