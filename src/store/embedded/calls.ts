import { PalimpsestError } from '../../errors.ts';
import { closedError } from '../check-input.ts';

/** The calls of a store. `close` waits for those that write, and later ones are refused. */
export class Calls {
  readonly #mode: 'read' | 'write';
  #inFlight = 0;
  #onIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(mode: 'read' | 'write') {
    this.#mode = mode;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** A store that failed can still be read. */
  check(): void {
    if (this.#closing) throw closedError();
  }

  /** Work that `close` waits for. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#mode === 'read')
      throw new PalimpsestError('BAD_OPTION', "Expected a store opened for writing but this one has mode 'read'");
    this.#inFlight += 1;
    try {
      return await work();
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#onIdle?.();
    }
  }

  /** Finishes work that has begun, then calls `finish`, once. */
  close(finish: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#finish(finish);
    return this.#closing;
  }

  async #finish(finish: () => Promise<void>): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await finish();
  }
}
