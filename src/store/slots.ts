import { PalimpsestError } from '../errors.ts';
import { recallLimits, searchLimits } from '../limits.ts';

interface SlotsOptions {
  /** The most tasks that run at once. */
  readonly most: number;
  /** The most tasks that may wait. */
  readonly waiting: number;
  /** The setting that raises `most`, for the error text. */
  readonly setting?: string;
}

export interface SlotOptions {
  /** The task continues with its next part, so it is never refused. */
  readonly hasBegun?: boolean;
  /** A waiting task leaves the queue when the signal aborts. A running task must stop itself. */
  readonly signal?: AbortSignal | undefined;
}

/** Limits how many tasks run at once. Others wait in order of arrival. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  readonly #options: SlotsOptions;
  #most: number;
  #busy = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#most = options.most;
  }

  limitTo(most: number): void {
    this.#most = most;
  }

  /** Throws BUSY if too many tasks wait already, and the signal's reason if it is aborted before the task begins. */
  async run<T>(work: () => Promise<T>, { hasBegun = false, signal }: SlotOptions = {}): Promise<T> {
    signal?.throwIfAborted();
    if (this.#busy < this.#most) this.#busy += 1;
    else if (hasBegun || this.#waiting.length < this.#options.waiting) await this.#nextFree(signal);
    else throw tooMany(this.#options);
    try {
      return await work();
    } finally {
      this.#giveBack();
    }
  }

  #nextFree(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives the slot to the first waiting task. */
  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }
}

function tooMany({ waiting, setting }: SlotsOptions): PalimpsestError {
  const remedy = `call again in a moment${setting === undefined ? '' : `, or set ${setting}`}`;
  return new PalimpsestError('BUSY', `Expected room for this call but ${waiting} others wait; ${remedy}`);
}

const { walks: most, waiting } = searchLimits;

/** Calls that read whole sessions or run a pattern: lists, searches, reports. */
export const walks = new Slots({ most, waiting, setting: 'gateway.limits.search_processes' });

/** Calls that read one text. They do not wait for walks. */
export const recalls = new Slots({ most: recallLimits.recalls, waiting: recallLimits.waiting });
