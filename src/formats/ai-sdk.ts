import type { Format, Kind, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { type Content, newSegment, type Place, readContent } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A `ModelMessage` of the AI SDK, or a message of the prompt its providers get. */
export interface AiSdkMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  role: string;
  /** A text, or a list of parts: text, reasoning, tool calls, tool results, files. */
  content: unknown;
}

/** The AI SDK's `ModelMessage`s, and the prompt that its providers get. */
export const aiSdk: Format<AiSdkMessage> = createFormat<AiSdkMessage>({
  name: 'ai-sdk',
  // `allowSystemInMessages` is off by default there: a system message among the others is rejected.
  noteRole: 'user',
  viewer: () => new AiSdkViewer(),
  replace: replaceOutput,
  argumentPaths: [['input'], ['args']],
  note: (_role, text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  check,
});

class AiSdkViewer implements Viewer<AiSdkMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #calls = new Calls();
  /** Calls of the provider's own tools. */
  readonly #executed = new Set<string>();

  add(message: AiSdkMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const { role, content } = message;
    this.isReply = role === 'assistant';
    if (this.isReply) this.turn += 1;
    const kind = KINDS.get(role) ?? 'user';
    const place = { turn: this.turn, message: index };
    if (typeof content === 'string') into.push(newSegment(kind, { ...place, path: ['content'] }, { text: content }));
    if (!Array.isArray(content)) return;
    for (const [i, part] of content.entries()) {
      if (isRecord(part)) into.push(this.#part(part, kind, { ...place, path: partPath(i) }));
      else if (typeof part === 'string') into.push(newSegment(kind, { ...place, path: partPath(i) }, { text: part }));
    }
  }

  #part(part: Fields, kind: Kind, place: Place): Segment {
    if (part.type === 'text') return newSegment(kind, place, { text: toText(part.text) });
    if (part.type === 'reasoning') return { kind, ...place, text: toText(part.text), ...bindingOf(part) };
    if (part.type === 'tool-call') {
      const [callId, tool] = [asString(part.toolCallId) ?? '', asString(part.toolName) ?? 'tool'];
      this.#calls.made(callId, tool);
      if (part.providerExecuted === true) this.#executed.add(callId);
      return newSegment('action', place, { text: toText(part.input ?? part.args) }, { callId, tool });
    }
    if (part.type === 'tool-result') return this.#result(part, kind, place);
    return { kind, ...place, text: '', media: [sizePart(part)], bound: kind === 'reasoning' };
  }

  #result(part: Fields, kind: Kind, place: Place): Segment {
    const id = asString(part.toolCallId) ?? '';
    const call = this.#calls.answered(id);
    const { output } = part;
    return newSegment('observation', { ...place, path: outputPath(place.path[1] as number) }, readOutput(output), {
      callId: call && id,
      tool: asString(part.toolName) ?? call?.tool,
      isError: isFailure(output) || undefined,
      // The provider expects results of its own tools in their own shape: inside a reply, or after an approval.
      bound: kind === 'reasoning' || this.#executed.has(id) || !REPLACEABLE.has(outputType(output)) || undefined,
    });
  }
}

/** Most messages have few parts: their paths are shared objects. */
const PART_PATHS = [0, 1, 2, 3].map((i) => ['content', i] as const);
const OUTPUT_PATHS = [0, 1, 2, 3].map((i) => ['content', i, 'output'] as const);
const partPath = (i: number): Place['path'] => PART_PATHS[i] ?? ['content', i];
const outputPath = (i: number): Place['path'] => OUTPUT_PATHS[i] ?? ['content', i, 'output'];

/** Other parts of a `tool` message, such as an approval, are not the user's words. */
const KINDS = new Map<string, Kind>([
  ['assistant', 'reasoning'],
  ['system', 'system'],
  ['tool', 'observation'],
]);

