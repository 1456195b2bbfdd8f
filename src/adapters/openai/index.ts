import type { Fields } from '../../formats/lens.ts';
import { openaiChat } from '../../formats/openai-chat.ts';
import { openaiResponses } from '../../formats/openai-responses.ts';
import { badOption, func, given } from '../../options.ts';
import { type AdapterOptions, storeOf } from '../adapter.ts';
import {
  type BodyFitter,
  type BodyParts,
  createBodyFitter,
  type HttpStep,
  pathOf,
  readJson,
  withoutLength,
} from '../json-body.ts';
import { type OpenAIRecallFunction, type OpenAIRecallTool, toChatTool, toResponsesFunction } from './recall-tool.ts';

/** A `fetch`, as the package `openai` calls it. */
export type OpenAIFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Options of `palimpsest.fetch`. */
export interface OpenAIOptions extends AdapterOptions<OpenAIStep> {
  /** Sends the requests. @default globalThis.fetch */
  readonly fetch?: OpenAIFetch;
}

/** A request, as the option `session` gets it. */
export type OpenAIStep = HttpStep;

/**
 * For clients of the package `openai`: `new OpenAI({ fetch: palimpsest.fetch({ store }) })`.
 *
 * @example
 * ```ts
 * import OpenAI from 'openai';
 * import { palimpsest } from 'palimpsest/openai';
 *
 * const client = new OpenAI({ fetch: palimpsest.fetch({ store }) });
 * ```
 */
export const palimpsest = {
  /** A `fetch` that fits Chat Completions and Responses into the model's window. All other requests pass unchanged. */
  fetch(options: OpenAIOptions = {}): OpenAIFetch {
    const { fetch: send = globalFetch, ...rest } = given('palimpsest.fetch', options);
    if (!func.check(send)) throw badOption('palimpsest.fetch option fetch', func.expected, send);
    const fitter = createBodyFitter<OpenAIStep>('palimpsest.fetch', rest);
    return async (input, init = {}) => send(input, await fitInit(init, addressOf(input), fitter));
  },

  /** The tool `recall` for Chat Completions, which `runTools` runs: `tools: [...tools, ...palimpsest.tools({ store })]`. */
  tools: (options: Pick<OpenAIOptions, 'store'>): [OpenAIRecallTool] => [
    toChatTool(storeOf('palimpsest.tools', options)),
  ],

  /** The tool `recall` for Responses: send its `tool`, and answer its calls with `execute`. `ResponsesToolRunner` takes it. */
  functions: (options: Pick<OpenAIOptions, 'store'>): [OpenAIRecallFunction] => [
    toResponsesFunction(storeOf('palimpsest.functions', options)),
  ],
};

const globalFetch: OpenAIFetch = (input, init) => globalThis.fetch(input, init);

const addressOf = (input: string | URL | Request): string =>
  typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;

/** The request with fitted messages, or unchanged. */
async function fitInit(init: RequestInit, url: string, fitter: BodyFitter<OpenAIStep>): Promise<RequestInit> {
  const api = isPost(init) ? APIS.find(({ path }) => path.test(pathOf(url))) : undefined;
  const body = api && readJson(init.body);
  if (!body || isHeldByServer(body)) return init;
  const headers = new Headers(init.headers);
  const context = { signal: init.signal, warn };
  if (isSigned(headers)) {
    fitter.warnOnce('signed', SIGNED, context);
    return init;
  }
  const fitted = await fitter.fit({ url, headers, body }, api.parts(body), context);
  return fitted ? { ...init, headers: withoutLength(headers), body: JSON.stringify(fitted.body) } : init;
}

const warn = (text: string): void => console.warn(text);

const isPost = ({ method }: RequestInit): boolean => method?.toUpperCase() === 'POST';

interface Api {
  readonly path: RegExp;
  parts(body: Fields): BodyParts;
}

const APIS: readonly Api[] = [
  {
    path: /\/chat\/completions$/,
    parts: ({ tools, functions }) => ({
      format: openaiChat,
      list: 'messages',
      tools: tools ?? functions,
      canRequire: false,
    }),
  },
  {
    // Without masks, a request to compact would be larger than all before it. A count must match the request that would be sent.
    path: /\/responses(?:\/compact|\/input_tokens)?$/,
    parts: ({ instructions, tools }) => ({
      format: openaiResponses,
      list: 'input',
      system: instructions,
      tools,
      canRequire: false,
    }),
  },
];

/** The server has the history, and the request only new items. */
const isHeldByServer = ({ previous_response_id, conversation }: Fields): boolean =>
  Boolean(previous_response_id) || Boolean(conversation);

/** AWS signatures cover the body, and the client signs before it calls `fetch`. */
const isSigned = (headers: Headers): boolean => /^AWS4-/.test(headers.get('authorization') ?? '');
const SIGNED =
  'requests that are signed for AWS are sent as they are, because another body would break the signature. ' +
  'Use a bearer token in place of AWS credentials.';

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { OpenAIRecallFunction, OpenAIRecallTool } from './recall-tool.ts';
