import { type Eligible, eligibleIn, type Observation, type RequestView, type Step } from '../policy.ts';

/** Results that could be masked and wait until it is worth it. */
export interface Pile {
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
  readonly revision: number;
}

export const emptyPile = (): Pile => ({ from: 0, to: 0, tokens: 0, revision: 0 });

/** Takes in the results up to `end`. The sum is recomputed where sizes changed or the end moved back. */
export function growPile(pile: Pile, request: RequestView, end: number, eligible: Eligible): Pile {
  const { revision } = request;
  const from = Math.max(pile.from, request.frontier);
  const to = Math.max(from, end);
  if (revision !== pile.revision || to < pile.to || from > pile.to) {
    return { from, to, revision, tokens: sum(request, from, to, eligible) };
  }
  return { ...pile, to, tokens: pile.tokens + sum(request, pile.to, to, eligible) };
}

function sum(request: RequestView, from: number, to: number, eligible: Eligible): number {
  let tokens = 0;
  for (let i = from; i < to; i++) {
    const observation = request.observations[i] as Observation;
    if (eligible(observation, request)) tokens += observation.tokens;
  }
  return tokens;
}

/** Masks the whole pile. */
export function clearPile(pile: Pile, request: RequestView, eligible: Eligible, because: string): Step<Pile> {
  const mask = eligibleIn(pile.from, pile.to, request, eligible);
  const state = { ...pile, from: pile.to, tokens: 0 };
  return { state, mask, because: { act: 'mask', because, tokens: pile.tokens } };
}
