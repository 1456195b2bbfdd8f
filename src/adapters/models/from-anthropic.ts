import { type AnthropicMessage, anthropic } from '../../formats/anthropic.ts';
import { asList, asString, type Fields, isRecord, toText } from '../../formats/lens.ts';
import {
  cutOff,
  type Model,
  type ModelRequest,
  type Reply,
  readCall,
  type Stop,
  usageOf,
} from '../../manager/agent/model.ts';
import { badOption, given } from '../../options.ts';
import { readMessageStream } from './anthropic-stream.ts';
import { createModel } from './create-model.ts';

/** The part of an `@anthropic-ai/sdk` client that is used. */
export interface AnthropicClient {
  /** The resource that sends message requests. */
  readonly messages: {
    create(
      body: object,
      options?: { readonly signal?: AbortSignal; readonly headers?: Record<string, string> },
    ): PromiseLike<unknown>;
  };
}

/** The model, how long its prompt is cached, and any parameter of the API, such as `thinking`. */
export interface AnthropicParameters {
  /** The name of the model, such as `claude-sonnet-5`. */
  readonly model: string;
  /** 8,192 if neither this nor the run says how long an answer may be. */
  readonly max_tokens?: number;
  /** How long the provider keeps the prompt: 5 minutes if not given, `false` for not at all. */
  readonly cache?: '5m' | '1h' | false;
  /** Any other field of the request, such as `thinking`. */
  readonly [parameter: string]: unknown;
}

/**
 * A model behind a client of `@anthropic-ai/sdk`: `fromAnthropic(new Anthropic(), { model: 'claude-sonnet-5' })`.
 *
 * @example
 * ```ts
 * import Anthropic from '@anthropic-ai/sdk';
 * import { fromAnthropic } from 'palimpsest/models';
 *
 * const model = fromAnthropic(new Anthropic(), { model: 'claude-sonnet-5', cache: '1h' });
 * ```
 */
export function fromAnthropic(client: AnthropicClient, parameters: AnthropicParameters): Model<AnthropicMessage> {
  const { cache = '5m' } = given('fromAnthropic', parameters);
  if (cache !== '5m' && cache !== '1h' && cache !== false)
    throw badOption('fromAnthropic option cache', "'5m', '1h' or false", cache);
  return createModel(anthropic, parameters.model, async (request, signal) => {
    const { body, headers } = anthropicBody(request, parameters);
    const options = { signal, ...(headers ? { headers } : {}) };
    if (!request.onText) return toReply({ message: await client.messages.create(body, options), cutCalls: NONE });
    const events = await client.messages.create({ ...body, stream: true }, options);
    return toReply(await readMessageStream(events as AsyncIterable<unknown>, request.onText));
  });
}

interface AnthropicRequest {
  readonly body: Fields;
  readonly headers?: Record<string, string>;
}

function anthropicBody(request: ModelRequest<AnthropicMessage>, parameters: AnthropicParameters): AnthropicRequest {
  const { cache = '5m', ...rest } = parameters;
  const { system, tools, requires = [], maxOutputTokens } = request;
  const marker = { type: 'ephemeral', ...(cache === '1h' ? { ttl: '1h' } : {}) };
  const marked = cache === false ? request.messages : markPrefix(request, marker);
  // Tools among the parameters are those that the provider runs itself.
  const all = [...asList(rest.tools), ...tools.map(toolParameter)];
  const body: Fields = {
    max_tokens: maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS,
    // Marks the last block that can be cached. It moves with every request.
    ...(cache === false ? {} : { cache_control: marker }),
    ...rest,
    ...(system === undefined ? {} : { system }),
    messages: marked,
    ...(all.length > 0 ? { tools: all } : {}),
  };
  const [required] = requires;
  // A request without thinking cannot carry the field, and the provider then ignores older thinking.
  if (!required || !isRecord(body.thinking)) return { body };
  return {
    body: { ...body, thinking: withBinding(body.thinking, required.value) },
    headers: { [required.header]: required.headerValue },
  };
}

const DEFAULT_OUTPUT_TOKENS = 8192;

const toolParameter = ({ name, description, parameters }: ModelRequest<unknown>['tools'][number]): object => ({
  name,
  description,
  input_schema: parameters,
});

/** A value set by the caller wins. */
function withBinding(thinking: Fields, value: string): Fields {
  const own = isRecord(thinking.block_binding) ? thinking.block_binding : {};
  return { ...thinking, block_binding: { prefix_mismatch_behavior: value, ...own } };
}

/** Anthropic finds a cached prefix only at a marker. A marker just before the first edit keeps the text before it cached. */
function markPrefix({ messages, cacheMarkers = [] }: ModelRequest<AnthropicMessage>, marker: Fields) {
  const at = (cacheMarkers[0] ?? 0) - 1;
  const message = messages[at];
  const content = typeof message?.content === 'string' ? [{ type: 'text', text: message.content }] : message?.content;
  const last = asList(content).at(-1);
  if (!message || !last || last.text === '' || isThinking(last)) return messages;
  const blocks = [...asList(content).slice(0, -1), { ...last, cache_control: marker }];
  return messages.map((other, i) => (i === at ? { ...message, content: blocks } : other));
}

const isThinking = ({ type }: Fields): boolean => type === 'thinking' || type === 'redacted_thinking';

const NONE: ReadonlySet<string> = new Set();

function toReply(response: {
  readonly message: unknown;
  readonly cutCalls: ReadonlySet<string>;
}): Reply<AnthropicMessage> {
  const { content, stop_reason: stop, usage } = isRecord(response.message) ? response.message : ({} as Fields);
  const blocks = asList(content);
  // If it is not streamed, the input of a cut call has the fields that were complete.
  const last = stop === 'max_tokens' ? blocks.at(-1)?.id : undefined;
  const calls = blocks
    .filter((block) => block.type === 'tool_use')
    .map(({ id, name, input }) => readCall({ id: toText(id), name: toText(name), arguments: input }))
    .map((call) => (call.id === last || response.cutCalls.has(call.id) ? cutOff(call) : call));
  return {
    // Only the last message may have no content: "all messages must have non-empty content".
    messages: blocks.length > 0 ? [{ role: 'assistant', content }] : [],
    calls,
    text: blocks.map((block) => (block.type === 'text' ? toText(block.text) : '')).join(''),
    stop: STOPS.get(asString(stop) ?? '') ?? 'end',
    ...usageOf(usage),
  };
}

const STOPS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['max_tokens', 'length'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context-full'],
]);
