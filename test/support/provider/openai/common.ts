import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { defaultContextWindow } from '../../../../src/budget.ts';
import { type Prices, priceLists, pricesOf } from '../../../../src/plan/prices.ts';
import { sizeMedia } from '../../../../src/tokens/media.ts';
import type { Charge } from '../bill.ts';
import type { ProviderState } from '../exchange.ts';
import { asText, type Fields, isFields } from '../json.ts';
import { measure, type PromptBlock } from '../prompt.ts';
import { Rejection } from '../rejection.ts';

export function checkKey({ authorization }: IncomingHttpHeaders): void {
  if (/^Bearer \S+$/.test(authorization ?? '')) return;
  throw new Rejection(
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
      "(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API " +
      'from your browser and are prompted for a username and password. You can obtain an API key from ' +
      'https://platform.openai.com/account/api-keys.',
    { status: 401 },
  );
}

const STEP_TOKENS = 128;

interface ToCharge {
  readonly model: string;
  readonly blocks: readonly PromptBlock[];
  readonly completion: number;
  readonly tooLong: (tokens: number, limit: number) => Rejection;
}

/** Measures a prompt, asks the cache, and says what it costs. */
export function chargeFor(
  { model, blocks, completion, tooLong }: ToCharge,
  { automatic, now, contextTokens }: ProviderState,
): Charge {
  const prompt = measure(model, blocks);
  const limit = contextTokens ?? defaultContextWindow(model);
  if (prompt.tokens > limit) throw tooLong(prompt.tokens, limit);
  const prices: Prices = pricesOf(model) ?? priceLists['gpt-5'];
  const { leastTokens, lifeMs } = prices;
  const rules = { leastTokens, lifeMs, stepTokens: STEP_TOKENS };
  return { model, prompt: prompt.tokens, split: automatic.take(prompt, { now: now(), rules }), completion, prices };
}

/** What the cache wrote is only told where it is billed. */
export function cacheDetails({ split, prices }: Charge): Fields {
  const written = split.written.reduce((sum, { tokens }) => sum + tokens, 0);
  return { cached_tokens: split.read, ...(prices.write > 1 ? { cache_write_tokens: written } : {}) };
}

/** The text of content parts, and the size of what is not text. */
export function readParts(content: unknown): PromptBlock {
  if (typeof content === 'string') return { text: content };
  let mediaTokens = 0;
  const texts = (Array.isArray(content) ? content : []).filter(isFields).map((part: Fields) => {
    const image = isFields(part.image_url) ? part.image_url.url : part.image_url;
    if (image === undefined) return asText(part.text ?? part.refusal);
    mediaTokens += sizeMedia('openai', 'image', image).tokens;
    return `${asText(image).length} ${asText(image).slice(-16)}`;
  });
  return { text: texts.join('\n'), ...(mediaTokens > 0 ? { mediaTokens } : {}) };
}

/** Encrypts, as far as a test needs it: nobody can write such a text without the secret. */
export function seal(content: unknown, secret: string): string {
  const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `gAAAA${payload}.${createHmac('sha256', secret).update(payload).digest('base64url')}`;
}

export function unseal(text: string, secret: string): Fields | undefined {
  const [payload = '', mac = ''] = text.replace(/^gAAAA/, '').split('.');
  if (createHmac('sha256', secret).update(payload).digest('base64url') !== mac) return undefined;
  return JSON.parse(Buffer.from(payload, 'base64url').toString());
}
