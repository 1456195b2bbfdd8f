import { hash } from 'node:crypto';
import { countTokens } from '../../../src/tokens/count-tokens.ts';

/** A piece of a prompt as the cache sees it: a tool, a system block, a block of a message. */
export interface PromptBlock {
  /** Everything that the model sees of it. Equal words are equal blocks. */
  readonly text: string;
  /** Of what is not text. */
  readonly mediaTokens?: number;
  /** Where a cached prefix may end, and for how long it is kept. */
  readonly markMs?: number;
}

/** A prompt, measured. */
export interface Prompt {
  /** The digest and the size of each prefix that ends with a block. */
  readonly prefixes: readonly Prefix[];
  readonly tokens: number;
}

export interface Prefix {
  readonly digest: string;
  readonly tokens: number;
  readonly markMs?: number;
}

/** What the wire adds to every block: its type and its role. */
const BLOCK_TOKENS = 3;

/** Measures blocks and chains their digests, so that a digest stands for all before it too. */
export function measure(model: string, blocks: readonly PromptBlock[]): Prompt {
  let tokens = 0;
  let digest = model;
  const prefixes = blocks.map(({ text, mediaTokens = 0, markMs }): Prefix => {
    const own = readOnce(text);
    digest = hash('sha1', `${digest} ${own.digest}`, 'base64');
    tokens += BLOCK_TOKENS + mediaTokens + own.tokens;
    return { digest, tokens, ...(markMs === undefined ? {} : { markMs }) };
  });
  return { prefixes, tokens };
}

interface KnownText {
  readonly digest: string;
  readonly tokens: number;
}

const known = new Map<string, KnownText>();
const MOST_KNOWN = 20_000;

/** A conversation sends its history again and again. */
function readOnce(text: string): KnownText {
  const before = known.get(text);
  if (before) return before;
  if (known.size >= MOST_KNOWN) known.clear();
  const read = { digest: hash('sha1', text, 'base64'), tokens: countTokens(text) };
  known.set(text, read);
  return read;
}
