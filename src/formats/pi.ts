import type { Format, Kind, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { newSegment, type Place, readContent, replaceText } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A message of pi: of the model, or an `AgentMessage` of an application. */
export interface PiMessage {
  /** `user`, `assistant`, `toolResult`, or a role of pi's own. */
  role: string;
  /** A text, or a list of blocks. */
  content?: unknown;
  /** Milliseconds since 1970. */
  timestamp?: number;
}

const CONTENT = ['content'] as const;

/** The messages of pi (`@earendil-works/pi-agent-core`). */
export const pi: Format<PiMessage> = createFormat<PiMessage>({
  name: 'pi',
  // A system message changes the prompt and the tools, and older versions have none.
  noteRole: 'user',
  viewer: () => new PiViewer(),
  replace: replaceText,
  argumentPaths: [['arguments']],
  note: (_role, content, messages) => ({ role: 'user', content, timestamp: firstTime(messages) }),
  check,
});

/** pi wants a time on every message. That of a note must not change from request to request. */
const firstTime = (messages: readonly PiMessage[]): number => {
  const times = messages.map((message) => message?.timestamp);
  return times.find((time) => typeof time === 'number') ?? 0;
};

class PiViewer implements Viewer<PiMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #calls = new Calls();

  add(message: PiMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const fields: Fields = message;
    this.isReply = fields.role === 'assistant';
    if (this.isReply) this.turn += 1;
    const place = { turn: this.turn, message: index, path: CONTENT };
    if (this.isReply) this.#addReply(fields, place, into);
    else if (fields.role === 'toolResult') into.push(this.#result(fields, place));
    else into.push(...otherMessage(fields, place));
  }

  #addReply(message: Fields, place: Place, into: Segment[]): void {
    const { content } = message;
    if (typeof content === 'string') into.push(newSegment('reasoning', place, { text: content }));
    for (const [i, part] of (Array.isArray(content) ? content : []).entries())
      if (isRecord(part)) into.push(this.#part(part, asString(message.api), { ...place, path: ['content', i] }));
  }

  #part(part: Fields, api: string | undefined, place: Place): Segment {
    const hasSignature = isText(part.textSignature) || isText(part.thoughtSignature);
    const bound = hasSignature || undefined;
    if (part.type === 'text') return newSegment('reasoning', place, { text: toText(part.text) }, { bound });
    if (part.type === 'thinking') return readThinking(part, api, place);
    if (part.type === 'toolCall') {
      const [callId, tool] = [asString(part.id) ?? '', asString(part.name) ?? 'tool'];
      this.#calls.made(callId, tool);
      return newSegment('action', place, { text: toText(part.arguments) }, { callId, tool, bound });
    }
    return { kind: 'reasoning', ...place, text: '', media: [sizePart(part)], bound: true };
  }

  #result(message: Fields, place: Place): Segment {
    const id = asString(message.toolCallId) ?? '';
    const call = this.#calls.answered(id);
    return newSegment('observation', place, readContent(message.content, sizePart), {
      callId: call && id,
      tool: asString(message.toolName) ?? call?.tool,
      isError: message.isError === true || undefined,
    });
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** APIs whose signatures cover everything before them. Those of others cover the thinking alone. */
const SIGNING = new Set(['anthropic-messages', 'bedrock-converse-stream']);

/** For OpenAI, the signature is the reasoning item with its encrypted content. Redacted thinking has only a signature. */
function readThinking(part: Fields, api: string | undefined, place: Place): Segment {
  const signature = isText(part.thinkingSignature) ? part.thinkingSignature : undefined;
  const isSigned = signature !== undefined && (api === undefined || SIGNING.has(api));
  const isHeld = part.redacted === true || signature?.startsWith('{');
  const media = signature !== undefined && isHeld ? [sizeEncrypted(signature)] : undefined;
  const about = { bound: signature === undefined ? undefined : true, signed: isSigned || undefined };
  return newSegment('reasoning', place, { text: toText(part.thinking), media }, about);
}

/** Messages of the user and the system, and of the application, which pi sends as the user's. */
function otherMessage(message: Fields, { path, ...place }: Place): Segment[] {
  const kind: Kind = message.role === 'system' ? 'system' : 'user';
  const segments: Segment[] = [];
  if (message.content !== undefined || kind === 'system')
    segments.push(newSegment(kind, { ...place, path }, readContent(message.content ?? '', sizePart)));
  if (message.excludeFromContext === true) return segments;
  for (const key of ['sections', 'toolsAdded', 'summary', 'command', 'output'])
    if (message[key] !== undefined && message[key] !== null)
      segments.push(newSegment(kind, { ...place, path: [key] }, { text: toText(message[key]) }));
  return segments;
}

function sizePart(part: Fields): Media {
  return part.type === 'image' ? sizeMedia('anthropic', 'image', part.data) : sizeUnknown(part);
}

const WORDS: PairWords = {
  missing: (_message, ids) => `Tool calls without a result, for which pi sends "No result provided": ${ids.join(', ')}`,
  orphan: (_message, id) => `Tool result ${id} has no tool call before it.`,
};

function check(messages: readonly PiMessage[]): Violation[] {
  let turn = 0;
  const steps = messages.map((message): PairStep => {
    const fields: Fields = isRecord(message) ? message : {};
    if (fields.role === 'toolResult') return { turn, results: [asString(fields.toolCallId) ?? ''] };
    // pi sends a system message only after the results.
    if (fields.role !== 'assistant') return { turn, closes: fields.role === 'system' ? undefined : 'before' };
    const calls = isSent(fields) ? asList(fields.content).filter(({ type }) => type === 'toolCall') : [];
    return { turn: ++turn, closes: 'before', calls: calls.map(({ id }) => asString(id) ?? '') };
  });
  return checkPairs(steps, WORDS);
}

/** "Skip errored/aborted assistant messages entirely." */
const isSent = ({ stopReason }: Fields): boolean => stopReason !== 'error' && stopReason !== 'aborted';
