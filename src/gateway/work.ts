import type { ServerResponse } from 'node:http';

/** The answers that are under way. */
export class Work {
  /**
   * A list, not a Set: V8 keeps the tables that a Set has outgrown, and all answers in them, until a full collection, and
   * one that is added to and deleted from on every request outgrows a table every few of them.
   */
  readonly #open: ServerResponse[] = [];
  #onIdle: (() => void) | undefined;

  begin(response: ServerResponse): void {
    this.#open.push(response);
    response.once('close', () => {
      this.#open.splice(this.#open.indexOf(response), 1);
      if (this.#open.length === 0) this.#onIdle?.();
    });
  }

  /** Resolves when nothing is under way any more; what is not done in time is cut off. */
  async idle(graceMs: number): Promise<void> {
    if (this.#open.length === 0) return;
    const timer = Number.isFinite(graceMs) ? setTimeout(() => this.#cut(), graceMs) : undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    clearTimeout(timer);
  }

  #cut(): void {
    for (const response of this.#open) response.destroy();
  }
}
