import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';
import { markerOf } from './openai-chat.ts';

/** A message of the Messages API. */
export interface AnthropicMessage {
  role: string;
  content: unknown;
}

export const anthropic: Format<AnthropicMessage> = createFormat<AnthropicMessage>({
  name: 'anthropic',
  noteRole: 'user',
  viewer: () => new AnthropicViewer(),
  replace: (content, text) => (Array.isArray(content) ? [{ type: 'text', text, ...markerOf(content) }] : text),
  note: (_role, content) => ({ role: 'user', content }),
  check,
});

class AnthropicViewer implements Viewer<AnthropicMessage> {
  turn = 0;
  #index = 0;
  #inReply = false;
  readonly #calls = new Calls();

  add(message: AnthropicMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const isReply = message.role === 'assistant';
    // "consecutive user or assistant turns in your request will be combined into a single turn"
    if (isReply && !this.#inReply) this.turn += 1;
    this.#inReply = isReply;
    const { content } = message;
    if (typeof content === 'string') {
      const kind = isReply ? 'reasoning' : message.role === 'system' ? 'system' : 'user';
      into.push({ kind, turn: this.turn, message: index, path: ['content'], text: content });
      return;
    }
    if (!Array.isArray(content)) return;
    for (let i = 0; i < content.length; i++) {
      const block = content[i];
      if (isRecord(block)) into.push(this.#block(block, message.role, index, i));
    }
  }

  #block(block: Fields, role: string, message: number, i: number): Segment {
    const isReply = role === 'assistant';
    const type = asString(block.type) ?? '';
    const place = { turn: this.turn, message, path: ['content', i] };
    if (type === 'text') {
      const kind = isReply ? 'reasoning' : role === 'system' ? 'system' : 'user';
      return { kind, ...place, text: toText(block.text) };
    }
    if (type === 'thinking') {
      const signed = typeof block.signature === 'string';
      return { kind: 'reasoning', ...place, text: toText(block.thinking), bound: true, signed };
    }
    if (type === 'redacted_thinking') {
      return { kind: 'reasoning', ...place, text: '', media: [sizeEncrypted(block.data)], bound: true, signed: true };
    }
    if (isCall(type)) {
      const [callId, tool] = [asString(block.id) ?? '', asString(block.name) ?? 'tool'];
      this.#calls.made(callId, tool);
      return { kind: 'action', ...place, text: toText(block.input), callId, tool };
    }
    if (isResult(type)) return this.#result(block, type, place);
    return { kind: isReply ? 'reasoning' : 'user', ...place, text: '', media: [sizeBlock(block)], bound: isReply };
  }

  #result(block: Fields, type: string, place: { turn: number; message: number; path: (string | number)[] }): Segment {
    const id = asString(block.tool_use_id) ?? '';
    const call = this.#calls.answered(id);
    const body = readContent(block.content);
    return {
      kind: 'observation',
      turn: place.turn,
      message: place.message,
      path: [...place.path, 'content'],
      ...body,
      ...(call ? { callId: id } : {}),
      ...(call?.tool === undefined ? {} : { tool: call.tool }),
      ...(block.is_error === true ? { isError: true } : {}),
      // Results of server tools hold encrypted fields that must come back as they were.
      ...(type === 'tool_result' ? {} : { bound: true }),
    };
  }
}

const isCall = (type: string): boolean => type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use';
const isResult = (type: string): boolean => type.endsWith('tool_result');

function readContent(content: unknown): { text: string; media?: Media[] } {
  if (typeof content === 'string') return { text: content };
  const texts: string[] = [];
  const media: Media[] = [];
  for (const block of Array.isArray(content) ? asList(content) : isRecord(content) ? [content] : []) {
    if (block.type === 'text') texts.push(toText(block.text));
    else media.push(sizeBlock(block));
  }
  return media.length > 0 ? { text: texts.join('\n'), media } : { text: texts.join('\n') };
}

function sizeBlock(block: Fields): Media {
  const source = isRecord(block.source) ? block.source : undefined;
  if (block.type === 'image') return sizeMedia('anthropic', 'image', source?.data ?? source?.url);
  if (block.type === 'document' && source?.type !== 'text' && source?.type !== 'content') {
    return sizeMedia('anthropic', 'application/pdf', source?.data);
  }
  return sizeUnknown(block);
}

const pairWords: PairWords = {
  missing: (message, ids) =>
    `messages.${message}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
    `${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  orphan: (message, id) =>
    `messages.${message}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
};

function check(messages: readonly AnthropicMessage[]): Violation[] {
  const violations = checkPairs(pairSteps(messages), pairWords);
  violations.push(...checkMarkers(messages));
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message)) continue;
    const isEmpty = message.content === '' || (Array.isArray(message.content) && message.content.length === 0);
    const isLastReply = index === messages.length - 1 && message.role === 'assistant';
    if (isEmpty && !isLastReply) {
      const text = `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
      violations.push({ law: 'roles', message: index, text, about: 'empty content' });
    }
    if (asList(message.content).some((block) => block.type === 'text' && block.text === '')) {
      const text = 'messages: text content blocks must be non-empty';
      violations.push({ law: 'text', message: index, text, about: 'empty text' });
    }
  }
  if (messages[0]?.role === 'assistant') {
    const text = 'messages: first message must use the "user" role';
    violations.push({ law: 'roles', message: 0, text, about: 'first message' });
  }
  return violations;
}

function pairSteps(messages: readonly AnthropicMessage[]): PairStep[] {
  let turn = 0;
  let inReply = false;
  return messages.map((message): PairStep => {
    const blocks = asList(message?.content);
    if (message?.role === 'assistant') {
      if (!inReply) turn += 1;
      inReply = true;
      return { turn, calls: blocks.filter((b) => b.type === 'tool_use').map((b) => asString(b.id) ?? '') };
    }
    inReply = false;
    const results = blocks.filter((b) => b.type === 'tool_result').map((b) => asString(b.tool_use_id) ?? '');
    return { turn, results, closes: 'after' };
  });
}

function checkMarkers(messages: readonly AnthropicMessage[]): Violation[] {
  let found = 0;
  const violations: Violation[] = [];
  const visit = (block: Fields, message: number): void => {
    if (!isRecord(block.cache_control)) return;
    found += 1;
    if (block.type === 'text' && block.text === '') {
      const text = 'cache_control cannot be set for empty text blocks';
      violations.push({ law: 'metadata', message, text, about: 'empty marker' });
    }
  };
  for (const [index, message] of messages.entries()) {
    for (const block of asList(message?.content)) {
      visit(block, index);
      for (const inner of asList(block.content)) visit(inner, index);
    }
  }
  if (found > 4) {
    const text = `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`;
    violations.push({ law: 'metadata', message: messages.length - 1, text, about: 'cache_control' });
  }
  return violations;
}
