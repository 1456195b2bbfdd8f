import { PalimpsestError } from '../../../errors.ts';
import { isHandle, type Problem, type Stored } from '../../store.ts';
import type { EmbeddedOptions } from '../embedded-options.ts';
import type { Generation } from '../generation.ts';
import { openToRead, PATIENCE, rebuilding } from '../open-generation.ts';
import { DamagedPage } from '../pages.ts';

/** The generation that a store uses now, and how it is read, also while another process writes to it. */
export class GenerationInUse {
  generation: Generation;
  /** Changes with every deletion by this process, and when it takes back a lock that it had lost. */
  deletions = 0;
  readonly mode: 'read' | 'write';
  readonly #options: EmbeddedOptions;
  /** The number of texts that a reader may read before it looks for new records. */
  #trusted = 0;

  constructor(options: EmbeddedOptions, generation: Generation) {
    this.#options = options;
    this.mode = options.mode;
    this.generation = generation;
  }

  now(): number {
    return (this.#options.limits?.now ?? Date.now)();
  }

  replace(next: Generation): void {
    this.generation.retire();
    this.generation = next;
  }

  read<T>(look: (generation: Generation) => T): T {
    return this.mode === 'write' ? rebuilding(this.generation, look) : this.#readWhileWritten(look);
  }

  /**
   * Reads while another process writes. It first applies the writer's new records, so acknowledged texts are found and deleted
   * ones are not. If the writer has replaced a page since, the index is read again.
   */
  #readWhileWritten<T>(look: (generation: Generation) => T): T {
    for (let attempt = 0; ; attempt++) {
      try {
        while (!this.generation.follow()) this.#reload();
        return look(this.generation);
      } catch (error) {
        if (!(error instanceof DamagedPage)) throw error;
        if (attempt >= PATIENCE) return rebuilding(this.generation, look);
        this.#reload();
      }
    }
  }

  #reload(): void {
    this.replace(openToRead(this.#options));
  }

  /** Throws if the text is not found and may be in a damaged part of the log. */
  get(handle: string): Stored | undefined {
    const found = this.find(handle);
    if (!found && isHandle(handle)) this.read(({ unreadable }) => checkMissing(handle, unreadable));
    return found;
  }

  /**
   * Finds a text. Checking for new records costs nearly as much as reading a text. So the check is skipped for the next few reads
   * in the same turn of the event loop, unless a text is not found.
   */
  find(handle: string): Stored | undefined {
    const mayLookAtOnce = this.mode === 'write' || this.#trusted > 0;
    const found = mayLookAtOnce ? this.#findNow(handle) : undefined;
    if (found) return found;
    if (!mayLookAtOnce) this.#trust();
    return this.read(({ catalogue }) => catalogue.texts.find(handle));
  }

  #findNow(handle: string): Stored | undefined {
    this.#trusted -= 1;
    try {
      return this.generation.catalogue.texts.find(handle);
    } catch {
      // The error may come from outdated data. The caller checks for new records and tries again.
      return undefined;
    }
  }

  #trust(): void {
    this.#trusted = MOST_TRUSTED;
    process.nextTick(() => (this.#trusted = 0));
  }
}

const MOST_TRUSTED = 256;

/** Throws if unreadable bytes of the log may have held this text. No index points to records in them. */
function checkMissing(handle: string, unreadable: Problem | undefined): void {
  if (!unreadable) return;
  const text = `Expected the text of ${handle} but did not find it, and there are ${unreadable.what} that may have held it`;
  throw new PalimpsestError('STORE_DAMAGED', `${text}; palimpsest store gc --repair gives them up`);
}
