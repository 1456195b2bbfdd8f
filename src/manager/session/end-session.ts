import type { Format } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { Conversation } from './conversation/conversation.ts';
import { EventLog } from './log/event-log.ts';
import type { SessionStorage } from './session-storage.ts';

export interface EndOptions {
  /** The storage of the session. This function closes it. */
  readonly storage: SessionStorage<unknown>;
  readonly format: Format<unknown>;
  readonly reason: string;
  /** The number of events when the session was found to be too old. A session that has more by now is not ended. */
  readonly events: number;
  readonly now: () => number;
}

/**
 * Logs only that a session is over. Opening it as a session would write a snapshot under the wrong policy, limits and store.
 * Answers whether it was ended.
 */
export async function endSession({ storage, format, reason, events, now }: EndOptions): Promise<boolean> {
  try {
    const conversation = untouched(format);
    const nothing = async (): Promise<void> => {};
    const { end } = await storage.recover({ conversation, between: nothing });
    if (end.seq > events) return false;
    const log = new EventLog({
      storage,
      end,
      now,
      onDurable: () => {},
      afterBatch: nothing,
      onProblem: () => {},
    });
    await log.append([{ type: 'session_end', reason, total_turns: conversation.turns }]);
    return true;
  } finally {
    await storage.close({ isSaved: false });
  }
}

/** A minimal conversation, used only to count turns. */
const untouched = <M>(format: Format<M>): Conversation<M> =>
  new Conversation({
    format,
    policy: never(),
    counter: () => 0,
    show: 'nothing',
    arrival: { clean: false, references: false, shell_output: false, truncate: false, truncation: 'head' },
    limit: Number.MAX_SAFE_INTEGER,
  });
