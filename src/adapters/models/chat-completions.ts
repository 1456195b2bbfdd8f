import { PalimpsestError } from '../../errors.ts';
import { asList, asString, type Fields, isRecord, toText } from '../../formats/lens.ts';
import type { OpenAIChatMessage } from '../../formats/openai-chat.ts';
import { type ModelRequest, type Reply, readCall, type Stop, usageOf } from '../../manager/model.ts';

/** What every request of a model carries: its name, and any parameter of the API. */
export interface ChatParameters {
  readonly model: string;
  readonly [parameter: string]: unknown;
}

/** The body of a Chat Completions request. */
export function chatBody(
  { messages, system, tools, maxOutputTokens }: ModelRequest<OpenAIChatMessage>,
  { parameters, outputField }: { readonly parameters: ChatParameters; readonly outputField: string },
): Fields {
  const functions = tools.map((tool) => ({ type: 'function', function: tool }));
  return {
    ...(maxOutputTokens === undefined ? {} : { [outputField]: maxOutputTokens }),
    ...parameters,
    messages: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    ...(functions.length > 0 ? { tools: functions } : {}),
  };
}

/** What makes a request a streamed one. */
export const STREAMED = { stream: true, stream_options: { include_usage: true } } as const;

/** Reads the answer to a request that was not streamed. */
export function readCompletion(response: unknown): Reply<OpenAIChatMessage> {
  const fields = isRecord(response) ? response : {};
  const choice = asList(fields.choices)[0];
  if (!choice || !isRecord(choice.message)) throw noCompletion(fields);
  return toReply(choice.message, { finish: choice.finish_reason, usage: fields.usage });
}

/** Puts the chunks of a streamed answer together: the message is the one that would have come in one piece. */
export async function readChunks(
  chunks: AsyncIterable<unknown>,
  onText: (delta: string) => void,
): Promise<Reply<OpenAIChatMessage>> {
  const message: Fields = { role: 'assistant', content: null };
  let finish: unknown;
  let usage: unknown;
  for await (const chunk of chunks) {
    if (!isRecord(chunk)) continue;
    if (chunk.error !== undefined && chunk.error !== null) throw noCompletion(chunk);
    usage = chunk.usage ?? usage;
    const choice = asList(chunk.choices)[0];
    if (!choice) continue;
    finish = choice.finish_reason ?? finish;
    if (isRecord(choice.delta)) addDelta(message, choice.delta, onText);
  }
  // A server that died in the middle must not pass for a model that had no more to say.
  if (finish === undefined) throw noCompletion({ error: 'the stream ended before the answer did' });
  return toReply(message, { finish, usage });
}

function addDelta(message: Fields, delta: Fields, onText: (delta: string) => void): void {
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'role' || value === null || value === undefined) continue;
    if (key === 'tool_calls') addCalls(message, asList(value));
    else if (typeof value === 'string') message[key] = `${asString(message[key]) ?? ''}${value}`;
    // OpenRouter's signed thoughts come as lists, a few at a time.
    else if (Array.isArray(value)) message[key] = [...asList(message[key]), ...value];
    else message[key] = value;
  }
  if (typeof delta.content === 'string' && delta.content !== '') onText(delta.content);
}

/** Some servers give no index: then each call comes in one piece. */
function addCalls(message: Fields, deltas: readonly Fields[]): void {
  const calls = (Array.isArray(message.tool_calls) ? message.tool_calls : []) as Fields[];
  message.tool_calls = calls;
  for (const { index, function: body, ...rest } of deltas) {
    const at = typeof index === 'number' ? index : calls.length;
    const call: Fields = calls[at] ?? { type: 'function', function: { name: '', arguments: '' } };
    calls[at] = call;
    for (const [key, value] of Object.entries(rest)) if (value !== null && value !== '') call[key] = value;
    if (!isRecord(body)) continue;
    const known = call.function as Fields;
    const { name, arguments: text, ...others } = body;
    const more = { name: asString(known.name) || toText(name), arguments: `${toText(known.arguments)}${toText(text)}` };
    call.function = { ...known, ...others, ...more };
  }
}

function toReply(
  given: Fields,
  { finish, usage }: { readonly finish: unknown; readonly usage: unknown },
): Reply<OpenAIChatMessage> {
  const message = withIds(given);
  const calls = asList(message.tool_calls).map((call) => {
    const body = (isRecord(call.function) ? call.function : {}) as Fields;
    return readCall({ id: toText(call.id), name: toText(body.name), arguments: body.arguments });
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

/** Local servers leave ids out, and results must name their calls. */
function withIds(message: Fields): Fields {
  const calls = asList(message.tool_calls);
  if (calls.every((call) => call.id)) return message;
  return {
    ...message,
    tool_calls: calls.map((call) => (call.id ? call : { ...call, id: `call_${crypto.randomUUID()}` })),
  };
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

/** Gateways and local servers answer 200 and say in the body that it did not work. */
function noCompletion(found: Fields): PalimpsestError {
  const error = isRecord(found.error) ? found.error : found;
  const said = asString(found.error) ?? asString(error.message) ?? toText(found).slice(0, 300);
  return new PalimpsestError('MODEL_FAILED', `Expected an answer of the model but found: ${said || 'nothing'}`, {
    cause: found.error ?? found,
  });
}
