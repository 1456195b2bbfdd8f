import { memoryLimits } from '../../limits.ts';
import { badOption } from '../../options.ts';

/** How many of the last requests count. */
const SPAN = 10;
/** Ratios outside this range are not believed. */
const [LEAST, MOST] = [0.25, 4];

/** The calibration of one model. */
export interface Learned {
  /** The provider's tokens for each token of the counter. */
  readonly ratio: number;
  /** The number of requests that it was learned from. */
  readonly samples: number;
}

/** Learns, model by model, how a provider's real counts compare with our estimates: a bounded moving average. */
export class Calibration {
  readonly #learned = new Map<string, Learned>();

  /** Continues from the data of `learned`. */
  constructor(learned: Readonly<Record<string, Learned>> = {}) {
    for (const [model, known] of Object.entries(learned)) {
      if (!isLearned(known))
        throw badOption(`what Calibration learned of ${model}`, 'a ratio and a number of samples', known);
      this.#learned.set(model, { ratio: bounded(known.ratio), samples: known.samples });
    }
  }

  /** Compares the provider's count of a request with its estimate. Unknown sizes are ignored. */
  learn(model: string, { estimated, real }: { readonly estimated: number; readonly real: number }): void {
    if (!(estimated > 0) || !(real > 0)) return;
    const { ratio, samples } = this.#learned.get(model) ?? { ratio: 0, samples: 0 };
    const next = Math.min(SPAN, samples + 1);
    if (samples === 0 && this.#learned.size >= memoryLimits.models) this.#learned.clear();
    this.#learned.set(model, { ratio: ratio + (bounded(real / estimated) - ratio) / next, samples: next });
  }

  /** Real tokens for each estimated one; 1 while nothing is known. */
  ratio(model: string): number {
    return this.#learned.get(model)?.ratio ?? 1;
  }

  /** Converts an estimate to real tokens. */
  toReal(model: string, estimated: number): number {
    return Math.round(estimated * this.ratio(model));
  }

  /** The ratios of all models as plain data, for a snapshot. */
  learned(): Record<string, Learned> {
    return Object.fromEntries(this.#learned);
  }
}

const bounded = (ratio: number): number => Math.min(MOST, Math.max(LEAST, ratio));

function isLearned(value: unknown): value is Learned {
  const { ratio = 0, samples = 0 } = (value ?? {}) as Partial<Learned>;
  return ratio > 0 && Number.isFinite(ratio) && Number.isInteger(samples) && samples > 0;
}
