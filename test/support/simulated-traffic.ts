import { listPrices } from '../../src/money/price-book.ts';
import { dollarsAt } from '../../src/report/dollars.ts';
import type { Arm, RequestRecord } from '../../src/report/request-record.ts';

/** The effect of masking in a simulated world. */
export interface Effect {
  /** Part of a long prompt that masks hide. */
  readonly hides: number;
  /** Treated sessions have this many times the requests. */
  readonly lengthens: number;
  /** Added to the chance that a tool result is a failure, and that a session ends without an answer. */
  readonly harms: number;
}

export const NO_EFFECT: Effect = { hides: 0, lengthens: 1, harms: 0 };

/** The number of requests of a session. */
export type Lengths = (random: () => number) => number;

export const lengths: Readonly<Record<'lognormal' | 'wide lognormal' | 'Pareto' | 'rare giants', Lengths>> = {
  lognormal: (random) => 12 * Math.exp(0.8 * normal(random)),
  'wide lognormal': (random) => 10 * Math.exp(1.2 * normal(random)),
  Pareto: (random) => 5 * (1 - random()) ** (-1 / 1.8),
  /** One session in fifty costs hundreds of times as much as the others. */
  'rare giants': (random) => (random() < 0.02 ? 600 : 6 * Math.exp(0.5 * normal(random))),
};

export interface SessionSpec {
  readonly seed: number;
  readonly arm: Arm;
  readonly effect: Effect;
  readonly lengths: Lengths;
  /** Start, in milliseconds since the epoch. */
  readonly at: number;
  /** The share of sessions that was held out then. 0: the session was not drawn. */
  readonly holdout?: number;
}

/** Two agents: one on an expensive model whose tokens the gateway counts too low, one on a cheap model it counts too high. */
const AGENTS = [
  { model: 'claude-opus-5', base: 18_000, counted: 0.9 },
  { model: 'claude-haiku-4-5', base: 7000, counted: 1.08 },
] as const;

/** List prices know both models. */
export const dollarsOf = dollarsAt(listPrices);

const PRICES = { name: 'anthropic-5m', read: 0.1, write: 1.25 };
/** The agent shortens its history by itself at this size. */
const COMPACTS_AT = 170_000;
/** Shorter prompts are not masked. */
const MASKS_FROM = 25_000;

/** The requests of one session. The same seed gives the same session in either arm, except for the effect. */
export function simulateSession({ seed, arm, effect, lengths, at, holdout = 0.1 }: SessionSpec): RequestRecord[] {
  const random = createRandom(seed);
  const isTreated = arm === 'treated';
  const { hides, lengthens, harms } = isTreated ? effect : NO_EFFECT;
  const agent = AGENTS[random() < 0.3 ? 0 : 1];
  const count = Math.max(1, Math.min(600, Math.round(lengths(random) * lengthens)));
  const counted = agent.counted * Math.exp(0.12 * normal(random));
  const failing = 0.02 + 0.1 * random() + harms;
  const gives = random() < 0.12 + harms;
  const records: RequestRecord[] = [];
  let [prompt, sentBefore] = [0, 0];
  for (let i = 0; i < count; i++) {
    const added = i === 0 ? agent.base : 1500 * Math.exp(0.9 * normal(random));
    const isCold = i === 0 || random() < 0.01;
    const [isLost, isFailed, isRepeated, output] = [random() < 0.01, random() < failing, random() < 0.03, random()];
    const before = prompt;
    prompt = prompt + added > COMPACTS_AT ? agent.base : prompt + added;
    const masked = prompt > MASKS_FROM ? hides * (prompt - agent.base) : 0;
    // An epoch at times: the prompt after the first new mask is written again.
    const kept = isCold || prompt < before || (hides > 0 && i % 25 === 24) ? 0 : Math.min(sentBefore, prompt - masked);
    const sent = { cached: Math.round(kept), written: Math.round(prompt - masked - kept) };
    const expectedKept = i === 0 || prompt < before ? 0 : before;
    const without = scaled({ cached: expectedKept, written: prompt - expectedKept }, counted);
    records.push({
      id: `${seed}-${i}`,
      at: at + i * 20_000,
      session: `s${seed}`,
      conversation: `c${seed}`,
      arm,
      ...(holdout > 0 ? { holdoutShare: holdout } : {}),
      api: 'anthropic',
      model: agent.model,
      prices: PRICES,
      status: isLost ? 529 : 200,
      act: masked > 0 ? 'mask' : 'wait',
      masked: masked > 0 ? Math.round(i / 2) : 0,
      newMasks: 0,
      ...(isLost ? {} : { billed: { ...sent, output: Math.round(100 + 600 * output) } }),
      expected: { sent: scaled(sent, counted), without },
      without: isTreated && hides > 0 ? scaled({ cached: kept + masked, written: sent.written }, 1) : sent,
      signs: {
        results: i === 0 ? 0 : 1,
        failed: i > 0 && isFailed ? 1 : 0,
        repeated: i > 0 && isRepeated ? 1 : 0,
        recalls: isTreated && i > 20 && isRepeated ? 1 : 0,
        isFinal: i === count - 1 && !gives,
      },
    });
    sentBefore = prompt - masked;
  }
  return records;
}

const scaled = ({ cached, written }: { cached: number; written: number }, by: number) => ({
  cached: Math.round(cached * by),
  written: Math.round(written * by),
});

export interface TrafficSpec extends Pick<SessionSpec, 'effect' | 'lengths'> {
  readonly seed: number;
  readonly sessions: number;
  /** Share of sessions that is held out. */
  readonly holdout: number;
  /** Start of the first session, and the time from one to the next. */
  readonly at: number;
  readonly everyMs: number;
}

/** Sessions one after the other, with arms by chance. */
export function simulateTraffic({ seed, sessions, holdout, at, everyMs, ...spec }: TrafficSpec): RequestRecord[] {
  const random = createRandom(seed);
  return Array.from({ length: sessions }, (_, i) =>
    simulateSession({
      ...spec,
      seed: seed * 1_000_003 + i,
      arm: random() < holdout ? 'held-out' : 'treated',
      holdout,
      at: at + i * everyMs,
    }),
  ).flat();
}

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Mulberry32: the same numbers for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
