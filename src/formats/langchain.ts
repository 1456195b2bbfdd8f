import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep } from './calls.ts';
import { newSegment, type Place, readContent, replaceText, withMedia } from './content.ts';
import { asList, asString, createFormat, type Fields, isAlike, isRecord, shallowCopy, toText } from './lens.ts';
import { chatPairWords } from './openai-chat.ts';

/** A LangChain message: an instance, its serialised form (`lc`, `kwargs`), or a plain `{ type, content }`. */
export type LangChainMessage = object;

/** LangChain's messages: instances, serialised or plain. */
export const langchain: Format<LangChainMessage> = createFormat<LangChainMessage>({
  name: 'langchain',
  // "System messages are only permitted as the first passed message" by several of its providers.
  noteRole: 'user',
  viewer: () => new LangChainViewer(),
  replace: replaceText,
  argumentPaths: [['function', 'args'], ['function', 'arguments'], ['args'], ['arguments']],
  note: (_role, text, messages) => humanMessage(text, messages),
  check,
  finish(draft, before) {
    alignCopies(draft, before);
    alignArguments(draft);
  },
});

class LangChainViewer implements Viewer<LangChainMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #calls = new Calls();

  add(message: LangChainMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const type = typeOf(message);
    const root = rootOf(message);
    const fields = fieldsOf(message);
    this.isReply = type === 'ai';
    if (this.isReply) this.#addReply(fields, root, index, into);
    else if (type === 'tool' || type === 'function') into.push(this.#result(fields, root, index));
    else {
      const kind = type === 'system' || type === 'developer' ? 'system' : 'user';
      const key = contentKey(fields);
      const place = { turn: this.turn, message: index, path: [...root, key] };
      into.push(newSegment(kind, place, readContent(fields[key], sizeBlock)));
    }
  }

  #addReply(fields: Fields, root: readonly string[], message: number, into: Segment[]): void {
    const turn = ++this.turn;
    const key = contentKey(fields);
    const content = fields[key];
    into.push(...thoughtsOf(fields, { turn, message, path: [...root, 'additional_kwargs'] }));
    if (typeof content === 'string' && content !== '') {
      into.push(newSegment('reasoning', { turn, message, path: [...root, key] }, { text: content }));
    }
    for (const [i, block] of (Array.isArray(content) ? content : []).entries()) {
      const path = [...root, key, i];
      if (typeof block === 'string') into.push({ kind: 'reasoning', turn, message, path, text: block });
      else if (isRecord(block) && !CALL_BLOCKS.has(String(block.type)))
        into.push({ kind: 'reasoning', turn, message, path, ...readBlock(block) });
    }
    for (const { callId, tool, text, path } of callsOf(fields)) {
      this.#calls.made(callId, tool);
      into.push(newSegment('action', { turn, message, path: [...root, ...path] }, { text }, { callId, tool }));
    }
    for (const { callId, tool, text, path } of invalidCallsOf(fields)) {
      this.#calls.made(callId, tool);
      into.push({ kind: 'reasoning', turn, message, path: [...root, ...path], text });
    }
  }

  #result(fields: Fields, root: readonly string[], message: number): Segment {
    const id = asString(fields.tool_call_id);
    const call = id === undefined ? undefined : this.#calls.answered(id);
    const key = contentKey(fields);
    const place = { turn: this.turn, message, path: [...root, key] };
    return newSegment('observation', place, readContent(fields[key], sizeBlock), {
      callId: call && id,
      tool: asString(fields.name) ?? call?.tool,
      isError: fields.status === 'error' || undefined,
    });
  }
}

/** Blocks of calls that `tool_calls` contains too. They must not be counted twice. */
const CALL_BLOCKS = new Set(['tool_use', 'tool_call', 'tool_call_chunk', 'function_call', 'functionCall']);

interface Call {
  readonly path: readonly (string | number)[];
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
}

function callsOf(fields: Fields): Call[] {
  const own = callsAt(fields, 'tool_calls');
  if (own.length > 0 || invalidCallsOf(fields).length > 0 || !isRecord(fields.additional_kwargs)) return own;
  const raw = callsAt(fields.additional_kwargs, 'tool_calls');
  return raw.map((call) => ({ ...call, path: ['additional_kwargs', ...call.path] }));
}

