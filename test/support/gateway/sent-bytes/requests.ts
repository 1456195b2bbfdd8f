import type { Context } from '../../../../src/lab/run.ts';

type Json = Record<string, unknown>;

/** One request of a run, as an agent would send it. */
export interface RunRequest {
  readonly path: string;
  readonly body: string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON text. */
  readonly json: string;
}

/** A step of a run, with call ids of its own: those of logs repeat or are missing. */
type Step =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'reply'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly kind: 'result'; readonly call: Call; readonly text: string };

interface Dialect {
  readonly path: string;
  /** The messages of a step. */
  write(step: Step): Json[];
  /** The request with these messages. */
  wrap(messages: readonly Json[], system: string): Json;
}

export const dialects = {
  anthropic: {
    path: '/v1/messages',
    write: (step) => [{ role: step.kind === 'reply' ? 'assistant' : 'user', content: anthropicBlocks(step) }],
    wrap: (messages, system) => ({
      model: 'claude-sonnet-5',
      max_tokens: 4096,
      system: [{ type: 'text', text: system, cache_control: EPHEMERAL }],
      messages: withMarkers(joined(messages, 'content')),
    }),
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    write: (step) => [chatMessage(step)],
    wrap: (messages, system) => ({ model: 'gpt-5', messages: [{ role: 'system', content: system }, ...messages] }),
  },
  'openai-responses': {
    path: '/v1/responses',
    write: responsesItems,
    wrap: (messages, system) => ({ model: 'gpt-5', instructions: system, input: messages, store: false }),
  },
  gemini: {
    path: '/v1beta/models/gemini-3-pro:generateContent',
    write: (step) => [{ role: step.kind === 'reply' ? 'model' : 'user', parts: geminiParts(step) }],
    wrap: (messages, system) => ({
      systemInstruction: { parts: [{ text: system }] },
      contents: joined(messages, 'parts'),
    }),
  },
} satisfies Record<string, Dialect>;

export type DialectName = keyof typeof dialects;

/** The requests of a run, one for each reply. */
export function* requestsOf({ messages }: Context, name: DialectName): Generator<RunRequest> {
  const { path, write, wrap }: Dialect = dialects[name];
  const system = `${SYSTEM}\n${messages.flatMap(({ role, content }) => (role === 'system' ? [content] : [])).join('\n')}`;
  const written: Json[] = [];
  for (const step of stepsOf(messages)) {
    if (step.kind === 'reply' && written.length > 0) yield { path, body: JSON.stringify(wrap(written, system)) };
    written.push(...write(step));
  }
}

/** The requests of a history that is in the dialect already, with the thinking and the odd shapes of real agents. */
export function* nativeRequestsOf(messages: readonly unknown[], name: DialectName): Generator<RunRequest> {
  const { path, wrap }: Dialect = dialects[name];
  const native = messages as readonly Json[];
  for (const i of repliesIn(native)) yield { path, body: JSON.stringify(wrap(native.slice(0, i), SYSTEM)) };
}

/** Where a reply begins, but for one that opens the history. */
export function repliesIn(messages: readonly unknown[]): number[] {
  const native = messages as readonly Json[];
  return native.flatMap((message, i) => (i > 0 && isReply(message) && !isReply(native[i - 1] as Json) ? [i] : []));
}

function isReply({ role, type }: Json): boolean {
  return role === 'assistant' || role === 'model' || type === 'function_call' || type === 'reasoning';
}

const SYSTEM = 'Follow the conventions of the code that you find, and run its tests. '.repeat(60);
const EPHEMERAL = { type: 'ephemeral' };

function* stepsOf(messages: Context['messages']): Generator<Step> {
  const open = new Map<string, Call>();
  let calls = 0;
  for (const { role, content, toolCallId = '', toolCalls = [] } of messages) {
    const text = content.trim() === '' ? '(no text)' : content.toWellFormed();
    const call = role === 'tool' ? open.get(toolCallId) : undefined;
    if (call) {
      open.delete(toolCallId);
      yield { kind: 'result', call, text: content.toWellFormed() };
    } else if (role === 'assistant') {
      // A call that was broken off has a result too, as agents write one.
      for (const broken of open.values()) yield { kind: 'result', call: broken, text: 'Interrupted by the user' };
      open.clear();
      const made = toolCalls.map(({ id, name, arguments: json }) => {
        const own = { id: `call_${++calls}`, name: nameOf(name), json: JSON.stringify(inputOf(json)) };
        open.set(id, own);
        return own;
      });
      yield { kind: 'reply', text, calls: made };
    } else if (role !== 'system') yield { kind: 'user', text };
  }
}

const nameOf = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'tool';

function inputOf(json: string): Json {
  try {
    const input: unknown = JSON.parse(json);
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Json) : { input };
  } catch {
    return { input: json.toWellFormed() };
  }
}

function anthropicBlocks(step: Step): Json[] {
  if (step.kind === 'result') return [{ type: 'tool_result', tool_use_id: step.call.id, content: step.text }];
  const calls = step.kind === 'reply' ? step.calls : [];
  const uses = calls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: JSON.parse(json) }));
  return [{ type: 'text', text: step.text }, ...uses];
}

function chatMessage(step: Step): Json {
  if (step.kind === 'result') return { role: 'tool', tool_call_id: step.call.id, content: step.text };
  if (step.kind === 'user') return { role: 'user', content: step.text };
  const calls = step.calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } }));
  return { role: 'assistant', content: step.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

function responsesItems(step: Step): Json[] {
  if (step.kind === 'result') return [{ type: 'function_call_output', call_id: step.call.id, output: step.text }];
  if (step.kind === 'user') return [{ role: 'user', content: [{ type: 'input_text', text: step.text }] }];
  const words = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: step.text }] };
  return [
    words,
    ...step.calls.map(({ id, name, json }) => ({ type: 'function_call', call_id: id, name, arguments: json })),
  ];
}

function geminiParts(step: Step): Json[] {
  if (step.kind === 'result')
    return [{ functionResponse: { id: step.call.id, name: step.call.name, response: { output: step.text } } }];
  const calls = step.kind === 'reply' ? step.calls : [];
  return [
    { text: step.text },
    ...calls.map(({ id, name, json }) => ({ functionCall: { id, name, args: JSON.parse(json) } })),
  ];
}

/** Neighbours of one role become one message. */
function joined(messages: readonly Json[], field: 'content' | 'parts'): Json[] {
  const list: Json[] = [];
  for (const message of messages) {
    const last = list.at(-1);
    if (last && last.role === message.role) {
      const both = [...blocksOf(last[field]), ...blocksOf(message[field])];
      list[list.length - 1] = { ...last, [field]: both };
    } else list.push(message);
  }
  return list;
}

function blocksOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Json[]);
}

/** Marks the last block of the last two user messages, as coding agents do. */
function withMarkers(messages: readonly Json[]): Json[] {
  const users = messages.flatMap(({ role }, i) => (role === 'user' ? [i] : [])).slice(-2);
  return messages.map((message, i) => {
    if (!users.includes(i)) return message;
    const blocks = blocksOf(message.content);
    return { ...message, content: [...blocks.slice(0, -1), { ...blocks.at(-1), cache_control: EPHEMERAL }] };
  });
}
