import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { newSegment, type Place, readContent, replaceText, withMedia } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A message of the Chat Completions API, as loose as its clients and clones write it. */
export interface OpenAIChatMessage {
  /** `system`, `developer`, `user`, `assistant` or `tool`. */
  role: string;
  /** A text, a list of parts, or null in a message that only calls tools. */
  content?: unknown;
}

const CONTENT = ['content'] as const;

/** OpenAI's Chat Completions, and compatible APIs. */
export const openaiChat: Format<OpenAIChatMessage> = createFormat<OpenAIChatMessage>({
  name: 'openai-chat',
  noteRole: 'system',
  viewer: () => new OpenAIChatViewer(),
  replace: replaceText,
  argumentPaths: [
    ['function', 'arguments'],
    ['function', 'input'],
    ['custom', 'arguments'],
    ['custom', 'input'],
    ['arguments'],
  ],
  note: (role, content) => ({ role, content }),
  check,
});

class OpenAIChatViewer implements Viewer<OpenAIChatMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #calls = new Calls();

  add(message: OpenAIChatMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    this.isReply = message.role === 'assistant';
    if (this.isReply) this.#addReply(message, index, into);
    else if (message.role === 'tool' || message.role === 'function') into.push(this.#result(message, index));
    else {
      const kind = message.role === 'system' || message.role === 'developer' ? 'system' : 'user';
      into.push(newSegment(kind, this.#at(index), readContent(message.content, sizePart)));
    }
  }

  #at(message: number): Place {
    return { turn: this.turn, message, path: CONTENT };
  }

  #addReply(message: Fields, index: number, into: Segment[]): void {
    const turn = ++this.turn;
    if (hasThoughts(message)) into.push(...thoughtsOf(message, { turn, message: index }));
    const content = readContent(message.content, sizePart);
    const refusal = asString(message.refusal);
    if (content.text !== '' || content.media) into.push(newSegment('reasoning', this.#at(index), content));
    if (refusal) into.push({ kind: 'reasoning', turn, message: index, path: ['refusal'], text: refusal });
    const list = Array.isArray(message.tool_calls) ? message.tool_calls : NO_CALLS;
    for (let i = 0; i < list.length; i++) this.#addCall(readCall(list[i], i), index, into);
    this.#addCall(readLegacyCall(message.function_call), index, into);
  }

  #addCall(call: Call | undefined, message: number, into: Segment[]): void {
    if (!call) return;
    const { path, callId, tool } = call;
    this.#calls.made(callId, tool);
    into.push(newSegment('action', { turn: this.turn, message, path }, call, call));
  }

  #result(message: Fields, index: number): Segment {
    const id = resultId(message);
    const call = id === undefined ? undefined : this.#calls.answered(id);
    const about = { callId: call ? id : undefined, tool: asString(message.name) ?? call?.tool };
    return newSegment('observation', this.#at(index), readContent(message.content, sizePart), about);
  }
}

function hasThoughts(message: Fields): boolean {
  const { reasoning_details, thinking_blocks, reasoning_content, reasoning } = message;
  return (reasoning_details ?? thinking_blocks ?? reasoning_content ?? reasoning) !== undefined;
}

/** DeepSeek: "reasoning_content must be passed back". OpenRouter's and LiteLLM's blocks say the same again, signed. */
function thoughtsOf(message: Fields, place: Omit<Place, 'path'>): Segment[] {
  for (const key of ['reasoning_details', 'thinking_blocks']) {
    const blocks = asList(message[key]);
    if (blocks.length > 0) return blocks.map((block, i) => ({ ...place, path: [key, i], ...readThought(block) }));
  }
  for (const key of ['reasoning_content', 'reasoning']) {
    const text = asString(message[key]);
    if (text) return [{ kind: 'reasoning', ...place, path: [key], text, bound: true }];
  }
  return [];
}

function readThought(block: Fields): Omit<Segment, keyof Place> {
  const text = toText(block.thinking ?? block.text ?? block.summary);
  const media = typeof block.data === 'string' ? [sizeEncrypted(block.data)] : [];
  const isSigned = Boolean(block.signature) || block.type === 'redacted_thinking';
  return { kind: 'reasoning', ...withMedia(text, media), bound: true, ...(isSigned ? { signed: true } : {}) };
}

/** Most replies have few calls: their paths are shared objects. */
const CALL_PATHS = [0, 1, 2, 3].map((i) => ['tool_calls', i] as const);

interface Call {
  readonly path: readonly (string | number)[];
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
}

const NO_CALLS: readonly unknown[] = [];

function readCall(call: unknown, i: number): Call | undefined {
  if (!isRecord(call)) return undefined;
  const body = (isRecord(call.function) ? call.function : isRecord(call.custom) ? call.custom : {}) as Fields;
  const text = toText(body.arguments ?? body.input);
  const path = CALL_PATHS[i] ?? ['tool_calls', i];
  return { path, callId: asString(call.id) ?? '', tool: asString(body.name) ?? 'tool', text };
}

function readLegacyCall(call: unknown): Call | undefined {
  if (!isRecord(call)) return undefined;
  const tool = asString(call.name) ?? 'function';
  return { path: ['function_call'], callId: legacyId(tool), tool, text: toText(call.arguments) };
}

function callIds(message: Fields): string[] {
  const list = Array.isArray(message.tool_calls) ? message.tool_calls : NO_CALLS;
  return [...list.map(readCall), readLegacyCall(message.function_call)].flatMap((call) => (call ? [call.callId] : []));
}

const legacyId = (name: string): string => `function ${name}`;

function resultId(message: Fields): string | undefined {
  const name = asString(message.name);
  if (message.role === 'function') return name === undefined ? undefined : legacyId(name);
  return asString(message.tool_call_id);
}

function sizePart(part: Fields): Media {
  const image = isRecord(part.image_url) ? part.image_url.url : part.image_url;
  if (image !== undefined) return sizeMedia('openai', 'image', image);
  if (isRecord(part.input_audio)) return sizeMedia('openai', 'audio', part.input_audio.data);
  if (isRecord(part.file)) return sizeMedia('openai', 'application', part.file.file_data);
  return sizeUnknown(part);
}

export const chatPairWords: PairWords = {
  missing: (_message, ids) =>
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
  orphan: () =>
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
};

function check(messages: readonly OpenAIChatMessage[]): Violation[] {
  const images: Violation[] = [];
  let turn = 0;
  const steps = messages.map((message, index): PairStep => {
    if (!isRecord(message)) return { turn };
    const fields: Fields = message;
    const isResult = message.role === 'tool' || message.role === 'function';
    if (!isResult) {
      const isReply = message.role === 'assistant';
      return {
        turn: isReply ? ++turn : turn,
        closes: 'before',
        calls: isReply ? callIds(fields) : [],
      };
    }
    if (message.role === 'tool' && asList(message.content).some((part) => part.type === 'image_url')) {
      const text =
        `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', ` +
        "but this message with role 'tool' contains an image URL.";
      images.push({ law: 'roles', message: index, text, about: asString(fields.tool_call_id) ?? String(index) });
    }
    return { turn, results: [resultId(fields) ?? ''] };
  });
  return [...checkPairs(steps, chatPairWords), ...images];
}
