import type { Format, Kind, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { type Content, newSegment, type Place, withMedia } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A message of Bedrock's Converse. */
export interface BedrockConverseMessage {
  /** `user` or `assistant`. */
  role?: string | undefined;
  /** A list of blocks, such as `{ text }`, `{ toolUse }` and `{ toolResult }`. */
  content?: unknown;
}

/** Amazon Bedrock's Converse and ConverseStream. A block has one field, which names its kind. */
export const bedrockConverse: Format<BedrockConverseMessage> = createFormat<BedrockConverseMessage>({
  name: 'bedrock-converse',
  noteRole: 'user',
  viewer: () => new BedrockConverseViewer(),
  replace: (_content, text) => [{ text }],
  argumentPaths: [['toolUse', 'input']],
  note: (_role, text) => ({ role: 'user', content: [{ text }] }),
  check,
});

class BedrockConverseViewer implements Viewer<BedrockConverseMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #calls = new Calls();

  add(message: BedrockConverseMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const isReply = message.role === 'assistant';
    if (isReply && !this.isReply) this.turn += 1;
    this.isReply = isReply;
    const kind = isReply ? 'reasoning' : message.role === 'system' ? 'system' : 'user';
    const { content } = message;
    if (!Array.isArray(content)) return;
    for (let i = 0; i < content.length; i++) {
      const block: unknown = content[i];
      const place = { turn: this.turn, message: index, path: ['content', i] };
      if (isRecord(block) && !isRecord(block.cachePoint)) into.push(this.#block(block, kind, place));
    }
  }

  #block(block: Fields, kind: Kind, place: Place): Segment {
    if (typeof block.text === 'string') return newSegment(kind, place, { text: block.text });
    if (isRecord(block.reasoningContent)) return readReasoning(block.reasoningContent, place);
    if (isRecord(block.toolUse)) {
      const { toolUse } = block;
      const [callId, tool] = [asString(toolUse.toolUseId) ?? '', asString(toolUse.name) ?? 'tool'];
      this.#calls.made(callId, tool);
      // The provider ran a tool of its own, and has its result in the same reply.
      const bound = toolUse.type === undefined ? undefined : true;
      return newSegment('action', place, { text: toText(toolUse.input) }, { callId, tool, bound });
    }
    if (isRecord(block.toolResult)) return this.#result(block.toolResult, kind, place);
    const cited = isRecord(block.citationsContent) ? asList(block.citationsContent.content) : undefined;
    if (cited) return newSegment(kind, place, { text: cited.map(({ text }) => toText(text)).join('\n') });
    const guarded = isRecord(block.guardContent) && isRecord(block.guardContent.text) ? block.guardContent.text : {};
    if (typeof guarded.text === 'string') return newSegment(kind, place, { text: guarded.text });
    return { kind, ...place, text: '', media: [sizeBlock(block)], bound: kind === 'reasoning' };
  }

  #result(result: Fields, kind: Kind, place: Place): Segment {
    const id = asString(result.toolUseId) ?? '';
    const call = this.#calls.answered(id);
    const path = [...place.path, 'toolResult', 'content'];
    return newSegment('observation', { ...place, path }, readResult(result.content), {
      callId: call && id,
      tool: call?.tool,
      isError: result.status === 'error' || undefined,
      // A result inside a reply belongs to a tool that the provider ran.
      bound: kind === 'reasoning' || result.type !== undefined || undefined,
    });
  }
}

/** A signature covers everything before it. Redacted reasoning is bytes, or base64 in JSON. */
function readReasoning({ reasoningText, redactedContent }: Fields, place: Place): Segment {
  if (isRecord(reasoningText)) {
    const signed = reasoningText.signature ? true : undefined;
    return newSegment('reasoning', place, { text: toText(reasoningText.text) }, { bound: true, signed });
  }
  return { kind: 'reasoning', ...place, text: '', media: [sizeEncrypted(redactedContent)], bound: true, signed: true };
}

function readResult(content: unknown): Content {
  const texts: string[] = [];
  const media: Media[] = [];
  for (const block of asList(content)) {
    if (typeof block.text === 'string') texts.push(block.text);
    else if (block.json !== undefined) texts.push(toText(block.json));
    else media.push(sizeBlock(block));
  }
  return withMedia(texts.join('\n'), media);
}

function sizeBlock(block: Fields): Media {
  for (const [key, type] of MEDIA) {
    const media = block[key];
    if (!isRecord(media)) continue;
    const source = isRecord(media.source) ? media.source : {};
    // A document may be given as text.
    if (source.bytes === undefined && source.s3Location === undefined) return { ...sizeUnknown(block), type: 'file' };
    return sizeMedia('anthropic', type, source.bytes);
  }
  return sizeUnknown(block);
}

const MEDIA = [
  ['image', 'image'],
  ['document', 'application'],
  ['video', 'video'],
  ['audio', 'audio'],
  ['searchResult', 'application'],
] as const;

const WORDS: PairWords = {
  missing: (message, ids) =>
    `Expected toolResult blocks at messages.${message + 1}.content for the following Ids: ${ids.join(', ')}`,
  orphan: (message, id) =>
    `The toolResult blocks at messages.${message}.content contain an id that no toolUse block before them has: ${id}`,
};

function check(messages: readonly BedrockConverseMessage[]): Violation[] {
  let turn = 0;
  let inReply = false;
  const steps = messages.map((message): PairStep => {
    const blocks = asList(message?.content);
    if (message?.role !== 'assistant') {
      inReply = false;
      return { turn, results: idsOf(blocks, 'toolResult'), closes: message?.role === 'system' ? undefined : 'after' };
    }
    if (!inReply) turn += 1;
    inReply = true;
    const answered = new Set(idsOf(blocks, 'toolResult'));
    return { turn, calls: idsOf(blocks, 'toolUse').filter((id) => !answered.has(id)) };
  });
  const violations = checkPairs(steps, WORDS);
  const [first] = messages;
  if (isRecord(first) && first.role === 'assistant') {
    const text =
      'A conversation must start with a user message. Try again with a conversation that starts with a user message.';
    violations.push({ law: 'roles', message: 0, text, about: 'first message' });
  }
  return [...violations, ...checkTexts(messages)];
}

function checkTexts(messages: readonly BedrockConverseMessage[]): Violation[] {
  const violations: Violation[] = [];
  for (const [message, { content }] of messages.map((m) => m ?? { content: undefined }).entries()) {
    const results = asList(content).map(({ toolResult }) => (isRecord(toolResult) ? toolResult.content : undefined));
    const isBlank = (blocks: unknown): boolean => asList(blocks).some(({ text }) => text === '');
    if (![content, ...results].some(isBlank)) continue;
    const text = 'messages: text content blocks must be non-empty';
    violations.push({ law: 'text', message, text, about: 'empty text' });
  }
  return violations;
}

const idsOf = (blocks: readonly Fields[], key: 'toolUse' | 'toolResult'): string[] =>
  blocks.flatMap((block) => {
    const { [key]: inner } = block;
    return isRecord(inner) ? [asString(inner.toolUseId) ?? ''] : [];
  });
