import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep } from './calls.ts';
import { asList, asString, createFormat, type Fields, isRecord, shallowCopy, toText } from './lens.ts';
import { chatPairWords, markerOf } from './openai-chat.ts';

/** A LangChain message: an instance, its serialised form (`lc`, `kwargs`), or a plain `{ type, content }`. */
export type LangChainMessage = object;

export const langchain: Format<LangChainMessage> = createFormat<LangChainMessage>({
  name: 'langchain',
  // "System messages are only permitted as the first passed message" by several of its providers.
  noteRole: 'user',
  viewer: () => new LangChainViewer(),
  replace: (content, text) => (Array.isArray(content) ? [{ type: 'text', text, ...markerOf(content) }] : text),
  note: (_role, text, messages) => humanMessage(text, messages),
  check,
  finish: alignArguments,
});

class LangChainViewer implements Viewer<LangChainMessage> {
  turn = 0;
  #index = 0;
  readonly #calls = new Calls();

  add(message: LangChainMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const type = typeOf(message);
    const root = rootOf(message);
    const fields = fieldsOf(message);
    if (type === 'ai') this.#addReply(fields, root, index, into);
    else if (type === 'tool' || type === 'function') into.push(this.#result(fields, root, index));
    else {
      const kind = type === 'system' || type === 'developer' ? 'system' : 'user';
      into.push({ kind, turn: this.turn, message: index, path: [...root, 'content'], ...readContent(fields.content) });
    }
  }

  #addReply(fields: Fields, root: readonly string[], message: number, into: Segment[]): void {
    const turn = ++this.turn;
    const { content } = fields;
    if (typeof content === 'string' && content !== '') {
      into.push({ kind: 'reasoning', turn, message, path: [...root, 'content'], text: content });
    }
    for (const [i, block] of (Array.isArray(content) ? content : []).entries()) {
      // The call itself is in `tool_calls` too; its block must not be counted twice.
      if (isRecord(block) && block.type !== 'tool_use' && block.type !== 'tool_call') {
        into.push({ kind: 'reasoning', turn, message, path: [...root, 'content', i], ...readBlock(block) });
      }
    }
    for (const [i, call] of asList(fields.tool_calls).entries()) {
      const [callId, tool] = [asString(call.id) ?? '', asString(call.name) ?? 'tool'];
      this.#calls.made(callId, tool);
      into.push({
        kind: 'action',
        turn,
        message,
        path: [...root, 'tool_calls', i],
        text: toText(call.args),
        callId,
        tool,
      });
    }
  }

  #result(fields: Fields, root: readonly string[], message: number): Segment {
    const id = asString(fields.tool_call_id);
    const call = id === undefined ? undefined : this.#calls.answered(id);
    const tool = asString(fields.name) ?? call?.tool;
    return {
      kind: 'observation',
      turn: this.turn,
      message,
      path: [...root, 'content'],
      ...readContent(fields.content),
      ...(call ? { callId: id as string } : {}),
      ...(tool === undefined ? {} : { tool }),
      ...(fields.status === 'error' ? { isError: true } : {}),
    };
  }
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

/** What kind of message this is, or undefined if it is none of LangChain's. */
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

function readContent(content: unknown): { text: string; media?: Media[] } {
  if (typeof content === 'string') return { text: content };
  const texts: string[] = [];
  const media: Media[] = [];
  for (const block of asList(content)) {
    if (typeof block.text === 'string') texts.push(block.text);
    else media.push(sizeBlock(block));
  }
  return media.length > 0 ? { text: texts.join('\n'), media } : { text: texts.join('\n') };
}

function readBlock(block: Fields): { text: string; media?: Media[]; bound?: boolean; signed?: boolean } {
  const thought = asString(block.thinking) ?? asString(block.reasoning);
  if (thought !== undefined) return { text: thought, bound: true, signed: block.signature !== undefined };
  if (typeof block.text === 'string') return { text: block.text };
  return { text: '', media: [sizeBlock(block)], bound: true, signed: block.type === 'redacted_thinking' };
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

/** LangChain keeps the constructor's arguments beside the fields, and serialises from both. */
function alignArguments(message: LangChainMessage): void {
  const fields = message as Fields;
  if (isRecord(fields.lc_kwargs)) fields.lc_kwargs = { ...fields.lc_kwargs, content: fields.content };
}

/** Made in the likeness of a human message of the list, so that instances stay among instances. */
function humanMessage(text: string, messages: readonly LangChainMessage[]): LangChainMessage {
  const model = messages.find((message) => isRecord(message) && typeOf(message) === 'human');
  if (!model) return { type: 'human', content: text };
  const copy = shallowCopy(model) as Fields;
  const [root] = rootOf(copy);
  if (root !== undefined) copy[root] = { content: text };
  else {
    copy.content = text;
    if ('id' in copy) copy.id = undefined;
    alignArguments(copy);
  }
  return copy;
}

function check(messages: readonly LangChainMessage[]): Violation[] {
  let turn = 0;
  const steps = messages.map((message): PairStep => {
    if (!isRecord(message)) return { turn };
    const type = typeOf(message);
    const fields = fieldsOf(message);
    if (type === 'ai') return { turn: ++turn, calls: asList(fields.tool_calls).map((call) => asString(call.id) ?? '') };
    return type === 'tool' ? { turn, results: [asString(fields.tool_call_id) ?? ''] } : { turn };
  });
  return checkPairs(steps, chatPairWords);
}
