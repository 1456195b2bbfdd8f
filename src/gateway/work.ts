import type { ServerResponse } from 'node:http';

/** The answers that are under way. */
export class Work {
  readonly #open = new Set<ServerResponse>();
  #onIdle: (() => void) | undefined;

  begin(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onIdle?.();
    });
  }

  /** Resolves when nothing is under way any more; what is not done in time is cut off. */
  async idle(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
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
