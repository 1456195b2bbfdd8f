import { createRequire } from 'node:module';
import { PalimpsestError } from '../errors.ts';
import type { Counter } from '../tokens/counter.ts';
import { cutRuns } from '../tokens/cut-runs.ts';

export { countTokens } from '../tokens/count-tokens.ts';
export type { Counter } from '../tokens/counter.ts';
export { estimateTokens } from '../tokens/estimate-tokens.ts';

interface Encoding {
  countTokens(text: string, options: { disallowedSpecial: ReadonlySet<string> }): number;
}

/** Exact counts of GPT-4o, GPT-4.1, GPT-5 and the o-series. Needs the optional peer `gpt-tokenizer`. */
export const o200k: Counter = exact('o200k_base');

/** Exact counts of GPT-4 and GPT-3.5. Needs the optional peer `gpt-tokenizer`. */
export const cl100k: Counter = exact('cl100k_base');

/** Loads its vocabulary on the first count. Special tokens in a text are counted as plain text. */
function exact(name: string): Counter {
  let encoding: Encoding | undefined;
  return (text) => {
    encoding ??= load(name);
    let tokens = 0;
    for (const piece of cutRuns(text)) tokens += encoding.countTokens(piece, TEXT_ONLY);
    return tokens;
  };
}

const TEXT_ONLY = { disallowedSpecial: new Set<string>() };

function load(name: string): Encoding {
  try {
    return createRequire(import.meta.url)(`gpt-tokenizer/encoding/${name}`);
  } catch (cause) {
    const message = `Expected the package gpt-tokenizer for exact ${name} counts but could not load it; npm install gpt-tokenizer`;
    throw new PalimpsestError('MISSING_PEER', message, { cause });
  }
}
