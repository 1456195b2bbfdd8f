import { type GeminiContent, gemini } from '../../formats/gemini.ts';
import { type Fields, isRecord } from '../../formats/lens.ts';
import { createAdapter } from '../adapter.ts';
import type { GoogleOptions } from './index.ts';

/** Names the session of a request. It is not sent. */
const SESSION_HEADER = 'x-palimpsest-session';

export function createFetch(options: GoogleOptions, send: typeof fetch): typeof fetch {
  const adapter = createAdapter('palimpsest.fetch', options);
  return async (input, init) => {
    const call = readCall(input, init);
    if (!call) return send(input, init);
    const { body, model, headers } = call;
    const session = headers.get(SESSION_HEADER) ?? undefined;
    headers.delete(SESSION_HEADER);
    const { messages } = await adapter.fit({
      messages: body.contents,
      format: gemini,
      system: body.systemInstruction,
      tools: body.tools,
      model,
      session,
      signal: init?.signal ?? undefined,
      canRequire: false,
      step: { headers: Object.fromEntries(headers) },
    });
    return send(input, { ...init, headers, body: JSON.stringify({ ...body, contents: messages }) });
  };
}

interface Call {
  readonly body: Fields & { readonly contents: readonly GeminiContent[] };
  readonly model: string;
  readonly headers: Headers;
}

/** `…/models/gemini-3-pro:generateContent`, and Vertex AI's longer paths to models and endpoints. */
const PATH = /\/([^/:]+):(?:g|streamG)enerateContent$/;

/** A request of generateContent. Undefined for all others, such as uploads, counts and interactions. */
function readCall(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Call | undefined {
  if (input instanceof Request || typeof init?.body !== 'string') return undefined;
  const [, model] = PATH.exec(new URL(input).pathname) ?? [];
  if (model === undefined) return undefined;
  const body: unknown = JSON.parse(init.body);
  if (!isRecord(body) || !Array.isArray(body.contents)) return undefined;
  return { body: { ...body, contents: body.contents }, model, headers: new Headers(init.headers) };
}
