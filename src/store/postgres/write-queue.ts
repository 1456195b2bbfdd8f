import { PalimpsestError } from '../../errors.ts';
import type { Handle } from '../store.ts';
import { isNoAnswer } from './connection.ts';
import type { Item } from './write-batch.ts';

interface Request {
  readonly items: readonly Item[];
  resolve(handles: Handle[]): void;
  reject(error: unknown): void;
}

/** Puts that arrive while a batch is written go together into the next one, with one commit. */
export class WriteQueue {
  readonly #write: (items: readonly Item[]) => Promise<Handle[]>;
  readonly #waiting: Request[] = [];
  #working: Promise<void> | undefined;

  constructor(write: (items: readonly Item[]) => Promise<Handle[]>) {
    this.#write = write;
  }

  put(items: readonly Item[]): Promise<Handle[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeTogether(this.#take());
    this.#working = undefined;
  }

  #take(): Request[] {
    let length = 0;
    const end = this.#waiting.findIndex(({ items }) => {
      length += items.reduce((sum, { text }) => sum + text.length + 100, 0);
      return length > TOGETHER_LENGTH;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : Math.max(1, end));
  }

  async #writeTogether(requests: readonly Request[]): Promise<void> {
    try {
      const handles = await this.#write(requests.flatMap(({ items }) => items));
      let first = 0;
      for (const { items, resolve } of requests) {
        resolve(handles.slice(first, first + items.length));
        first += items.length;
      }
    } catch (error) {
      // A text that cannot be stored must not prevent the others.
      const isClash = error instanceof PalimpsestError && error.code === 'HANDLE_CLASH';
      if (isClash && requests.length > 1) for (const request of requests) await this.#writeTogether([request]);
      else for (const { reject } of requests) reject(error);
      // Rejects all waiting batches: each would otherwise wait for its own full timeout.
      if (isNoAnswer(error)) for (const { reject } of this.#waiting.splice(0)) reject(error);
    }
  }
}

const TOGETHER_LENGTH = 8_000_000;
