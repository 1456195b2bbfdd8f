import type { Format } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { Conversation } from './conversation.ts';
import { EventLog } from './event-log.ts';
import type { SessionStorage } from './session-storage.ts';

export interface EndOptions {
  /** It is closed when this is done. */
  readonly storage: SessionStorage<unknown>;
  readonly format: Format<unknown>;
  readonly reason: string;
  readonly now: () => number;
}

/**
 * Writes to a log that its session is over, and nothing else. Opened as a session it would get a snapshot of what is shown
 * under a policy, limits and a store that are not its own.
 */
export async function endSession({ storage, format, reason, now }: EndOptions): Promise<void> {
  try {
    const conversation = untouched(format);
    const nothing = async (): Promise<void> => {};
    const { end } = await storage.recover({ conversation, between: nothing, checkFormat: () => {} });
    const log = new EventLog({
      storage,
      end,
      now,
      onDurable: () => {},
      afterBatch: nothing,
      onProblem: () => {},
    });
    await log.append([{ type: 'session_end', reason, total_turns: conversation.turns }]);
  } finally {
    await storage.close({ isSaved: false });
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
