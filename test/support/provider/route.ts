/** The provider's interfaces that are served. */
export type Api = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';

/** What a request asks for. */
export interface Route {
  readonly api: Api;
  readonly action: 'generate' | 'count';
  /** Gemini writes both into the path; elsewhere they stand in the body. */
  readonly model?: string;
  readonly streams?: boolean;
}

const FIXED: Readonly<Record<string, Route>> = {
  '/v1/messages': { api: 'anthropic', action: 'generate' },
  '/v1/messages/count_tokens': { api: 'anthropic', action: 'count' },
  '/v1/chat/completions': { api: 'openai-chat', action: 'generate' },
  '/v1/responses': { api: 'openai-responses', action: 'generate' },
};

const GEMINI = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Reads a path without its query. */
export function routeOf(path: string): Route | undefined {
  const fixed = FIXED[path];
  if (fixed) return fixed;
  const [, model, method] = GEMINI.exec(path) ?? [];
  if (model === undefined) return undefined;
  return { api: 'gemini', action: 'generate', model, streams: method === 'streamGenerateContent' };
}

/** Whose words a path that nobody serves is refused in. */
export function vendorOf(headers: Readonly<Record<string, unknown>>): Api {
  if (headers['anthropic-version'] !== undefined) return 'anthropic';
  return headers['x-goog-api-key'] === undefined ? 'openai-chat' : 'gemini';
}
