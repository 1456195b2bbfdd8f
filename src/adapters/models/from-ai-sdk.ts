import { PalimpsestError } from '../../errors.ts';
import { type AiSdkMessage, aiSdk } from '../../formats/ai-sdk.ts';
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
import type { ToolCall } from '../../manager/tool-call.ts';
import { badOption, given } from '../../options.ts';
import { withRequired } from '../ai-sdk/required-options.ts';
import { createModel } from './create-model.ts';

/** The part of an AI SDK language model that is used (specification v2, v3 and v4: AI SDK 5, 6 and 7). */
export interface AiSdkModel {
  /** The name of the model, as the provider knows it. */
  readonly modelId: string;
  /** Answers in one piece. */
  doGenerate(options: never): PromiseLike<unknown>;
  /** Answers as a stream of parts. */
  doStream(options: never): PromiseLike<{ readonly stream: unknown }>;
}

/** Settings of each call, such as `temperature` and `providerOptions`. */
export type AiSdkSettings = Readonly<Record<string, unknown>>;

/**
 * Any model of the AI SDK: `fromAiSdk(openai('gpt-5'))`.
 *
 * @example
 * ```ts
 * import { openai } from '@ai-sdk/openai';
 * import { fromAiSdk } from 'palimpsest/models';
 *
 * const model = fromAiSdk(openai('gpt-5'));
 * ```
 */
export function fromAiSdk(model: AiSdkModel, settings: AiSdkSettings = {}): Model<AiSdkMessage> {
  if (typeof model?.doGenerate !== 'function')
    throw badOption('the model given to fromAiSdk', "a language model, such as openai('gpt-5')", model);
  given('fromAiSdk', settings);
  return createModel(aiSdk, model.modelId, async (request, signal) => {
    const options = callOptions(request, { settings, signal }) as never;
    if (!request.onText) return toReply(await model.doGenerate(options));
    const { stream } = await model.doStream(options);
    return toReply(await readParts(stream as AsyncIterable<unknown>, request.onText));
  });
}

function callOptions(
  request: ModelRequest<AiSdkMessage>,
  { settings, signal }: { readonly settings: AiSdkSettings; readonly signal: AbortSignal },
): Fields {
  const { messages, system, tools, maxOutputTokens, requires = [] } = request;
  const functions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
  }));
  // Tools among the settings are those that the provider runs itself.
  const all = [...asList(settings.tools), ...functions];
  const options: Fields = {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(all.length > 0 ? { toolChoice: { type: 'auto' } } : {}),
    ...settings,
    prompt: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages.map(toPrompt)],
    ...(all.length > 0 ? { tools: all } : {}),
    abortSignal: signal,
  };
  return requires.length === 0 ? options : { ...options, providerOptions: withRequired(settings.providerOptions) };
}

/** In a provider's prompt, plain text becomes a part. */
function toPrompt(message: AiSdkMessage): AiSdkMessage {
  if (message.role === 'system' || typeof message.content !== 'string') return message;
  return { ...message, content: [{ type: 'text', text: message.content }] };
}

/** Assembles a stream into the result of `doGenerate`. */
async function readParts(stream: AsyncIterable<unknown>, onText: (delta: string) => void): Promise<Fields> {
  const content: Fields[] = [];
  const open = new Map<string, Fields>();
  let finish: Fields | undefined;
  for await (const part of stream) {
    if (!isRecord(part)) continue;
    const type = toText(part.type);
    if (type === 'error') throw part.error instanceof Error ? part.error : failed(part.error);
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (kind && step) {
      const block = open.get(`${kind} ${part.id}`) ?? { type: kind, text: '' };
      if (step === 'start') content.push(block);
      open.set(`${kind} ${part.id}`, block);
      block.text = `${toText(block.text)}${toText(part.delta)}`;
      if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
      if (type === 'text-delta' && part.delta) onText(toText(part.delta));
      if (step === 'end') open.delete(`${kind} ${part.id}`);
    } else if (CONTENT.has(type)) content.push(part);
    else if (type === 'finish') finish = part;
  }
  if (!finish) throw failed('the stream ended before the answer did');
  return { ...finish, content };
}

const CONTENT = new Set(['tool-call', 'tool-result', 'file']);

function failed(said: unknown): PalimpsestError {
  const text = isRecord(said) ? toText(said.message ?? said) : toText(said);
  return new PalimpsestError('MODEL_FAILED', `Expected an answer of the model but found: ${text}`, { cause: said });
}

function toReply(result: unknown): Reply<AiSdkMessage> {
  const { content, usage, finishReason } = isRecord(result) ? result : ({} as Fields);
  const parts = asList(content);
  const stop = stopOf(finishReason);
  // Some providers give the input of a cut call as the fields that were complete.
  const last = stop === 'length' ? parts.at(-1) : undefined;
  const calls = parts
    .filter((part) => part.type === 'tool-call' && part.providerExecuted !== true)
    .map((part) => (part === last ? cutOff(toCall(part)) : toCall(part)));
  const said = parts.flatMap(toMessagePart);
  return {
    messages: said.length > 0 ? [{ role: 'assistant', content: said }] : [],
    calls,
    text: parts.map((part) => (part.type === 'text' ? toText(part.text) : '')).join(''),
    stop,
    ...usageOf(usage),
  };
}

/** Sends provider metadata back as provider options. It holds signatures and the ids of items. */
function toMessagePart(part: Fields): Fields[] {
  const { type, providerMetadata } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  if (type === 'text') return part.text === '' ? [] : [{ type, text: part.text, ...options }];
  if (type === 'reasoning') return [{ type, text: part.text, ...options }];
  if (type === 'file') return [{ type, data: part.data, mediaType: part.mediaType, ...options }];
  const { toolCallId, toolName, providerExecuted } = part;
  if (type === 'tool-call') {
    const { arguments: args, malformed } = toCall(part);
    // Cut off. It must be sent back as an object; the result of the call will say that it was cut.
    const input = malformed === undefined ? args : {};
    const executed = providerExecuted === true ? { providerExecuted } : {};
    return [{ type, toolCallId, toolName, input, ...executed, ...options }];
  }
  if (type !== 'tool-result') return [];
  const output = { type: part.isError === true ? 'error-json' : 'json', value: part.result };
  return [{ type, toolCallId, toolName, output, ...options }];
}

const toCall = ({ toolCallId, toolName, input }: Fields): ToolCall =>
  readCall({ id: toText(toolCallId), name: toText(toolName), arguments: input });

/** A word in AI SDK 5; later versions add the provider's own word. */
function stopOf(reason: unknown): Stop {
  const { unified, raw } = isRecord(reason) ? reason : { unified: reason, raw: undefined };
  if (raw === 'model_context_window_exceeded') return 'context-full';
  if (raw === 'pause_turn') return 'pause';
  const word = asString(unified);
  return word === 'length' ? 'length' : word === 'content-filter' ? 'refusal' : 'end';
}
