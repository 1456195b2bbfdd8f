import { PalimpsestError } from '../../errors.ts';
import {
  type ContextAction,
  ContextManager,
  type ContextManagerOptions,
  type MaskResult,
  type Restart,
} from '../context-manager.ts';
import { readUsage, type Usage } from '../usage.ts';

/** What the session wants to know of its manager. */
export interface ManagerEvents<M> {
  onUsage(usage: Usage): void;
  onMask(result: MaskResult<M>): void;
  onWindDown(notice: string): void;
}

/** A manager whose decisions are in the session's log, so that they are still known after a crash. */
export class SessionManager<M> extends ContextManager<M> {
  readonly #events: ManagerEvents<M>;

  constructor(options: ContextManagerOptions<M>, events: ManagerEvents<M>) {
    super(options);
    this.#events = events;
  }

  override recordUsage(usage: unknown): void {
    super.recordUsage(usage);
    const read = readUsage(usage);
    if (read) this.#events.onUsage(read);
  }

  override maskOldest(results?: number): MaskResult<M> {
    const result = super.maskOldest(results);
    if (result.masked > 0) this.#events.onMask(result);
    return result;
  }

  override evaluate(): ContextAction<M> {
    const action = super.evaluate();
    if (action.type === 'wind-down') this.#events.onWindDown(action.notice);
    return action;
  }

  /** What a restart begins with is written to the log first: `session.restart()` does both. */
  override restart(): Restart<M> {
    throw new PalimpsestError(
      'BAD_INPUT',
      'Expected a call of session.restart() but found one of session.manager.restart()',
    );
  }

  beginNext(): Restart<M> {
    return super.restart();
  }
}
