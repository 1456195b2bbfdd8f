import { isRecord } from '../formats/lens.ts';

/** The token counts of a provider. `promptTokens` is the whole prompt, cached or not; 0 if it was not reported. */
export interface Usage {
  /** The whole prompt, cached or not; 0 if it was not reported. */
  readonly promptTokens: number;
  /** The answer, thinking included; 0 if it was not reported. */
  readonly completionTokens: number;
  /** The part of the prompt that was read from the cache. */
  readonly cachedTokens: number;
  /** The part of the prompt that was written to the cache. */
  readonly cacheWriteTokens: number;
}

type Fields = Record<string, unknown>;
type Reader = readonly [field: string, read: (usage: Fields) => Usage];

/**
 * Reads usage from a provider's response, an event of its stream, or the usage object itself: Ollama, OpenAI (both APIs)
 * and compatible servers, Anthropic, Bedrock, Gemini, the AI SDK, LangChain. Undefined if there is none.
 *
 * @example
 * ```ts
 * import { readUsage } from 'palimpsest/manager';
 *
 * const usage = readUsage({ usage: { input_tokens: 1200, output_tokens: 80, cache_read_input_tokens: 9000 } });
 * console.log(usage?.promptTokens); // 10200
 * ```
 */
export function readUsage(value: unknown): Usage | undefined {
  const usage = findUsage(value, 0);
  if (!usage) return undefined;
  return READERS.find(isReportedIn(usage))?.[1](usage);
}

/** Whether a usage object counts tokens that were written to the cache, apart from other input. Anthropic may write null for 0. */
export function tellsCacheWrites(usage: unknown): boolean {
  if (!isRecord(usage)) return false;
  const { prompt_tokens_details: chat, input_tokens_details: responses } = usage;
  return (
    usage.cache_creation_input_tokens !== undefined ||
    usage.cacheWriteInputTokens !== undefined ||
    [chat, responses].some((details) => isRecord(details) && typeof details.cache_write_tokens === 'number')
  );
}

/** Tokens that were written to the cache for an hour. Only Anthropic counts them separately. */
export function hourWritesIn(usage: unknown): number | undefined {
  const created = isRecord(usage) ? usage.cache_creation : undefined;
  return isRecord(created) && typeof created.ephemeral_1h_input_tokens === 'number'
    ? count(created.ephemeral_1h_input_tokens)
    : undefined;
}

/** The sum of two usages. Undefined if both are. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b;
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  };
}

/** The fields that may hold the usage of a response or an event, from the outside in. */
const PLACES = ['usage', 'totalUsage', 'usageMetadata', 'usage_metadata', 'message', 'response', 'tokenUsage'];
const DEEPEST = 3;

function findUsage(value: unknown, depth: number): Fields | undefined {
  if (!isRecord(value) || Array.isArray(value)) return undefined;
  if (READERS.some(isReportedIn(value))) return value;
  if (depth === DEEPEST) return undefined;
  for (const place of PLACES) {
    const found = findUsage(value[place], depth + 1);
    if (found) return found;
  }
  return undefined;
}

/** Whether a field holds a count, or its parts. Some servers write null in those that they do not fill. */
const isReportedIn =
  (usage: Fields) =>
  ([field]: Reader): boolean =>
    typeof usage[field] === 'number' || isRecord(usage[field]);

/** The field that identifies each form of usage, and its reader. The first field that exists decides. */
const READERS: readonly Reader[] = [
  ['promptTokenCount', fromGemini],
  ['prompt_eval_count', fromOllama],
  ['eval_count', fromOllama],
  ['input_token_details', fromLangChain],
  ['prompt_tokens', fromOpenAIChat],
  ['input_tokens', fromInputTokens],
  ['inputTokens', fromAiSdk],
  ['promptTokens', fromOwn],
  ['output_tokens', fromInputTokens],
  ['outputTokens', fromAiSdk],
  ['candidatesTokenCount', fromGemini],
];

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
const part = (value: unknown, name: string): number => (isRecord(value) ? count(value[name]) : 0);

function fromOllama(usage: Fields): Usage {
  return {
    promptTokens: count(usage.prompt_eval_count),
    completionTokens: count(usage.eval_count),
    cachedTokens: 0,
    cacheWriteTokens: 0,
  };
}

/** `prompt_tokens` includes cached tokens. DeepSeek has its own name for that part. */
function fromOpenAIChat(usage: Fields): Usage {
  const details = usage.prompt_tokens_details;
  return {
    promptTokens: count(usage.prompt_tokens),
    completionTokens: count(usage.completion_tokens),
    cachedTokens: part(details, 'cached_tokens') || count(usage.prompt_cache_hit_tokens),
    cacheWriteTokens: part(details, 'cache_write_tokens'),
  };
}

/** Anthropic counts cached tokens apart from `input_tokens`, the Responses API counts them in it. */
function fromInputTokens(usage: Fields): Usage {
  const [read, written] = [count(usage.cache_read_input_tokens), count(usage.cache_creation_input_tokens)];
  return {
    promptTokens: count(usage.input_tokens) + read + written,
    completionTokens: count(usage.output_tokens),
    cachedTokens: read || part(usage.input_tokens_details, 'cached_tokens'),
    cacheWriteTokens: written || part(usage.input_tokens_details, 'cache_write_tokens'),
  };
}

function fromLangChain(usage: Fields): Usage {
  return {
    promptTokens: count(usage.input_tokens),
    completionTokens: count(usage.output_tokens),
    cachedTokens: part(usage.input_token_details, 'cache_read'),
    cacheWriteTokens: part(usage.input_token_details, 'cache_creation'),
  };
}

/** The AI SDK's results count in numbers, its providers in parts. Bedrock has the same names and counts the cache apart. */
function fromAiSdk(usage: Fields): Usage {
  const { inputTokens, outputTokens, inputTokenDetails: details } = usage;
  const [read, written] = [count(usage.cacheReadInputTokens), count(usage.cacheWriteInputTokens)];
  return {
    promptTokens: (count(inputTokens) || part(inputTokens, 'total')) + read + written,
    completionTokens: count(outputTokens) || part(outputTokens, 'total'),
    cachedTokens:
      read || part(inputTokens, 'cacheRead') || part(details, 'cacheReadTokens') || count(usage.cachedInputTokens),
    cacheWriteTokens: written || part(inputTokens, 'cacheWrite') || part(details, 'cacheWriteTokens'),
  };
}

/** Thoughts are output. Text that Google's own tools add counts as prompt. */
function fromGemini(usage: Fields): Usage {
  return {
    promptTokens: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    completionTokens: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
    cachedTokens: count(usage.cachedContentTokenCount),
    cacheWriteTokens: 0,
  };
}

function fromOwn(usage: Fields): Usage {
  return {
    promptTokens: count(usage.promptTokens),
    completionTokens: count(usage.completionTokens),
    cachedTokens: count(usage.cachedTokens),
    cacheWriteTokens: count(usage.cacheWriteTokens),
  };
}
