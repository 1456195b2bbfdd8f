import { PalimpsestError } from '../../errors.ts';
import { asList, asString, type Fields, isRecord, toText } from '../../formats/lens.ts';
import type { OpenAIChatMessage } from '../../formats/openai-chat.ts';
import { cutOff, type ModelRequest, type Reply, readCall, type Stop, usageOf } from '../../manager/agent/model.ts';

/** The fields of every request: the name of the model, and any parameter of the API. */
export interface ChatParameters {
  /** The name of the model, as the provider knows it. */
  readonly model: string;
  /** Any other field of the request, such as `temperature`. */
  readonly [parameter: string]: unknown;
}

/** The body of a Chat Completions request. */
export function chatBody(
  { messages, system, tools, maxOutputTokens }: ModelRequest<OpenAIChatMessage>,
  { parameters, outputField }: { readonly parameters: ChatParameters; readonly outputField: string },
): Fields {
  // Tools among the parameters are those that the provider runs itself.
  const all = [...asList(parameters.tools), ...tools.map((tool) => ({ type: 'function', function: tool }))];
  return {
    ...(maxOutputTokens === undefined ? {} : { [outputField]: maxOutputTokens }),
    ...parameters,
    messages: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    ...(all.length > 0 ? { tools: all } : {}),
  };
}

/** The fields of a streamed request. */
export const STREAMED = { stream: true, stream_options: { include_usage: true } } as const;

/** Reads the answer to a request that was not streamed. */
export function readCompletion(response: unknown): Reply<OpenAIChatMessage> {
  const fields = isRecord(response) ? response : {};
  const choice = asList(fields.choices)[0];
  if (!choice || !isRecord(choice.message)) throw noCompletion(fields);
  return toReply(choice.message, { finish: choice.finish_reason, usage: fields.usage });
}

/** Assembles a streamed answer. The message equals that of an answer that is not streamed. */
export async function readChunks(
  chunks: AsyncIterable<unknown>,
  onText: (delta: string) => void,
): Promise<Reply<OpenAIChatMessage>> {
  const message: Fields = { role: 'assistant', content: null };
  const calls = new CallDrafts();
  let finish: unknown;
  let usage: unknown;
  for await (const chunk of chunks) {
    if (!isRecord(chunk)) continue;
    if (chunk.error !== undefined && chunk.error !== null) throw noCompletion(chunk);
    usage = chunk.usage ?? usage;
    const choice = asList(chunk.choices)[0];
    if (!choice) continue;
    finish = choice.finish_reason || finish;
    if (!isRecord(choice.delta)) continue;
    const { tool_calls, ...delta } = choice.delta;
    addDelta(message, delta, onText);
    for (const call of asList(tool_calls)) calls.add(call);
  }
  // A server that died in the middle must not look like a model that has finished.
  if (finish === undefined) throw noCompletion({ error: 'the stream ended before the answer did' });
  const called = calls.all().length > 0 ? { tool_calls: calls.all() } : {};
  return toReply({ ...message, ...called }, { finish, usage });
}

function addDelta(message: Fields, delta: Fields, onText: (delta: string) => void): void {
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'role' || value === null || value === undefined) continue;
    if (typeof value === 'string') message[key] = `${asString(message[key]) ?? ''}${value}`;
    // OpenRouter's signed thoughts come as lists, a few at a time.
    else if (Array.isArray(value)) message[key] = [...asList(message[key]), ...value];
    else message[key] = value;
  }
  if (typeof delta.content === 'string' && delta.content !== '') onText(delta.content);
}

/** The calls of a stream, by the index that the server gave them. */
class CallDrafts {
  readonly #calls: Fields[] = [];
  readonly #open = new Map<unknown, Fields>();

  add({ index, function: body, ...rest }: Fields): void {
    const call = this.#callAt(index, { id: rest.id, body: isRecord(body) ? body : {} });
    for (const [key, value] of Object.entries(rest)) if (value !== null && value !== '') call[key] = value;
    if (!isRecord(body)) return;
    const known = call.function as Fields;
    const { name, arguments: text, ...others } = body;
    const more = { name: asString(known.name) || toText(name), arguments: `${toText(known.arguments)}${toText(text)}` };
    call.function = { ...known, ...others, ...more };
  }

  /** Some servers count from 1, so an index is not a position in this list. */
  all(): readonly Fields[] {
    return this.#calls;
  }

  #callAt(index: unknown, { id, body }: { readonly id: unknown; readonly body: Fields }): Fields {
    const known = typeof index === 'number' ? this.#open.get(index) : undefined;
    // Some servers give each call the index 0, or none. Then the call comes in one piece, with its own id and name.
    if (known && !(body.name && id && known.id && id !== known.id)) return known;
    const call: Fields = { type: 'function', function: { name: '', arguments: '' } };
    this.#calls.push(call);
    this.#open.set(index, call);
    return call;
  }
}

function toReply(
  given: Fields,
  { finish, usage }: { readonly finish: unknown; readonly usage: unknown },
): Reply<OpenAIChatMessage> {
  const message = withIds(given);
  const calls = asList(message.tool_calls).map((call) => {
    const body = (isRecord(call.function) ? call.function : {}) as Fields;
    const read = readCall({ id: toText(call.id), name: toText(body.name), arguments: body.arguments });
    return finish === 'length' && !body.arguments ? cutOff(read) : read;
  });
  const text = textOf(message.content);
  const isSilent = text === '' && calls.length === 0 && !message.refusal;
  return {
    messages: isSilent ? [] : [message as unknown as OpenAIChatMessage],
    calls,
    text,
    stop: stopOf(finish, message),
    ...usageOf(usage),
  };
}

/** Adds missing ids and replaces repeated ones, as some local servers send them: results and decisions must name one call. */
function withIds(message: Fields): Fields {
  const calls = asList(message.tool_calls);
  const ids = new Set(calls.map(({ id }) => id).filter(Boolean));
  if (ids.size === calls.length) return message;
  const named = calls.map((call) => (ids.delete(call.id) ? call : { ...call, id: `call_${crypto.randomUUID()}` }));
  return { ...message, tool_calls: named };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => toText(part.text))
    .join('');
}

function stopOf(finish: unknown, message: Fields): Stop {
  if (finish === 'length') return 'length';
  return finish === 'content_filter' || message.refusal ? 'refusal' : 'end';
}

/** Some gateways and local servers answer 200 with an error in the body. */
function noCompletion(found: Fields): PalimpsestError {
  const error = isRecord(found.error) ? found.error : found;
  const said = asString(found.error) ?? asString(error.message) ?? toText(found).slice(0, 300);
  return new PalimpsestError('MODEL_FAILED', `Expected an answer of the model but found: ${said || 'nothing'}`, {
    cause: found.error ?? found,
  });
}
