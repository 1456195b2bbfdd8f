import { anthropic } from '../../formats/anthropic.ts';
import type { Fields } from '../../formats/lens.ts';
import { type AdapterOptions, storeOf } from '../adapter.ts';
import { type BodyFitter, createBodyFitter, type HttpStep, pathOf, readJson, withoutLength } from '../json-body.ts';
import { type AnthropicRecallTool, toAnthropicTool } from './recall-tool.ts';
import { addRequiredHeaders, canRequire, withRequiredFields } from './required-fields.ts';

/** Options of `palimpsest`. */
export type AnthropicOptions = AdapterOptions<AnthropicStep>;

/** A request, as the option `session` gets it. */
export interface AnthropicStep extends HttpStep {
  /** The request options of the call, which may have fields of your own. */
  readonly options: unknown;
}

/** A middleware of `@anthropic-ai/sdk`. */
export type AnthropicMiddleware = <Request extends AnthropicRequest>(
  request: Request,
  next: (request: Request) => Promise<Response>,
  context: AnthropicContext,
) => Promise<Response>;

/** The parts of a request that the middleware reads. */
export interface AnthropicRequest {
  /** The address, with its query. */
  readonly url: string;
  /** The headers, as the SDK would send them. */
  readonly headers: Headers;
  /** The JSON of the request, as a text. */
  readonly body?: unknown;
  /** Aborts the request, and with it the writing of texts to the store. */
  readonly signal?: AbortSignal | null | undefined;
}

/** The parts of the middleware's context that are used. */
export interface AnthropicContext {
  /** The options of the call. */
  readonly options?: unknown;
  /** The log of the client. */
  readonly logger: { warn(text: string): void };
}

/**
 * A middleware that fits every message request into the model's window: `new Anthropic({ middleware: [palimpsest({ store })] })`.
 * All other requests pass unchanged.
 *
 * @example
 * ```ts
 * import Anthropic from '@anthropic-ai/sdk';
 * import { palimpsest } from 'palimpsest/anthropic';
 *
 * const client = new Anthropic({ middleware: [palimpsest({ store })] });
 * ```
 */
export function palimpsest(options: AnthropicOptions = {}): AnthropicMiddleware {
  const fitter = createBodyFitter('palimpsest', options);
  return async (request, next, context) => {
    const changed = await fitRequest(request, context, fitter);
    return next(changed ? { ...request, ...changed } : request);
  };
}

/** The tool `recall`, which the tool runner runs: `tools: [...tools, ...palimpsest.tools({ store })]`. */
palimpsest.tools = (options: Pick<AnthropicOptions, 'store'>): [AnthropicRecallTool] => [
  toAnthropicTool(storeOf('palimpsest.tools', options)),
];

/** Requests that carry messages: those that ask the model, and those that count them. */
const PATH = /\/v1\/messages(?:\/count_tokens)?$/;

/** The body and the headers that change; undefined if the request is sent unchanged. */
async function fitRequest(
  { url, headers, body: text, signal }: AnthropicRequest,
  { options, logger }: AnthropicContext,
  fitter: BodyFitter<AnthropicStep>,
): Promise<{ readonly headers: Headers; readonly body: string } | undefined> {
  const body = PATH.test(pathOf(url)) ? readJson(text) : undefined;
  if (!body) return undefined;
  const context = { signal, warn: (warning: string) => logger.warn(warning) };
  if (isThread(body)) {
    fitter.warnOnce('thread', THREAD, context);
    return undefined;
  }
  const { system, tools } = body;
  const parts = { format: anthropic, list: 'messages', system, tools, canRequire: canRequire(body) };
  const fitted = await fitter.fit({ url, headers, body, options }, parts, context);
  if (!fitted) return undefined;
  const { requires } = fitted;
  const changed = withoutLength(headers);
  addRequiredHeaders(changed, requires);
  return { headers: changed, body: JSON.stringify(withRequiredFields(fitted.body, requires)) };
}

const isThread = ({ thread }: Fields): boolean => Boolean(thread);
const THREAD =
  'nothing is masked in message threads, because the server holds their history and a request has only what is new. ' +
  'The tool runner uses a thread unless it is told not to: client.beta.messages.toolRunner({ thread: false, … }).';

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { AnthropicRecallTool } from './recall-tool.ts';
