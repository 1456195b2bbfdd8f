import { cl100k, o200k } from '../../adapters/tokens.ts';
import { NOTHING_MASKED } from '../../lab/compare.ts';
import { logReaders } from '../../lab/readers/detect-run-format.ts';
import type { FileSetting } from '../../lab/replay-file.ts';
import { readPrices, readReplayPolicy } from '../../lab/replay-policy.ts';
import { createPriceBook, type OwnModelPrices } from '../../money/index.ts';
import { badOption } from '../../options.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';

/** A replay request as plain data that can be sent to a worker. */
export interface ReplayRequest {
  readonly policies: readonly string[];
  /** Empty: each run has the prices of its own model. */
  readonly prices: readonly string[];
  /** Prices of models from a file of the user. */
  readonly modelPrices?: OwnModelPrices | undefined;
  /** Whether sizes follow the usage in the logs. False if not given. */
  readonly usage?: boolean | undefined;
  /** The most requests that keep the cache alive in a pause. */
  readonly keepWarm?: number | undefined;
  /** Whether to price recalls. */
  readonly recalls?: boolean | undefined;
  readonly counter: string;
  readonly systemTokens: number;
  readonly contextLimit: number | undefined;
  readonly cacheLife: 'endless' | 'listed' | number;
  readonly format: string | undefined;
  readonly keepSchedules: boolean;
}

const counters: Readonly<Record<string, Counter>> = {
  chars: (text) => text.length / 4,
  default: countTokens,
  o200k,
  cl100k,
};

export function settingOf(request: ReplayRequest): FileSetting {
  const counter = Object.hasOwn(counters, request.counter) ? counters[request.counter] : undefined;
  if (!counter) throw badOption('--counter', `one of ${Object.keys(counters).join(', ')}`, request.counter);
  const format = logReaders.find((reader) => reader.format === request.format)?.format;
  if (request.format !== undefined && format === undefined)
    throw badOption('--format', `one of ${logReaders.map((reader) => reader.format).join(', ')}`, request.format);
  // A counter that lacks its package says so now, not once for every file.
  counter('');
  const { systemTokens, contextLimit, cacheLife, keepSchedules, usage, keepWarm, recalls } = request;
  return {
    counter,
    policies: [...new Set([NOTHING_MASKED, ...request.policies])].map(readReplayPolicy),
    prices: request.prices.map(readPrices),
    systemTokens,
    contextLimit,
    cacheLife,
    usage,
    keepWarm,
    recalls,
    book: createPriceBook(request.modelPrices),
    format,
    keepSchedules,
  };
}
