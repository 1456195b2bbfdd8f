/**
 * The names under which the price of a model may be listed, the name as written first: without the path and vendor that
 * others put before it, and without the date of its snapshot. Nothing is guessed: a name that merely resembles another one
 * is another model.
 */
export function modelNames(model: string): readonly string[] {
  const written = model.toLowerCase();
  const bare = withDashes(written.replace(PATH, '').replace(VENDOR, ''));
  return [...new Set([written, bare, bare.replace(DATE, '')])];
}

/** `models/gemini-…` and `publishers/anthropic/models/claude-…`, as Gemini and Vertex AI write them. */
const PATH = /^(?:[^:]*\/)?models\//;

/**
 * Vendor prefixes as OpenRouter writes them. "OpenRouter passes through the pricing of the underlying providers"
 * (openrouter.ai/docs/faq).
 */
const VENDOR = /^(?:openrouter\/)?(?:anthropic|openai|google|qwen)\//;

/** `claude-sonnet-4.5` at OpenRouter is `claude-sonnet-4-5` at Anthropic. */
const withDashes = (name: string): string => (name.startsWith('claude-') ? name.replace(/(\d)\.(\d)/, '$1-$2') : name);

/** `-20250929`, `@20250929`, `-2024-08-06`, and the aliases `-latest` and `-0` of the newest snapshot. */
const DATE = /(?:[-@]20\d{6}|-20\d\d-\d\d-\d\d|-latest|(?<=^claude-(?:opus|sonnet)-4)-0)$/;
