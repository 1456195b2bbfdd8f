import { PalimpsestError } from '../../src/errors.ts';
import type { ChatMessage } from '../../src/message.ts';

export const system = (content: string): ChatMessage => ({ role: 'system', content });
export const user = (content: string, ...tags: string[]): ChatMessage =>
  tags.length > 0 ? { role: 'user', content, tags } : { role: 'user', content };
export const reply = (content: string, ...tags: string[]): ChatMessage =>
  tags.length > 0 ? { role: 'assistant', content, tags } : { role: 'assistant', content };

/** A call in the words of spec-context-mcp: its text is the action, its pair id ties it to the result. */
export const call = (id: string, content = `call ${id}`): ChatMessage => ({
  role: 'assistant',
  content,
  pairId: id,
  pairRole: 'call',
});
export const result = (id: string, content: string): ChatMessage => ({
  role: 'tool',
  content,
  toolCallId: `tool-${id}`,
  pairId: id,
  pairRole: 'result',
});
export const pair = (id: string, content: string): ChatMessage[] => [call(id), result(id, content)];

export interface ToolTurn {
  readonly id: string;
  readonly output: string;
  readonly tool?: string;
  readonly args?: string;
  readonly text?: string;
}

/** One reply with one call and its result, without pair roles: as most agents write it. */
export const toolTurn = ({ id, output, tool = 'bash', args = '{}', text = '' }: ToolTurn): ChatMessage[] => [
  { role: 'assistant', content: text, toolCalls: [{ id, name: tool, arguments: args }] },
  answer(id, output),
];
export const answer = (id: string, content: string): ChatMessage => ({ role: 'tool', content, toolCallId: id });

/** One reply with several calls at once; whoever uses it says what answers them. */
export const parallelCalls = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'bash', arguments: `{"command":"${id}"}` })),
});

/** Text of exactly `length` characters that begins with `start` and is not one unbroken run. */
export function prose(length: number, start = ''): string {
  const text = (start + 'lorem ipsum dolor sit amet, '.repeat(Math.ceil(length / 28))).slice(0, length);
  return text.replace(/ $/, ',');
}

/** System prompt, task and `turns` turns of one call with a result of `chars` characters each. */
export function history(turns: number, chars = 1000): ChatMessage[] {
  const list = [system('You are a careful engineer.'), user('Fix the build.')];
  for (let turn = 1; turn <= turns; turn++) {
    list.push(...toolTurn({ id: `c${turn}`, text: `step ${turn}`, output: prose(chars, `output ${turn}: `) }));
  }
  return list;
}

export const chars = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + message.content.length, 0);
export const contents = (messages: readonly ChatMessage[]): string[] => messages.map((message) => message.content);
export const results = (messages: readonly ChatMessage[]): string[] =>
  contents(messages.filter((message) => message.role === 'tool'));
export const masked = (text: string): string => `[observation masked — ${text.length} chars]`;

/** Which turns' results are not what they were: turn 1 is the first result of `history`. */
export function changedTurns(before: readonly ChatMessage[], after: readonly ChatMessage[]): number[] {
  const now = results(after);
  return results(before).flatMap((text, i) => (now[i] === text ? [] : [i + 1]));
}

/** Ids of calls without result and results without call, worked out without the product's own check. */
export function unpaired(messages: readonly ChatMessage[]): string[] {
  const open: string[] = [];
  const orphans: string[] = [];
  for (const message of messages) {
    const made = (message.toolCalls ?? []).map((made) => made.id);
    if (message.pairRole === 'call' && message.pairId !== undefined) made.push(message.pairId);
    open.push(...made);
    if (message.role !== 'tool') continue;
    const id = message.pairRole === 'result' ? message.pairId : message.toolCallId;
    const at = open.indexOf(id ?? '');
    if (at >= 0) open.splice(at, 1);
    else orphans.push(id ?? 'none');
  }
  return [...open, ...orphans];
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Whether a text is free of halved characters. */
export const isWhole = (text: string): boolean => text.isWellFormed();

/** A conversation of questions and answers, without tools. */
export const talk = (turns: number, length = 200): ChatMessage[] => [
  system('You are helpful.'),
  ...range(1, turns).flatMap((n) => [user(prose(length, `question ${n}: `)), reply(prose(length, `answer ${n}: `))]),
];

/** The notice where so many messages are left out. */
export const omitted = (n: number): string => `[conversation truncated — ${n} older messages omitted]`;

/** The code of the error that this throws; undefined if it throws none. */
export function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    return error instanceof PalimpsestError ? error.code : String(error);
  }
  return undefined;
}
