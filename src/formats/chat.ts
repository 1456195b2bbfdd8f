import type { ChatMessage, Format, Segment, Viewer, Violation } from '../message.ts';
import { Calls, checkPairs, type PairStep } from './calls.ts';
import { createFormat, isRecord } from './lens.ts';
import { chatPairWords } from './openai-chat.ts';

const CONTENT = ['content'] as const;

/** The neutral list: string contents, calls paired by `toolCallId` or by `pairId`. */
export const chat: Format<ChatMessage> = createFormat<ChatMessage>({
  name: 'chat',
  noteRole: 'system',
  viewer: () => new ChatViewer(),
  replace: (_content, text) => text,
  note: (role, content) => ({ role, content }),
  check,
});

class ChatViewer implements Viewer<ChatMessage> {
  turn = 0;
  #index = 0;
  readonly #calls = new Calls();

  add(message: ChatMessage, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(message)) return;
    const text = typeof message.content === 'string' ? message.content : '';
    if (message.role === 'assistant') this.#addReply(message, index, text, into);
    else if (message.role === 'tool') into.push(this.#result(message, index, text));
    else {
      const kind = message.role === 'system' ? 'system' : 'user';
      into.push({ kind, turn: this.turn, message: index, path: CONTENT, text, ...tagsOf(message) });
    }
  }

  #addReply(message: ChatMessage, index: number, text: string, into: Segment[]): void {
    const turn = ++this.turn;
    const common = { turn, message: index, path: CONTENT, text, ...tagsOf(message) };
    if (message.pairRole === 'call' && message.pairId !== undefined) {
      this.#calls.made(message.pairId, message.name);
      into.push({ kind: 'action', ...common, callId: message.pairId, ...toolOf(message.name) });
    } else if (text !== '' || !message.toolCalls?.length) into.push({ kind: 'reasoning', ...common });
    for (const [i, call] of (message.toolCalls ?? []).entries()) {
      if (call.id !== message.pairId) this.#calls.made(call.id, call.name);
      const path = ['toolCalls', i, 'arguments'];
      into.push({ kind: 'action', turn, message: index, path, text: call.arguments, callId: call.id, tool: call.name });
    }
  }

  #result(message: ChatMessage, index: number, text: string): Segment {
    const id = answerId(message);
    const call = id === undefined ? undefined : this.#calls.answered(id);
    const paired = call !== undefined || message.pairRole === 'result';
    return {
      kind: 'observation',
      turn: this.turn,
      message: index,
      path: CONTENT,
      text,
      ...(paired ? { callId: id ?? `message ${index}` } : {}),
      ...toolOf(message.name ?? call?.tool),
      ...tagsOf(message),
    };
  }
}

const toolOf = (tool: string | undefined): { tool?: string } => (tool === undefined ? {} : { tool });
const tagsOf = (message: ChatMessage): { tags?: string[] } => (message.tags ? { tags: message.tags } : {});

function answerId(message: ChatMessage): string | undefined {
  return message.pairRole === 'result' && message.pairId !== undefined ? message.pairId : message.toolCallId;
}

function callIds(message: ChatMessage): string[] {
  const ids = (message.toolCalls ?? []).map((call) => call.id);
  const pair = message.pairRole === 'call' ? message.pairId : undefined;
  return pair === undefined || ids.includes(pair) ? ids : [pair, ...ids];
}

function check(messages: readonly ChatMessage[]): Violation[] {
  let turn = 0;
  const steps = messages.map((message): PairStep => {
    if (message?.role === 'assistant') return { turn: ++turn, calls: callIds(message) };
    const id = message?.role === 'tool' ? answerId(message) : undefined;
    return id === undefined ? { turn } : { turn, results: [id] };
  });
  return checkPairs(steps, chatPairWords);
}