/** Calls that could not be parsed. They may be answered with an error, but need not be. */
const invalidCallsOf = (fields: Fields): Call[] => callsAt(fields, 'invalid_tool_calls');

function callsAt(fields: Fields, key: string): Call[] {
  const list = Array.isArray(fields[key]) ? fields[key] : [];
  return list.flatMap((call: unknown, i) => {
    if (!isRecord(call)) return [];
    const body = isRecord(call.function) ? call.function : call;
    const [callId, tool] = [asString(call.id) ?? '', asString(body.name) ?? 'tool'];
    return { path: [key, i], callId, tool, text: toText(body.args ?? body.arguments) };
  });
}

/** OpenAI's reasoning item and DeepSeek's `reasoning_content`, which the integrations keep outside the content. */
function thoughtsOf({ additional_kwargs: kwargs }: Fields, { path, ...place }: Place): Segment[] {
  if (!isRecord(kwargs)) return [];
  const text = asString(kwargs.reasoning_content);
  const item = isRecord(kwargs.reasoning) ? kwargs.reasoning : undefined;
  const thoughts: Segment[] = [];
  if (text) thoughts.push({ kind: 'reasoning', ...place, path: [...path, 'reasoning_content'], text, bound: true });
  if (item) {
    const summary = asList(item.summary).map((part) => toText(part.text));
    const media = typeof item.encrypted_content === 'string' ? [sizeEncrypted(item.encrypted_content)] : [];
    const content = withMedia(summary.join('\n'), media);
    thoughts.push({ kind: 'reasoning', ...place, path: [...path, 'reasoning'], ...content, bound: true });
  }
  return thoughts;
}

const CLASS_TYPES: Record<string, string> = {
  HumanMessage: 'human',
  AIMessage: 'ai',
  AIMessageChunk: 'ai',
  SystemMessage: 'system',
  ToolMessage: 'tool',
  FunctionMessage: 'function',
  ChatMessage: 'generic',
};

const isSerialised = (message: Fields): boolean => message.lc === 1 && isRecord(message.kwargs);

/** The type of a message. Undefined if it is not a LangChain message. */
export function typeOf(message: Fields): string | undefined {
  if (isSerialised(message)) return CLASS_TYPES[String(asStrings(message.id).at(-1))];
  for (const method of ['getType', '_getType'] as const) {
    const read = message[method];
    if (typeof read === 'function') return asString(read.call(message));
  }
  return asString(message.type);
}

const asStrings = (value: unknown): readonly string[] => (Array.isArray(value) ? value : []);

function rootOf(message: Fields): readonly string[] {
  if (isSerialised(message)) return ['kwargs'];
  return isRecord(message.data) && message.content === undefined ? ['data'] : [];
}

function fieldsOf(message: Fields): Fields {
  const [root] = rootOf(message);
  return root === undefined ? message : (message[root] as Fields);
}

/** The content of a message made of standard blocks is serialised under another name. */
const contentKey = (fields: Fields): string =>
  fields.content === undefined && fields.content_blocks !== undefined ? 'content_blocks' : 'content';

function readBlock(block: Fields): Pick<Segment, 'text' | 'media' | 'bound' | 'signed'> {
  const bedrock = isRecord(block.reasoningText) ? block.reasoningText : {};
  const thought = asString(block.thinking) ?? asString(block.reasoning) ?? asString(bedrock.text);
  if (thought !== undefined) {
    const signed = block.signature || bedrock.signature ? { signed: true } : {};
    return { text: thought, bound: true, ...signed };
  }
  const content = readContent(block, sizeBlock);
  if (!content.media) return content;
  return { ...content, bound: true, ...(block.type === 'redacted_thinking' ? { signed: true } : {}) };
}

function sizeBlock(block: Fields): Media {
  const source = isRecord(block.source) ? block.source : {};
  const url = isRecord(block.image_url) ? block.image_url.url : block.image_url;
  const data = block.data ?? source.data ?? url ?? block.url;
  const type = asString(block.type) ?? '';
  if (type.includes('image')) return sizeMedia('anthropic', 'image', data);
  const mime = asString(block.mimeType) ?? asString(block.mime_type);
  if (mime !== undefined || type === 'file' || type === 'document')
    return sizeMedia('anthropic', mime ?? 'application', data);
  return sizeUnknown(block);
}

