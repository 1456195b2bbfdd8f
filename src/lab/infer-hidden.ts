import type { ReplyFacts } from './run.ts';

/** The part of a prompt that the usage counts and the log does not show. */
export interface Inferred {
  /** The tokens of each request that are not in the log: system prompt, tools, thinking. Never negative. */
  readonly hiddenTokens: number;
  /** The provider's tokens for each token of the counter. */
  readonly scale: number;
  /** The tokens of the first request that were read from the cache, in the hidden part. */
  readonly cachedAtStart: number;
  /** The number of requests with a usage. */
  readonly requests: number;
  /** The prompts of those requests, as the provider counted them. */
  readonly countedTokens: number;
  /** The same by the fit. */
  readonly replayedTokens: number;
}

/** The requests of one context. */
export interface LoggedRequests {
  /** The visible tokens of each request by the counter, with nothing masked. */
  readonly sizes: readonly number[];
  /** The model and the usage of each reply, in the order of the replies. */
  readonly replies: readonly ReplyFacts[];
  /** Replies whose requests belong to the previous context. */
  readonly carriedTurns: number;
}

/**
 * Fits `prompt = hidden + scale * size` to the usage of a context. Both are medians, so a few requests with other
 * hidden text (a picture, a reminder, a missing or wrong usage) change little. Text that is hidden in every turn, such as
 * thinking, counts in `hidden` with its size in the middle of the context. Undefined without any usage.
 */
export function inferHidden({ sizes, replies, carriedTurns }: LoggedRequests): Inferred | undefined {
  const points: Point[] = [];
  for (const [i, { usage }] of replies.entries()) {
    const size = sizes[i];
    if (usage && size !== undefined && i >= carriedTurns) points.push({ size, prompt: usage.prompt });
  }
  if (points.length === 0) return undefined;
  const { hiddenTokens, scale } = fit(points);
  return {
    hiddenTokens,
    scale,
    cachedAtStart: Math.min(hiddenTokens, replies[carriedTurns]?.usage?.cached ?? 0),
    requests: points.length,
    countedTokens: points.reduce((sum, { prompt }) => sum + prompt, 0),
    replayedTokens: points.reduce((sum, { size }) => sum + hiddenTokens + scale * size, 0),
  };
}

interface Point {
  readonly size: number;
  readonly prompt: number;
}

/** Tokens of a model per token of a counter: Chinese has about 4 for characters / 4. */
const LEAST_SCALE = 0.5;
const MOST_SCALE = 4;
/** A smaller difference of text says little about the scale. */
const LEAST_GROWTH = 100;

function fit(points: readonly Point[]): Pick<Inferred, 'hiddenTokens' | 'scale'> {
  // Text that is hidden in every turn adds to the growth of the prompt, so the growth alone gives too high a scale.
  const scales = [slope(stepsOf(points)), slope(points)].filter((scale) => scale !== undefined);
  const scale = scales.length === 0 ? 1 : bounded(Math.min(...scales));
  const hiddenTokens = median(points.map(({ size, prompt }) => prompt - scale * size));
  if (hiddenTokens >= 0) return { hiddenTokens, scale };
  const ratios = points.map(({ size, prompt }) => ({ value: prompt / size, weight: size }));
  return { hiddenTokens: 0, scale: bounded(weightedMedian(ratios) ?? 1) };
}

const bounded = (scale: number): number => Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale));

/** The growth of each request, the smallest first. A constant hidden part cancels out between two requests. */
function stepsOf(points: readonly Point[]): Point[] {
  return points
    .slice(1)
    .map((point, i) => difference(point, points[i] as Point))
    .sort((a, b) => a.size - b.size);
}

/** The upper half of a sorted list against the lower half. Large differences count more, but none decides alone. */
function slope(points: readonly Point[]): number | undefined {
  const half = Math.ceil(points.length / 2);
  const differences = points.slice(half).map((point, i) => difference(point, points[i] as Point));
  return weightedMedian(
    differences
      .filter(({ size }) => size >= LEAST_GROWTH)
      .map(({ size, prompt }) => ({ value: prompt / size, weight: Math.sqrt(size) })),
  );
}

const difference = (a: Point, b: Point): Point => ({ size: a.size - b.size, prompt: a.prompt - b.prompt });

interface Weighted {
  readonly value: number;
  readonly weight: number;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1] as number, sorted[sorted.length >> 1] as number];
  return (low + high) / 2;
}

/** Half of the weight is on values up to this one. Undefined without any weight. */
function weightedMedian(values: readonly Weighted[]): number | undefined {
  const sorted = values.filter(({ weight }) => weight > 0).sort((a, b) => a.value - b.value);
  let left = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  for (const { value, weight } of sorted) {
    left -= weight;
    if (left <= 0) return value;
  }
  return undefined;
}