/** Also counts the size of encrypted and redacted reasoning. */
function bindingOf(part: Fields): Partial<Segment> {
  const options = part.providerOptions ?? part.providerMetadata;
  if (!isRecord(options)) return {};
  const owners = Object.values(options).filter(isRecord);
  const signed = owners.some(({ signature, redactedData }) => Boolean(signature ?? redactedData));
  const media = owners
    .map(({ redactedData, reasoningEncryptedContent }) => redactedData ?? reasoningEncryptedContent)
    .filter((data) => typeof data === 'string')
    .map(sizeEncrypted);
  return { bound: true, ...(signed ? { signed } : {}), ...(media.length > 0 ? { media } : {}) };
}

/** Types that a text may replace. Not `execution-denied`, which holds the user's decision. */
const REPLACEABLE = new Set(['text', 'json', 'error-text', 'error-json', 'content']);

const outputType = (output: unknown): string => (isRecord(output) ? (asString(output.type) ?? '') : '');
const isFailure = (output: unknown): boolean => outputType(output).startsWith('error-');

function readOutput(output: unknown): Content {
  if (!isRecord(output)) return { text: toText(output) };
  if (output.type === 'content') return readContent(output.value, sizePart);
  if (output.type === 'execution-denied') return { text: toText(output.reason) };
  return REPLACEABLE.has(outputType(output))
    ? { text: toText(output.value) }
    : { text: '', media: [sizeUnknown(output)] };
}

function sizePart(part: Fields): Media {
  const source = part.data ?? part.image ?? part.url;
  // AI SDK 7 wraps them: `{ type: 'data', data }`, `{ type: 'url', url }`, `{ type: 'text', text }`.
  if (isRecord(source) && source.type === 'text') return sizeUnknown(source);
  const data = isRecord(source) && 'type' in source ? (source.data ?? source.url) : source;
  const kind = /^(image|file)/.exec(asString(part.type) ?? '')?.[1];
  const type = asString(part.mediaType) ?? (kind === 'file' ? 'application' : kind);
  return type === undefined ? sizeUnknown(part) : sizeMedia('anthropic', type, data instanceof URL ? data.href : data);
}

function replaceOutput(output: unknown, text: string): unknown {
  if (!isRecord(output)) return text;
  const { type, value } = output;
  if (type === 'content') return { ...output, value: [{ type: 'text', text, ...markerOf(value) }] };
  return { ...output, type: isFailure(output) ? 'error-text' : 'text', value: text };
}

/** Cache markers are options of a provider: `anthropic.cacheControl`, `bedrock.cachePoint`. */
function markerOf(parts: unknown): Fields {
  const isMarked = ({ providerOptions }: Fields): boolean =>
    isRecord(providerOptions) &&
    Object.values(providerOptions).some((options) => isRecord(options) && Object.keys(options).some(isCacheKey));
  const marked = asList(parts).findLast(isMarked);
  return marked ? { providerOptions: marked.providerOptions } : {};
}

const isCacheKey = (key: string): boolean => key.startsWith('cache');

const pairWords: PairWords = {
  missing: (_message, ids) =>
    ids.length === 1
      ? `Tool result is missing for tool call ${ids[0]}.`
      : `Tool results are missing for tool calls ${ids.join(', ')}.`,
  orphan: (_message, id) => `Tool result ${id} has no tool call before it.`,
};

function check(messages: readonly AiSdkMessage[]): Violation[] {
  let turn = 0;
  /** The provider answers these itself, inside the reply or, after an approval, in a tool message. */
  const executed = new Set<unknown>();
  const steps = messages.map((message): PairStep => {
    const role = message?.role;
    const parts = asList(message?.content);
    if (role === 'assistant') {
      const calls = parts.filter((part) => part.type === 'tool-call');
      for (const call of calls) if (call.providerExecuted === true) executed.add(call.toolCallId);
      return { turn: ++turn, calls: idsOf(calls.filter((call) => call.providerExecuted !== true)) };
    }
    // The SDK checks for missing results at every user or system message.
    if (role !== 'tool') return { turn, closes: role === 'user' || role === 'system' ? 'before' : undefined };
    const results = parts.filter((part) => part.type === 'tool-result' && !executed.has(part.toolCallId));
    return { turn, results: idsOf(results) };
  });
  return checkPairs(steps, pairWords);
}

const idsOf = (parts: readonly Fields[]): string[] => parts.map((part) => asString(part.toolCallId) ?? '');
