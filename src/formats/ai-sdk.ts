import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A `ModelMessage` of the AI SDK, or a message of the prompt its providers get. */
export interface AiSdkMessage {
  role: string;
  content: unknown;
}

export const aiSdk: Format<AiSdkMessage> = createFormat<AiSdkMessage>({
  name: 'ai-sdk',
  // `allowSystemInMessages` is off by default there: a system message among the others is rejected.
  noteRole: 'user',
  viewer: () => new AiSdkViewer(),
  replace: replaceOutput,
  note: (_role, text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  check,
});

class AiSdkViewer implements Viewer<AiSdkMessage> {
  turn = 0;
  #index = 0;
  readonly #calls = new Calls();

  add(message: AiSdkMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const { role, content } = message;
    if (role === 'assistant') this.turn += 1;
    const kind = role === 'assistant' ? 'reasoning' : role === 'system' ? 'system' : 'user';
    if (typeof content === 'string')
      into.push({ kind, turn: this.turn, message: index, path: ['content'], text: content });
    if (!Array.isArray(content)) return;
    for (const [i, part] of content.entries()) {
      if (isRecord(part)) into.push(this.#part(part, kind, index, i));
    }
  }

  #part(part: Fields, kind: 'reasoning' | 'system' | 'user', message: number, i: number): Segment {
    const place = { turn: this.turn, message, path: ['content', i] };
    if (part.type === 'text') return { kind, ...place, text: toText(part.text) };
    if (part.type === 'reasoning') return { kind, ...place, text: toText(part.text), ...bindingOf(part) };
    if (part.type === 'tool-call') {
      const [callId, tool] = [asString(part.toolCallId) ?? '', asString(part.toolName) ?? 'tool'];
      this.#calls.made(callId, tool);
      return { kind: 'action', ...place, text: toText(part.input ?? part.args), callId, tool };
    }
    if (part.type === 'tool-result') return this.#result(part, kind, place);
    return { kind, ...place, text: '', media: [sizePart(part)], bound: kind === 'reasoning' };
  }

  #result(part: Fields, kind: string, place: { turn: number; message: number; path: (string | number)[] }): Segment {
    const id = asString(part.toolCallId) ?? '';
    const call = this.#calls.answered(id);
    const tool = asString(part.toolName) ?? call?.tool;
    const output = isRecord(part.output) ? part.output : {};
    return {
      kind: 'observation',
      turn: place.turn,
      message: place.message,
      path: [...place.path, 'output'],
      ...readOutput(output),
      ...(call ? { callId: id } : {}),
      ...(tool === undefined ? {} : { tool }),
      ...(isFailure(output) ? { isError: true } : {}),
      // A result inside a reply was made by the provider's own tool, which wants its own shape back.
      ...(kind === 'reasoning' || output.type === 'execution-denied' ? { bound: true } : {}),
    };
  }
}

const isFailure = (output: Fields): boolean => output.type === 'error-text' || output.type === 'error-json';

function bindingOf(part: Fields): { bound?: boolean; signed?: boolean } {
  const options = part.providerOptions ?? part.providerMetadata;
  if (!isRecord(options)) return {};
  const claude = options.anthropic;
  const signed = isRecord(claude) && (claude.signature !== undefined || claude.redactedData !== undefined);
  return signed ? { bound: true, signed } : { bound: true };
}

function readOutput(output: Fields): { text: string; media?: Media[] } {
  if (output.type !== 'content') return { text: toText(output.value ?? output.reason) };
  const parts = asList(output.value);
  const text = parts.flatMap((part) => (part.type === 'text' ? [toText(part.text)] : [])).join('\n');
  const media = parts.filter((part) => part.type !== 'text').map(sizePart);
  return media.length > 0 ? { text, media } : { text };
}

function sizePart(part: Fields): Media {
  const type = asString(part.mediaType) ?? (part.type === 'image' || part.type === 'image-data' ? 'image' : undefined);
  const data = part.data ?? part.image ?? part.url;
  return type === undefined ? sizeUnknown(part) : sizeMedia('anthropic', type, data instanceof URL ? data.href : data);
}

function replaceOutput(output: unknown, text: string): unknown {
  const type = isRecord(output) ? output.type : 'text';
  const options =
    isRecord(output) && output.providerOptions !== undefined ? { providerOptions: output.providerOptions } : {};
  if (type === 'content') return { type, value: [{ type: 'text', text }], ...options };
  return { type: type === 'error-text' || type === 'error-json' ? 'error-text' : 'text', value: text, ...options };
}

const pairWords: PairWords = {
  missing: (_message, ids) =>
    ids.length === 1
      ? `Tool result is missing for tool call ${ids[0]}.`
      : `Tool results are missing for tool calls ${ids.join(', ')}.`,
  orphan: (_message, id) => `Tool result ${id} has no tool call before it.`,
};

function check(messages: readonly AiSdkMessage[]): Violation[] {
  let turn = 0;
  const steps = messages.map((message): PairStep => {
    const role = message?.role;
    if (role === 'assistant') turn += 1;
    const parts = asList(message?.content);
    const ofType = (type: string): string[] =>
      parts
        .filter(
          (part) =>
            part.type === type &&
            part.providerExecuted !== true &&
            role !== (type === 'tool-result' ? 'assistant' : ''),
        )
        .map((part) => asString(part.toolCallId) ?? '');
    // The SDK looks for missing results wherever a user or system message stands.
    const closes = role === 'user' || role === 'system' ? 'before' : undefined;
    return { turn, closes, calls: ofType('tool-call'), results: ofType('tool-result') };
  });
  return checkPairs(steps, pairWords);
}
