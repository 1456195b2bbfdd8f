import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { newSegment, type Place, readContent, replaceText } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A message of the Messages API. */
export interface AnthropicMessage {
  /** `user` or `assistant`; `system` in some APIs. */
  role: string;
  /** A text, or a list of blocks, such as `text`, `tool_use`, `tool_result` and `thinking`. */
  content: unknown;
}

/** Anthropic's Messages API. */
export const anthropic: Format<AnthropicMessage> = createFormat<AnthropicMessage>({
  name: 'anthropic',
  noteRole: 'user',
  viewer: () => new AnthropicViewer(),
  replace: replaceText,
  argumentPaths: [['input']],
  note: (_role, content) => ({ role: 'user', content }),
  check,
});

class AnthropicViewer implements Viewer<AnthropicMessage> {
  turn = 0;
  #index = 0;
  isReply = false;
  readonly #calls = new Calls();

  add(message: AnthropicMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const isReply = message.role === 'assistant';
    // "consecutive user or assistant turns in your request will be combined into a single turn"
    if (isReply && !this.isReply) this.turn += 1;
    this.isReply = isReply;
    const kind = isReply ? 'reasoning' : message.role === 'system' ? 'system' : 'user';
    const { turn } = this;
    const { content } = message;
    if (typeof content === 'string')
      into.push(newSegment(kind, { turn, message: index, path: ['content'] }, { text: content }));
    if (!Array.isArray(content)) return;
    for (let i = 0; i < content.length; i++) {
      const block: unknown = content[i];
      const place = { turn, message: index, path: ['content', i] };
      if (isRecord(block)) into.push(this.#block(block, kind, place));
      else if (typeof block === 'string') into.push(newSegment(kind, place, { text: block }));
    }
  }

  #block(block: Fields, kind: 'reasoning' | 'system' | 'user', place: Place): Segment {
    const type = asString(block.type) ?? '';
    if (type === 'text') return newSegment(kind, place, { text: toText(block.text) });
    if (type === 'thinking') {
      const signed = block.signature ? true : undefined;
      return newSegment('reasoning', place, { text: toText(block.thinking) }, { bound: true, signed });
    }
    if (type === 'redacted_thinking') {
      return { kind: 'reasoning', ...place, text: '', media: [sizeEncrypted(block.data)], bound: true, signed: true };
    }
    if (isCall(type)) {
      const [callId, tool] = [asString(block.id) ?? '', asString(block.name) ?? 'tool'];
      this.#calls.made(callId, tool);
      return newSegment('action', place, { text: toText(block.input) }, { callId, tool });
    }
    if (isResult(type)) return this.#result(block, type, place);
    return { kind, ...place, text: '', media: [sizeBlock(block)], bound: kind === 'reasoning' };
  }

  #result(block: Fields, type: string, place: Place): Segment {
    const id = asString(block.tool_use_id) ?? '';
    const call = this.#calls.answered(id);
    const { turn, message, path } = place;
    return newSegment(
      'observation',
      { turn, message, path: [...path, 'content'] },
      readContent(block.content, sizeBlock),
      {
        callId: call && id,
        tool: call?.tool,
        isError: block.is_error === true || undefined,
        // Results of server tools hold encrypted fields that must come back unchanged. A tool that was found by a search is available
        // only as long as the reference to it is in the history.
        bound: type !== 'tool_result' || hasReference(block.content) || undefined,
      },
    );
  }
}

const hasReference = (content: unknown): boolean => asList(content).some(({ type }) => type === 'tool_reference');
const isServerCall = (type: string): boolean => type === 'server_tool_use' || type === 'mcp_tool_use';
const isCall = (type: string): boolean => type === 'tool_use' || isServerCall(type);
const isResult = (type: string): boolean => type.endsWith('tool_result');

function sizeBlock(block: Fields): Media {
  const source = isRecord(block.source) ? block.source : undefined;
  if (block.type === 'image') return sizeMedia('anthropic', 'image', source?.data ?? source?.url);
  if (block.type === 'document' && source?.type !== 'text' && source?.type !== 'content') {
    return sizeMedia('anthropic', 'application/pdf', source?.data);
  }
  return sizeUnknown(block);
}

function check(messages: readonly AnthropicMessage[]): Violation[] {
  const violations = checkPairs(pairSteps(messages), pairWords(messages));
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
  if (isRecord(messages[0]) && messages[0].role === 'assistant') {
    const text = 'messages: first message must use the "user" role';
    violations.push({ law: 'roles', message: 0, text, about: 'first message' });
  }
  return [...violations, ...checkCallIds(messages), ...checkMarkers(messages)];
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
    // "the tool_result blocks must come FIRST in the content array. Any text must come AFTER all tool results."
    const first = blocks.findIndex((b) => b.type !== 'tool_result');
    const results = blocks.slice(0, first < 0 ? blocks.length : first);
    return { turn, results: results.map((b) => asString(b.tool_use_id) ?? ''), closes: 'after' };
  });
}

function pairWords(messages: readonly AnthropicMessage[]): PairWords {
  return {
    missing: (message, ids) =>
      `messages.${message}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
      `${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    orphan(message, id) {
      const blocks = asList(messages[message]?.content);
      const isAnswer = (block: Fields): boolean => asString(block.tool_use_id) === id;
      const last = `messages.${message}.content.${blocks.findLastIndex(isAnswer)}`;
      return blocks.filter(isAnswer).length > 1
        ? `${last}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`
        : `${last}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
            'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.';
    },
  };
}

/** Each id names one call, and the result of a server tool comes after its call. */
function checkCallIds(messages: readonly AnthropicMessage[]): Violation[] {
  const calls = new Set<string>();
  const violations: Violation[] = [];
  for (const [message, { content }] of messages.map((m) => m ?? { content: undefined }).entries()) {
    for (const [i, block] of asList(content).entries()) {
      const type = asString(block.type) ?? '';
      const about = asString(isCall(type) ? block.id : block.tool_use_id) ?? '';
      const place = `messages.${message}.content.${i}`;
      if (isCall(type) && calls.has(about)) {
        const text = `${place}: \`tool_use\` ids must be unique`;
        violations.push({ law: 'pairs', message, text, about: `second ${about}` });
      } else if (isCall(type)) calls.add(about);
      else if (isResult(type) && type !== 'tool_result' && !calls.has(about)) {
        const text =
          `${place}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${about}. ` +
          `Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`;
        violations.push({ law: 'pairs', message, text, about });
      }
    }
  }
  return violations;
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
