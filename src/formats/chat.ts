import type { ChatMessage, Format, Segment, Viewer, Violation } from '../message.ts';
import { Calls, checkPairs, type PairStep } from './calls.ts';
import { newSegment, type Place } from './content.ts';
import { asString, createFormat, isRecord, toText } from './lens.ts';
import { chatPairWords } from './openai-chat.ts';

const CONTENT = ['content'] as const;

/** The neutral list: string contents, calls paired by `toolCallId` or by `pairId`. */
export const chat: Format<ChatMessage> = createFormat<ChatMessage>({
  name: 'chat',
  noteRole: 'system',
  viewer: () => new ChatViewer(),
  replace: (_content, text) => text,
  argumentPaths: [[]],
  note: (role, content) => ({ role, content }),
  check,
});

/** Counts turns. Parallel calls may be written as one message each: those that follow each other are one reply. */
class TurnCount {
  turn = 0;
  #endsInCall = false;

  add(message: ChatMessage, calls: number): void {
    const isCall = message.role === 'assistant' && calls > 0;
    if (message.role === 'assistant' && !(isCall && this.#endsInCall)) this.turn += 1;
    this.#endsInCall = isCall;
  }
}

class ChatViewer implements Viewer<ChatMessage> {
  isReply = false;
  readonly #count = new TurnCount();
  #index = 0;
  readonly #calls = new Calls();

  get turn(): number {
    return this.#count.turn;
  }

  add(message: ChatMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    this.isReply = message.role === 'assistant';
    if (!this.isReply) this.#count.add(message, 0);
    const text = typeof message.content === 'string' ? message.content : '';
    if (this.isReply) this.#addReply(message, index, text, into);
    else if (message.role === 'tool') into.push(this.#result(message, index, text));
    else {
      const kind = message.role === 'system' ? 'system' : 'user';
      into.push(newSegment(kind, this.#at(index), { text }, { tags: tagsOf(message) }));
    }
  }

  #addReply(message: ChatMessage, index: number, text: string, into: Segment[]): void {
    const tags = tagsOf(message);
    const calls = callsOf(message);
    const pair = pairCall(message, calls);
    this.#count.add(message, calls.length + (pair === undefined ? 0 : 1));
    const { turn } = this;
    if (pair !== undefined) {
      this.#calls.made(pair, asString(message.name));
      into.push(newSegment('action', this.#at(index), { text }, { callId: pair, tool: asString(message.name), tags }));
    } else if (text !== '' || calls.length === 0)
      into.push(newSegment('reasoning', this.#at(index), { text }, { tags }));
    for (const { path, callId, tool, text } of calls) {
      this.#calls.made(callId, tool);
      into.push(newSegment('action', { turn, message: index, path }, { text }, { callId, tool }));
    }
  }

  #result(message: ChatMessage, index: number, text: string): Segment {
    const id = answerId(message);
    const call = id === undefined ? undefined : this.#calls.answered(id);
    const paired = call !== undefined || message.pairRole === 'result';
    const callId = paired ? (id ?? 'unnamed') : undefined;
    const about = { callId, tool: asString(message.name) ?? call?.tool, tags: tagsOf(message) };
    return newSegment('observation', this.#at(index), { text }, about);
  }

  #at(message: number): Place {
    return { turn: this.turn, message, path: CONTENT };
  }
}

const tagsOf = ({ tags }: ChatMessage): string[] | undefined => (Array.isArray(tags) ? tags : undefined);

interface Call {
  readonly path: readonly (string | number)[];
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
}

function callsOf({ toolCalls }: ChatMessage): Call[] {
  return (Array.isArray(toolCalls) ? toolCalls : []).flatMap((call: unknown, i) => {
    if (!isRecord(call)) return [];
    const path = ['toolCalls', i, 'arguments'];
    return { path, callId: asString(call.id) ?? '', tool: asString(call.name) ?? 'tool', text: toText(call.arguments) };
  });
}

/** The call in the message itself, unless `toolCalls` contains it too. */
function pairCall(message: ChatMessage, calls: readonly Call[]): string | undefined {
  const pair = message.pairRole === 'call' ? asString(message.pairId) : undefined;
  return calls.some((call) => call.callId === pair) ? undefined : pair;
}

function answerId(message: ChatMessage): string | undefined {
  return (message.pairRole === 'result' ? asString(message.pairId) : undefined) ?? asString(message.toolCallId);
}

function callIds(message: ChatMessage): string[] {
  const calls = callsOf(message);
  const pair = pairCall(message, calls);
  return [...(pair === undefined ? [] : [pair]), ...calls.map((call) => call.callId)];
}

function check(messages: readonly ChatMessage[]): Violation[] {
  const count = new TurnCount();
  const steps = messages.map((message): PairStep => {
    const calls = message?.role === 'assistant' ? callIds(message) : [];
    if (isRecord(message)) count.add(message, calls.length);
    const { turn } = count;
    const id = message?.role === 'tool' ? answerId(message) : undefined;
    return id === undefined ? { turn, calls } : { turn, results: [id] };
  });
  return checkPairs(steps, chatPairWords);
}
