import type { TextFacts } from '../tokens/text-facts.ts';

export interface HandleOptions {
  /** Names a text, so that it can be recalled. */
  readonly handleOf?: ((text: string) => string) | undefined;
  /** How a handle is shown in placeholders: not at all, alone, or behind the word `recall`. */
  readonly show?: 'nothing' | 'handle' | 'recall' | undefined;
}

/** The names of texts, worked out once for each. */
export class Handles {
  readonly #options: HandleOptions;
  readonly #facts: (text: string) => TextFacts;

  constructor(options: HandleOptions, facts: (text: string) => TextFacts) {
    this.#options = options;
    this.#facts = facts;
  }

  of(text: string): string | undefined {
    return this.#options.handleOf && this.from(this.#facts(text), text);
  }

  /** The same for a text whose facts are at hand. */
  from(facts: TextFacts, text: string): string | undefined {
    const { handleOf } = this.#options;
    if (handleOf && facts.handleOf !== handleOf) {
      facts.handleOf = handleOf;
      facts.handle = handleOf(text);
    }
    return facts.handle;
  }

  /** A handle as a placeholder shows it: ` · recall p_…`, or nothing. */
  shown(text: string): string {
    const { show = 'nothing' } = this.#options;
    const handle = show === 'nothing' ? undefined : this.of(text);
    return handle === undefined ? '' : ` · ${show === 'recall' ? 'recall ' : ''}${handle}`;
  }
}