/**
 * Integrations send calls from where their provider put them, not from `tool_calls`: among the blocks of the content, or in the
 * provider's original answer.
 */
function alignCopies(draft: LangChainMessage, before: LangChainMessage): void {
  const fields = fieldsOf(draft as Fields);
  const [old, edited] = [fieldsOf(before as Fields).tool_calls, fields.tool_calls];
  if (old === edited) return;
  const alignOne = (copy: unknown): unknown => {
    if (!isRecord(copy)) return copy;
    const i = asList(old).findIndex(({ id }) => id !== undefined && id === (copy.call_id ?? copy.id));
    const [from, to] = [asList(old)[i]?.args, asList(edited)[i]?.args];
    if (from === to) return copy;
    return isRecord(copy.function)
      ? { ...copy, function: withArguments(copy.function, from, to) }
      : withArguments(copy, from, to);
  };
  const align = (copies: unknown): unknown => (Array.isArray(copies) ? copies.map(alignOne) : copies);
  const key = contentKey(fields);
  fields[key] = align(fields[key]);
  for (const [name, list] of COPIES) {
    const holder = fields[name];
    if (isRecord(holder) && holder[list] !== undefined) fields[name] = { ...holder, [list]: align(holder[list]) };
  }
}

/** The answer of OpenAI's Responses API, and the calls of Chat Completions. */
const COPIES = [
  ['response_metadata', 'output'],
  ['additional_kwargs', 'tool_calls'],
] as const;

/** A call with new arguments in the shape of the old ones: an object, or text. */
function withArguments(call: Fields, from: unknown, to: unknown): Fields {
  const name = ['input', 'args', 'arguments'].find((one) => call[one] !== undefined);
  if (name === undefined) return call;
  const written = call[name];
  if (isAlike(written, from)) return { ...call, [name]: to };
  return typeof written === 'string' && isAlike(parse(written), from) ? { ...call, [name]: JSON.stringify(to) } : call;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** LangChain keeps the constructor's arguments as well as the fields, and serialises from both. */
function alignArguments(message: LangChainMessage): void {
  const fields = message as Fields;
  if (!isRecord(fields.lc_kwargs)) return;
  const { contentBlocks: _blocks, content_blocks: _serialised, ...rest } = fields.lc_kwargs;
  const names = ['tool_calls', 'response_metadata', 'additional_kwargs'].filter((name) => rest[name] !== undefined);
  const aligned = Object.fromEntries(names.map((name) => [name, fields[name]]));
  fields.lc_kwargs = { ...rest, ...aligned, content: fields.content };
}

/** Built like a human message of the list, so that a list of instances stays one. */
function humanMessage(text: string, messages: readonly LangChainMessage[]): LangChainMessage {
  const model = messages.find((message) => isRecord(message) && typeOf(message) === 'human') as Fields | undefined;
  const [root] = model ? rootOf(model) : [];
  if (model && root !== undefined) return { ...model, [root]: { content: text } };
  if (!model || Object.getPrototypeOf(model) === Object.prototype) return { type: 'human', content: text };
  const own = { content: text, additional_kwargs: {}, response_metadata: {} };
  return Object.assign(shallowCopy(model), own, { id: undefined, name: undefined, lc_kwargs: own });
}

function check(messages: readonly LangChainMessage[]): Violation[] {
  let turn = 0;
  const invalid = new Set<string>();
  const steps = messages.map((message): PairStep => {
    if (!isRecord(message)) return { turn };
    const type = typeOf(message);
    const fields = fieldsOf(message);
    if (type === 'ai') {
      for (const { callId } of invalidCallsOf(fields)) invalid.add(callId);
      return { turn: ++turn, calls: callsOf(fields).map((call) => call.callId) };
    }
    const id = asString(fields.tool_call_id) ?? '';
    return type === 'tool' && !invalid.has(id) ? { turn, results: [id] } : { turn };
  });
  return checkPairs(steps, chatPairWords);
}
