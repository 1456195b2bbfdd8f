import { PalimpsestError } from '../../errors.ts';
import { type Fields, isRecord } from '../../formats/lens.ts';
import { type OpenAIChatMessage, openaiChat } from '../../formats/openai-chat.ts';
import type { Model } from '../../manager/agent/model.ts';
import { errorText } from '../../manager/agent/result-text.ts';
import { anything, badOption, checkOptions, count, func, rule, text } from '../../options.ts';
import { chatBody, readChunks, readCompletion, STREAMED } from './chat-completions.ts';
import { createModel } from './create-model.ts';
import { readServerEvents } from './server-events.ts';

/** Options of `fromUrl`. */
export interface FromUrlOptions {
  /** With the version at its end: `http://localhost:11434/v1`. */
  readonly baseURL: string;
  /** The name of the model, as the server knows it. */
  readonly model: string;
  /** Sent as `Authorization: Bearer …`. @default no such header */
  readonly apiKey?: string;
  /** More headers of every request. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Other fields of the request, such as `temperature`. @default none */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** How often a request is sent again if the server is busy or not reachable. @default 2 */
  readonly retries?: number;
  /** Sends the requests. @default globalThis.fetch */
  readonly fetch?: typeof fetch;
}

const RULES = {
  baseURL: text,
  model: text,
  apiKey: text,
  headers: rule('an object of texts', isRecord),
  parameters: anything,
  retries: count,
  fetch: func,
};

/**
 * A model behind any URL that speaks like OpenAI's Chat Completions: Ollama, llama.cpp, vLLM, OpenRouter and others.
 *
 * @example
 * ```ts
 * import { fromUrl } from 'palimpsest/models';
 *
 * const model = fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3', parameters: { temperature: 0 } });
 * ```
 */
export function fromUrl(options: FromUrlOptions): Model<OpenAIChatMessage> {
  checkOptions('fromUrl', options, RULES);
  const url = endpointOf(options.baseURL);
  const parameters = { ...options.parameters, model: options.model };
  return createModel(openaiChat, options.model, async (request, signal) => {
    const body = chatBody(request, { parameters, outputField: 'max_tokens' });
    const { onText } = request;
    const response = await post(url, { ...options, body: onText ? { ...body, ...STREAMED } : body, signal });
    const answer = { url, response, signal };
    // A server that does not stream answers in one piece.
    if (!onText || isJson(response)) return readCompletion(await readJson(answer));
    return readChunks(readServerEvents(bytesOf(answer)), onText);
  });
}

const isJson = ({ headers }: Response): boolean => /application\/json/i.test(headers.get('content-type') ?? '');

function endpointOf(baseURL: string): string {
  // `localhost:11434` is an address too, of the scheme localhost.
  if (!/^https?:\/\//i.test(baseURL) || !URL.canParse(baseURL))
    throw badOption('fromUrl option baseURL', 'an address such as http://localhost:11434/v1', baseURL);
  return `${baseURL.replace(/\/+$/, '')}/chat/completions`;
}

interface Post extends FromUrlOptions {
  readonly body: Fields;
  readonly signal: AbortSignal;
}

async function post(url: string, request: Post): Promise<Response> {
  const { retries = 2, signal } = request;
  for (let attempt = 0; ; attempt++) {
    const response = await send(url, request).catch((error: unknown) => error as Error);
    if (!(response instanceof Error) && response.ok) return response;
    if (signal.aborted) throw signal.reason;
    const isLast = attempt >= retries || !isPassing(response);
    if (isLast) throw await failure(url, response);
    if (!(response instanceof Error)) await response.body?.cancel();
    await pause(delayMs(response, attempt), signal);
  }
}

async function send(url: string, { body, headers, apiKey, signal, fetch: own }: Post): Promise<Response> {
  const request = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    body: JSON.stringify(body),
    signal,
  };
  return own ? own(url, request) : patientFetch(url, request);
}

/** A model on a slow machine may think for longer than the five minutes after which `fetch` gives up. */
async function patientFetch(url: string, request: RequestInit): Promise<Response> {
  const { Agent, fetch } = await import('undici');
  agent ??= new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return (await fetch(url, { ...(request as object), dispatcher: agent })) as unknown as Response;
}

let agent: import('undici').Agent | undefined;

const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);

const isPassing = (response: Response | Error): boolean => response instanceof Error || PASSING.has(response.status);

function delayMs(response: Response | Error, attempt: number): number {
  const asked = response instanceof Error ? Number.NaN : Number.parseFloat(response.headers.get('retry-after') ?? '');
  return Number.isNaN(asked) ? 500 * 2 ** attempt : Math.min(asked, MOST_SECONDS) * 1000;
}

const MOST_SECONDS = 60;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
}

interface Answer {
  readonly url: string;
  readonly response: Response;
  readonly signal: AbortSignal;
}

async function readJson(answer: Answer): Promise<unknown> {
  const said = await answer.response.text().catch((error: unknown) => {
    throw brokenOff(answer, error);
  });
  try {
    return JSON.parse(said);
  } catch (cause) {
    const found = said.slice(0, 300) || 'nothing';
    throw new PalimpsestError('MODEL_FAILED', `Expected JSON from ${answer.url} but found: ${found}`, { cause });
  }
}

async function* bytesOf(answer: Answer): AsyncGenerator<Uint8Array> {
  try {
    if (answer.response.body) yield* answer.response.body;
  } catch (error) {
    throw brokenOff(answer, error);
  }
}

function brokenOff({ url, signal }: Answer, cause: unknown): unknown {
  if (signal.aborted) return cause;
  const text = `Expected the whole answer of ${url} but the connection ended: ${reasonOf(cause)}`;
  return new PalimpsestError('MODEL_FAILED', text, { cause });
}

/** An error of `fetch` only says that it failed. Its cause says why. */
const reasonOf = (error: unknown): string => errorText((error as Error | undefined)?.cause ?? error);

async function failure(url: string, response: Response | Error): Promise<PalimpsestError> {
  if (response instanceof Error) {
    const text = `Expected a model at ${url} but could not reach it: ${reasonOf(response)}`;
    return new PalimpsestError('MODEL_FAILED', text, { cause: response });
  }
  const said = (await response.text().catch(() => '')).slice(0, 2000);
  return new PalimpsestError('MODEL_FAILED', `Expected an answer of ${url} but found ${response.status}: ${said}`, {
    cause: { status: response.status, message: said || `${response.status} status code (no body)` },
  });
}
