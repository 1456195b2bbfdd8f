import type { Model, ModelRequest, Reply } from '../../../src/manager/agent/model.ts';
import type { ToolCall } from '../../../src/manager/tool-call.ts';
import type { ChatMessage } from '../../../src/message.ts';

type Request = ModelRequest<ChatMessage>;
type Step = Reply<ChatMessage> | Error | ((request: Request, signal: AbortSignal) => Answer | Promise<Answer>);
type Answer = Reply<ChatMessage> | Error;

/** A model that says one thing after the other, and remembers what it was asked. */
export interface ScriptedModel extends Model<ChatMessage> {
  readonly requests: readonly Request[];
}

export function scripted(...steps: readonly Step[]): ScriptedModel {
  const requests: Request[] = [];
  const ask = async (request: Request, signal: AbortSignal): Promise<Reply<ChatMessage>> => {
    const step = steps[Math.min(requests.length, steps.length - 1)];
    requests.push({ ...request, messages: structuredClone(request.messages) });
    const answer = typeof step === 'function' ? await step(request, signal) : step;
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error('the script is empty');
    for (const part of answer.text.split(/(?<= )/)) request.onText?.(part);
    return answer;
  };
  return Object.assign(ask, { requests });
}

export function say(text: string, more: Partial<Reply<ChatMessage>> = {}): Reply<ChatMessage> {
  return { messages: [{ role: 'assistant', content: text }], calls: [], text, ...more };
}

let lastId = 0;

/** A reply that calls tools: `call(['read', { path: 'a' }], ['list'])`. */
export function call(...calls: readonly (readonly [name: string, args?: object])[]): Reply<ChatMessage> {
  const made = calls.map(([name, args = {}]): ToolCall => ({ id: nextId(), name, arguments: args }));
  const toolCalls = made.map(({ id, name, arguments: args }) => ({ id, name, arguments: JSON.stringify(args) }));
  return { messages: [{ role: 'assistant', content: '', toolCalls }], calls: made, text: '' };
}

const nextId = (): string => `call_${++lastId}`;

export const usage = (promptTokens: number, completionTokens = 10) => ({
  promptTokens,
  completionTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
});
