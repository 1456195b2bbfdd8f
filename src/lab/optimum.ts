import type { SentRequest } from './simulate.ts';

/** A result that may be masked: from which request on, its position, and the tokens saved. */
export interface Candidate {
  /** The first request that may mask it, counted from 1. */
  readonly from: number;
  /** The tokens before it, with nothing masked. */
  readonly position: number;
  /** The tokens that its mask saves in each later request. */
  readonly gain: number;
}

/** The facts about a context that a schedule needs. */
export interface OptimumInput {
  /** The size of each request with nothing masked; the first is request 1. */
  readonly sizes: readonly number[];
  /** The results that may be masked, in the order of the history. */
  readonly candidates: readonly Candidate[];
  /** The price of a cached token, as a multiple of the base price. */
  readonly read: number;
  /** The price of a token that is not cached, as a multiple of the base price. */
  readonly write: number;
  /** Requests up to this one were billed before. The next one finds nothing in the cache. */
  readonly billedBefore: number;
  /** The tokens of the first billed request that were read from the cache. */
  readonly cachedAtStart?: number | undefined;
  /** Whether the cache has expired before this request. */
  isColdAt(request: number): boolean;
}

/** The best schedule. */
export interface Optimum {
  /** The cost of all requests, in tokens at the base price. */
  readonly cost: number;
  /** The requests at which everything eligible is masked. */
  readonly epochs: readonly number[];
}

/**
 * The cheapest schedule with the future known, in which each epoch masks everything then eligible.
 * The cost of a stretch between two epochs depends only on its two ends, so this is a shortest path over the requests.
 */
export function optimum(input: OptimumInput): Optimum {
  const { sizes } = input;
  const last = sizes.length;
  const masked = gainsUpTo(input);
  const best = new Array<number>(last + 1).fill(Number.POSITIVE_INFINITY);
  const before = new Array<number>(last + 1).fill(0);
  best[0] = 0;
  let end = { cost: Number.POSITIVE_INFINITY, at: 0 };
  for (let from = 0; from <= last; from++) {
    if (best[from] === Number.POSITIVE_INFINITY) continue;
    const stretch = new Stretch(input, masked, from);
    let cost = best[from] as number;
    for (let request = from + 1; request <= last; request++) {
      const change = stretch.firstChange(request);
      if (change !== undefined) {
        const withEpoch =
          cost + stretch.bill(request, change, (sizes[request - 1] as number) - (masked[request] as number));
        if (withEpoch < (best[request] as number)) {
          best[request] = withEpoch;
          before[request] = from;
        }
      }
      cost += stretch.bill(request, Number.POSITIVE_INFINITY, stretch.size(request));
    }
    if (cost < end.cost) end = { cost, at: from };
  }
  const epochs: number[] = [];
  for (let at = end.at; at > 0; at = before[at] as number) epochs.unshift(at);
  return { cost: end.cost, epochs };
}

/** The tokens saved at each request if everything eligible is masked. */
function gainsUpTo({ sizes, candidates }: OptimumInput): number[] {
  const gains = new Array<number>(sizes.length + 1).fill(0);
  for (const { from, gain } of candidates) if (from <= sizes.length) gains[from] = (gains[from] as number) + gain;
  for (let i = 1; i < gains.length; i++) gains[i] = (gains[i] as number) + (gains[i - 1] as number);
  return gains;
}

/** The requests after an epoch, up to the next one. */
class Stretch {
  readonly #input: OptimumInput;
  readonly #gain: number;
  /** The results that are not masked yet, in the order in which they become eligible, with their current positions. */
  readonly #waiting: { readonly from: number; readonly position: number }[] = [];
  #next = 0;
  #first: number | undefined;

  constructor(input: OptimumInput, masked: readonly number[], epoch: number) {
    this.#input = input;
    this.#gain = masked[epoch] as number;
    let hidden = 0;
    for (const { from, position, gain } of input.candidates) {
      if (from <= epoch) hidden += gain;
      else this.#waiting.push({ from, position: position - hidden });
    }
    this.#waiting.sort((a, b) => a.from - b.from);
  }

  size(request: number): number {
    return request === 0 ? 0 : (this.#input.sizes[request - 1] as number) - this.#gain;
  }

  /** The position of the first change of an epoch at this request. Must be called for one request after the other. */
  firstChange(request: number): number | undefined {
    for (; this.#next < this.#waiting.length; this.#next++) {
      const { from, position } = this.#waiting[this.#next] as { from: number; position: number };
      if (from > request) break;
      this.#first = Math.min(this.#first ?? position, position);
    }
    return this.#first;
  }

  bill(request: number, change: number, size: number): number {
    const { read, write, billedBefore, cachedAtStart = 0, isColdAt } = this.#input;
    if (request <= billedBefore) return 0;
    const held = request === billedBefore + 1 ? cachedAtStart : Math.min(change, this.size(request - 1));
    const cached = isColdAt(request) ? 0 : Math.min(held, size);
    return read * cached + write * (size - cached);
  }
}

/** The requests of a schedule, in the form of `simulate`. */
export function requestsOf(input: OptimumInput, epochs: readonly number[]): SentRequest[] {
  const masked = gainsUpTo(input);
  const requests: SentRequest[] = [];
  let stretch = new Stretch(input, masked, 0);
  for (let request = 1; request <= input.sizes.length; request++) {
    const change = stretch.firstChange(request);
    const isEpoch = epochs.includes(request);
    const previous = stretch.size(request - 1);
    if (isEpoch) stretch = new Stretch(input, masked, request);
    const size = stretch.size(request);
    const cached = isEpoch ? Math.min(change ?? previous, previous) : previous;
    if (request > input.billedBefore)
      // The text of the last turn is sent for the first time.
      requests.push({
        size,
        cached: request === input.billedBefore + 1 ? (input.cachedAtStart ?? 0) : cached,
        isEpoch: isEpoch && cached < previous,
      });
  }
  return requests;
}
