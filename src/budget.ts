/** Model windows: lower-cased name. The first match wins, so specific names come before their family. */
const WINDOWS: readonly (readonly [part: string, tokens: number])[] = [
  ['gpt-5', 400_000],
  ['gpt-4.1', 1_000_000],
  ['gpt-4o', 128_000],
  ['gpt-4-turbo', 128_000],
  ['gpt-4', 128_000],
  ['claude', 200_000],
  ['gemini', 1_000_000],
  ['grok-4', 2_000_000],
  ['grok', 131_072],
  ['deepseek-v3', 163_840],
  ['deepseek-chat-v3', 163_840],
  ['deepseek', 128_000],
  ['qwen3', 131_072],
  ['qwen', 128_000],
  ['llama-4', 327_680],
  ['llama', 128_000],
  ['mistral-large', 262_144],
  ['mistral', 128_000],
  ['mixtral', 128_000],
];

export const UNKNOWN_MODEL_WINDOW = 128_000;

/** The context window of a model, in tokens; 128,000 if unknown. The user's own table comes first, in its own order. */
export function defaultContextWindow(model: string, own: Readonly<Record<string, number>> = {}): number {
  return knownContextWindow(model, own) ?? UNKNOWN_MODEL_WINDOW;
}

/** The context window of a model; undefined if neither table has its name. */
export function knownContextWindow(model: string, own: Readonly<Record<string, number>> = {}): number | undefined {
  const name = model.toLowerCase();
  for (const [part, tokens] of Object.entries(own)) if (name.includes(part.toLowerCase())) return tokens;
  return WINDOWS.find(([part]) => name.includes(part))?.[1];
}
