import { ConversationMemory } from '../../../src/gateway/conversation/conversation-memory.ts';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { afterAnswer, afterStored, decide, openRequest } from '../../../src/gateway/decide/decide.ts';
import type { Answer, Decision, Facts, GatewayRequest } from '../../../src/gateway/decide/decision.ts';
import type { Api } from '../../../src/gateway/wire/index.ts';

export type Json = Record<string, unknown>;

export const MODEL = 'claude-sonnet-5';
const MINUTE = 60_000;

/** What a tool answered, long enough to be worth a mask, different for each turn. */
export const output = (turn: number, lines = 60): string =>
  Array.from({ length: lines }, (_, i) => `line ${i} of the answer in turn ${turn}: value ${turn * 31 + i}`).join('\n');

export interface Shape {
  readonly thinks?: boolean;
  readonly lines?: number;
  readonly results?: (turn: number) => unknown;
}

/** The messages of a coding agent after so many turns, the last result still unanswered. */
export function anthropicMessages(turns: number, { thinks = false, lines, results }: Shape = {}): Json[] {
  const messages: Json[] = [{ role: 'user', content: 'Fix the failing test in src/app.ts' }];
  for (let turn = 1; turn <= turns; turn++) {
    const id = `toolu_${String(turn).padStart(4, '0')}`;
    const thinking = thinks ? [{ type: 'thinking', thinking: `I think ${turn}`, signature: `c2ln${turn}` }] : [];
    const text = { type: 'text', text: `Step ${turn}` };
    const call = { type: 'tool_use', id, name: 'read_file', input: { path: `src/file-${turn}.ts` } };
    messages.push({ role: 'assistant', content: [...thinking, text, call] });
    const content = results?.(turn) ?? output(turn, lines);
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] });
  }
  return messages;
}

const EPHEMERAL = { type: 'ephemeral' };

/** Marks the system prompt and the last block, as coding agents do. */
export function marked(messages: readonly Json[], marker: Json = EPHEMERAL): Json[] {
  const last = messages.length - 1;
  return messages.map((message, i) => {
    if (i !== last) return message;
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content as Json[]);
    return {
      ...message,
      content: blocks.map((block, b) => (b === blocks.length - 1 ? { ...block, cache_control: marker } : block)),
    };
  });
}

export function anthropicBody(messages: readonly Json[], more: Json = {}): Json {
  return {
    model: MODEL,
    max_tokens: 4096,
    system: [{ type: 'text', text: 'You are a careful programmer. '.repeat(40), cache_control: EPHEMERAL }],
    messages: marked(messages),
    ...more,
  };
}

export function requestOf(body: unknown, more: Partial<GatewayRequest> = {}): GatewayRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const api: Api = more.api ?? 'anthropic';
  return { api, path: PATHS[api] ?? '/', headers: { 'content-type': 'application/json' }, ...more, body: bytes };
}

const PATHS: Partial<Record<Api, string>> = {
  anthropic: '/v1/messages',
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  gemini: '/v1beta/models/gemini-3-pro:generateContent',
};

export interface Asked extends Decision {
  /** What goes out. */
  readonly out: Buffer;
}

/** A gateway without a socket: it decides, stores and answers one request after the other, a minute apart. */
export class Desk {
  readonly memory: ConversationMemory;
  readonly facts: Partial<Facts>;
  now = 0;

  constructor(facts: Partial<Facts> = {}, memory: ConversationMemory = new ConversationMemory()) {
    this.facts = facts;
    this.memory = memory;
  }

  ask(body: unknown, more: Partial<GatewayRequest> = {}): Asked {
    const asked = this.look(body, more);
    afterStored(asked);
    this.answer(asked);
    return asked;
  }

  /** The upstream accepted the request, and its answer ended now. */
  answer(asked: Decision, more: Partial<Answer> = {}): void {
    afterAnswer(this.memory, asked, { now: this.now, isOriginal: false, ...more });
  }

  /** Decides only. */
  look(body: unknown, more: Partial<GatewayRequest> = {}): Asked {
    this.now += MINUTE;
    const request = requestOf(body, more);
    const opened = openRequest(request, this.memory, this.facts.limits);
    const decided = decide(opened, this.memory, { ...this.facts, now: this.now });
    return Object.assign(decided, { out: Buffer.from(decided.body ?? request.body) });
  }
}

/** Another process on the same store, which knows of the conversation what was recorded. */
export function successor(
  { conversation }: Pick<Decision, 'conversation'>,
  recorded: readonly GatewayEvent[],
  facts: Partial<Facts> = {},
): Desk {
  const memory = new ConversationMemory();
  memory.learnEvents(conversation, JSON.parse(JSON.stringify(recorded)));
  return new Desk(facts, memory);
}

export const parsed = (bytes: Uint8Array): Json => JSON.parse(Buffer.from(bytes).toString()) as Json;

/** All contents of tool results, in their order. */
export const resultsIn = (body: Json): unknown[] =>
  (body.messages as Json[]).flatMap(({ content }) =>
    Array.isArray(content)
      ? content.filter((block: Json) => block.type === 'tool_result').map((block: Json) => block.content)
      : [],
  );

export const isMasked = (content: unknown): boolean =>
  (typeof content === 'string' ? content : String((content as Json[])[0]?.text ?? '')).includes(' chars masked · ');

export const maskedIn = (bytes: Uint8Array): boolean[] => resultsIn(parsed(bytes)).map(isMasked);
