import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { checkPairs, NamedCalls, type PairStep, type PairWords } from './calls.ts';
import { newSegment, type Place, readContent, replaceText } from './content.ts';
import { asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A message of Ollama's `/api/chat`. */
export interface OllamaMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  role: string;
  /** A text. */
  content?: unknown;
}

/** Ollama's own chat API. Calls have their arguments as an object, and results name the tool; ids may be missing. */
export const ollama: Format<OllamaMessage> = createFormat<OllamaMessage>({
  name: 'ollama',
  noteRole: 'system',
  viewer: () => new OllamaViewer(),
  replace: replaceText,
  argumentPaths: [['function', 'arguments']],
  note: (role, content) => ({ role, content }),
  check,
});

const CONTENT = ['content'] as const;

/** Finds the call of each result. A reply after results closes the calls that they left unanswered. */
class Pairing {
  readonly #calls = new NamedCalls();
  #hasResults = false;

  reply(message: Fields): (Call & { readonly callId: string })[] {
    if (this.#hasResults) this.#calls.clear();
    this.#hasResults = false;
    return callsOf(message).map((call) => ({ ...call, ...this.#calls.made(call.id, call.tool) }));
  }

  result(message: Fields): { readonly callId: string; readonly tool: string } | undefined {
    this.#hasResults = true;
    const [id, name] = [asString(message.tool_call_id), nameOf(message)];
    // Ollama needs neither: a result without id and name answers the oldest call.
    const isNameless = id === undefined && name === undefined;
    return this.#calls.answered(id, isNameless ? this.#calls.oldest?.tool : name);
  }
}

class OllamaViewer implements Viewer<OllamaMessage> {
  turn = 0;
  isReply = false;
  #index = 0;
  readonly #pairing = new Pairing();

  add(message: OllamaMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    this.isReply = message.role === 'assistant';
    if (this.isReply) this.#addReply(message, index, into);
    else if (message.role === 'tool') this.#addResult(message, index, into);
    else {
      const kind = message.role === 'system' ? 'system' : 'user';
      into.push(newSegment(kind, this.#at(index), readContent(message.content, sizeUnknown)));
      into.push(...imagesOf(message, kind, { turn: this.turn, message: index }));
    }
  }

  #at(message: number): Place {
    return { turn: this.turn, message, path: CONTENT };
  }

  #addReply(message: Fields, index: number, into: Segment[]): void {
    const turn = ++this.turn;
    const thinking = asString(message.thinking);
    if (thinking) into.push({ kind: 'reasoning', turn, message: index, path: ['thinking'], text: thinking });
    const content = readContent(message.content, sizeUnknown);
    if (content.text !== '' || content.media) into.push(newSegment('reasoning', this.#at(index), content));
    for (const { path, text, callId, tool } of this.#pairing.reply(message))
      into.push(newSegment('action', { turn, message: index, path }, { text }, { callId, tool }));
  }

  #addResult(message: Fields, index: number, into: Segment[]): void {
    const call = this.#pairing.result(message);
    const about = { callId: call?.callId, tool: nameOf(message) ?? call?.tool };
    into.push(newSegment('observation', this.#at(index), readContent(message.content, sizeUnknown), about));
    into.push(...imagesOf(message, 'observation', { turn: this.turn, message: index }));
  }
}

const nameOf = (message: Fields): string | undefined => asString(message.tool_name) ?? asString(message.name);

/** Images are next to the content. Only the content is edited. */
function imagesOf({ images }: Fields, kind: Segment['kind'], place: Omit<Place, 'path'>): Segment[] {
  if (!Array.isArray(images) || images.length === 0) return [];
  const media = images.map((data): Media => sizeMedia('openai', 'image', data));
  return [{ kind, ...place, path: ['images'], text: '', media, bound: true }];
}

interface Call {
  readonly path: readonly (string | number)[];
  readonly id: string | undefined;
  readonly tool: string;
  readonly text: string;
}

function callsOf(message: Fields): Call[] {
  const list: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return list.flatMap((call, i): Call[] => {
    if (!isRecord(call)) return [];
    const body: Fields = isRecord(call.function) ? call.function : {};
    const [tool, text] = [asString(body.name) ?? 'tool', toText(body.arguments)];
    return [{ path: ['tool_calls', i], id: asString(call.id), tool, text }];
  });
}

/** Ollama refuses neither, but the model would see a call without its result, or the reverse. */
const WORDS: PairWords = {
  missing: (message, ids) => `The calls ${ids.join(', ')} of message ${message} have no message with the role tool.`,
  orphan: (message, id) => `The result ${id} in message ${message} answers no call before it.`,
};

function check(messages: readonly OllamaMessage[]): Violation[] {
  const pairing = new Pairing();
  let turn = 0;
  const steps = messages.map((message): PairStep => {
    if (!isRecord(message)) return { turn };
    if (message.role === 'tool') {
      const fields: Fields = message;
      const named = asString(fields.tool_call_id) ?? nameOf(fields) ?? '';
      return { turn, results: [pairing.result(fields)?.callId ?? named] };
    }
    if (message.role !== 'assistant') return { turn, closes: 'before' };
    return { turn: ++turn, closes: 'before', calls: pairing.reply(message).map(({ callId }) => callId) };
  });
  return checkPairs(steps, WORDS);
}
