import { isRecord } from '../../formats/lens.ts';
import type { Usage } from '../run.ts';
import type { Fields } from './json-values.ts';

/** The fields of a usage: `uncached` does not include `read` and `written`, `prompt` does. */
interface Counts {
  readonly prompt?: unknown;
  readonly uncached?: unknown;
  readonly read?: unknown;
  readonly written?: unknown;
  readonly output?: unknown;
  readonly cacheLifeMs?: number | undefined;
}

/** A usage, or undefined if the prompt has no tokens: a request that failed or was cancelled has a usage of zeros. */
export function toUsage({ prompt, uncached, read, written, output, cacheLifeMs }: Counts): Usage | undefined {
  const cached = tokens(read);
  const all = prompt === undefined ? tokens(uncached) + cached + tokens(written) : tokens(prompt);
  if (all === 0) return undefined;
  return { prompt: all, cached: Math.min(cached, all), output: tokens(output), cacheLifeMs };
}

const tokens = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;

export const fieldsOf = (value: unknown): Fields => (isRecord(value) ? (value as Fields) : {});

/** A usage as the Messages API writes it. */
export function anthropicUsage(usage: unknown): Usage | undefined {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens, ...more } =
    fieldsOf(usage);
  return toUsage({
    uncached: input_tokens,
    read: cache_read_input_tokens,
    written: cache_creation_input_tokens,
    output: output_tokens,
    cacheLifeMs: lifeOf(fieldsOf(more.cache_creation)),
  });
}

function lifeOf({ ephemeral_1h_input_tokens: hour, ephemeral_5m_input_tokens: minutes }: Fields): number | undefined {
  const [long, short] = [tokens(hour), tokens(minutes)];
  if (long + short === 0) return undefined;
  return long > short ? 3_600_000 : 300_000;
}

/** A usage as the Chat Completions and Responses APIs write it. */
export function openaiUsage(usage: unknown): Usage | undefined {
  const { prompt_tokens, input_tokens, completion_tokens, output_tokens, ...more } = fieldsOf(usage);
  return toUsage({
    prompt: prompt_tokens ?? input_tokens ?? 0,
    read: fieldsOf(more.prompt_tokens_details ?? more.input_tokens_details).cached_tokens,
    output: completion_tokens ?? output_tokens,
  });
}

/** A usage of either API. Only Anthropic's counts cached tokens separately from the others. */
export const usageOf = (usage: unknown): Usage | undefined =>
  fieldsOf(usage).cache_read_input_tokens === undefined ? openaiUsage(usage) : anthropicUsage(usage);
