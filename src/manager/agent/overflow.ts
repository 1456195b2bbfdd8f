import { asString, isRecord } from '../../formats/lens.ts';

/** How a provider reports that a request does not fit: its words, and the pattern that recognises them. */
interface OverflowWords {
  readonly provider: string;
  readonly says: string;
  readonly pattern: RegExp;
}

/** The texts of the providers. Ollama reports nothing: it cuts the prompt, and only its usage shows that. */
export const overflowTable: readonly OverflowWords[] = [
  {
    provider: 'Anthropic',
    says: 'prompt is too long: 213462 tokens > 200000 maximum',
    pattern: /prompt is too long/i,
  },
  {
    provider: 'Anthropic, with the answer',
    says: 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    pattern: /exceed context limit/i,
  },
  {
    provider: 'Anthropic, in bytes',
    says: 'Request exceeds the maximum size',
    pattern: /request exceeds the maximum size|request_too_large/i,
  },
  {
    provider: 'OpenAI',
    says: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    pattern: /exceeds the context window/i,
  },
  {
    provider: 'OpenAI, DeepSeek, vLLM, SGLang, OpenRouter',
    says: "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
    pattern: /maximum context length (is|of) \d+/i,
  },
  {
    provider: 'OpenAI and Azure, by code',
    says: 'context_length_exceeded',
    pattern: /context[_ ](length|window|size)[_ ]exceeded|ContextWindowExceeded/i,
  },
  {
    provider: 'Gemini',
    says: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    pattern: /input token count.{0,40}exceeds the maximum/i,
  },
  {
    provider: 'Amazon Bedrock',
    says: 'Input is too long for requested model.',
    pattern: /input is too long/i,
  },
  {
    provider: 'xAI',
    says: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    pattern: /maximum prompt length is \d+/i,
  },
  {
    provider: 'Groq',
    says: 'Please reduce the length of the messages or completion.',
    pattern: /reduce (the length of the messages|your message size)/i,
  },
  {
    provider: 'Mistral',
    says: 'Prompt contains 40961 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    pattern: /too large for model with \d+ maximum context length/i,
  },
  {
    provider: 'Cohere',
    says: 'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354.',
    // Not Bedrock's "Too many tokens, please wait before trying again", which is a limit per minute.
    pattern: /too many tokens(?!,? (please wait|per (minute|day)))/i,
  },
  {
    provider: 'Together, Hugging Face',
    says: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
    pattern: /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  },
  {
    provider: 'GitHub Copilot',
    says: 'prompt token count of 130000 exceeds the limit of 128000',
    pattern: /token count of \d+ exceeds the limit of \d+/i,
  },
  {
    provider: 'Kimi',
    says: 'Your request exceeded model token limit: 262144 (requested: 291351)',
    pattern: /exceeded model token limit/i,
  },
  {
    provider: 'MiniMax',
    says: 'invalid params, context window exceeds limit',
    pattern: /context window exceeds limit/i,
  },
  {
    provider: 'llama.cpp',
    says: 'the request exceeds the available context size, try increasing it',
    pattern: /exceeds? the available context size|exceed_context_size_error/i,
  },
  {
    provider: 'llama-cpp-python',
    says: 'Requested tokens (516) exceed context window of 512',
    pattern: /exceed context window of \d+/i,
  },
  {
    provider: 'LM Studio',
    says: 'Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.',
    pattern: /context length of only \d+ tokens|greater than the context length|context size has been exceeded/i,
  },
  {
    provider: 'Cerebras',
    says: '413 status code (no body)',
    pattern: /^(400|413) status code \(no body\)/i,
  },
];

/** Whether an error says that the request was too large for the model. Only a smaller request helps then. */
export function isOverflow(error: unknown): boolean {
  const said = saidBy(error);
  // These are rate limits and missing rights, though their words can be alike.
  if (said.status === 429 || said.status === 401 || said.status === 403) return false;
  return said.texts.some((text) => overflowTable.some(({ pattern }) => pattern.test(text)));
}

/** Clients put a provider's words in different places: the message, the body, an inner error, its cause. */
function saidBy(error: unknown): { readonly status: number | undefined; readonly texts: readonly string[] } {
  const texts: string[] = [];
  let status: number | undefined;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'string') texts.push(value);
    if (!isRecord(value) || depth > DEEPEST) return;
    for (const key of ['status', 'statusCode']) if (typeof value[key] === 'number') status ??= value[key];
    for (const key of ['message', 'code', 'type', 'responseBody']) {
      const text = asString(value[key]);
      if (text !== undefined) texts.push(text);
    }
    for (const key of ['error', 'cause', 'data', 'lastError']) visit(value[key], depth + 1);
  };
  visit(error, 0);
  return { status, texts };
}

const DEEPEST = 4;
