import { storeLimits } from '../limits.ts';
import type { Failed, Summarize, SummaryRequest } from '../plan/summary.ts';
import { checkSummary, failedBy } from '../plan/summary.ts';
import { inTime } from './in-time.ts';
import type { Signal } from './store.ts';

/** A caller's own function that writes a summary, now or later. */
export type AsyncSummaryWriter<M> = (
  messages: readonly M[],
  earlier: string | undefined,
  signal: Signal,
) => string | Promise<string>;

/** The default time limit of a summary. */
export const SUMMARY_TIMEOUT_MS = storeLimits.summaryMs;

/** After this many failures in a row, `summarize` is switched off. */
const MOST_FAILURES = storeLimits.summaryFailures;

/**
 * The summaries of one conversation, by the texts that they replaced. A planner cannot wait: if a summary is missing here, it
 * uses the rules. The caller of the planner then requests the summary and plans again.
 */
export class SummaryLog {
  readonly #written = new Map<string, string | Failed>();
  readonly #pending = new Map<string, Promise<void>>();
  #missing: SummaryRequest | undefined;
  /** Failures in a row. */
  failures = 0;

  get isOff(): boolean {
    return this.failures >= MOST_FAILURES;
  }

  /** Passed to a planner. */
  readonly find: Summarize = (request) => {
    const known = this.#written.get(request.replaced);
    if (known === undefined && this.isOff) return SWITCHED_OFF;
    if (known === undefined) this.#missing ??= request;
    return known;
  };

  /** Whether a planner missed a summary. Until it is written, the rules' summary is provisional. */
  get isMissing(): boolean {
    return this.#missing !== undefined;
  }

  /** The first summary that a planner missed since the last call. */
  takeMissing(): SummaryRequest | undefined {
    const missing = this.#missing;
    this.#missing = undefined;
    return missing;
  }

  /** Shares one request among calls that run at the same time. */
  writeOnce(replaced: string, write: () => Promise<void>): Promise<void> {
    const pending = this.#pending.get(replaced) ?? write().finally(() => this.#pending.delete(replaced));
    this.#pending.set(replaced, pending);
    return pending;
  }

  /** Adds a summary that was recorded earlier. It does not count for failures in a row. */
  remember(replaced: string, written: string | Failed): void {
    this.#written.set(replaced, written);
  }

  /** Adds a new summary, or the failure to write one. */
  record(replaced: string, written: string | Failed): void {
    this.remember(replaced, written);
    this.failures = typeof written === 'string' ? 0 : this.failures + 1;
  }
}

const SWITCHED_OFF: Failed = { failed: `summarize was switched off after ${MOST_FAILURES} failures in a row` };

interface Asking<M> {
  readonly messages: readonly M[];
  readonly earlier: string | undefined;
  readonly timeoutMs: number;
}

/** Requests a summary from the caller's function. Failures are returned, not thrown. */
export async function askForSummary<M>(
  writer: AsyncSummaryWriter<M>,
  { messages, earlier, timeoutMs }: Asking<M>,
): Promise<string | Failed> {
  const controller = new AbortController();
  const answer = Promise.resolve().then(() => writer(messages, earlier, controller.signal));
  return inTime(answer.then(checkSummary, failedBy), timeoutMs, () => {
    controller.abort();
    return { failed: `summarize took longer than ${timeoutMs} ms` };
  });
}
