import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';

/** Whether a list has messages as `{from, value}`, as data sets of the ShareGPT kind do. */
export const isShareGpt = (list: readonly unknown[]): boolean =>
  asList(list).some(({ from, value }) => ROLES.has(String(from)) && typeof value === 'string');

type Role = 'system' | 'user' | 'assistant' | 'call' | 'result';

const ROLES = new Map<string, Role>([
  ['system', 'system'],
  ['human', 'user'],
  ['user', 'user'],
  ['gpt', 'assistant'],
  ['assistant', 'assistant'],
  ['function_call', 'call'],
  ['tool_call', 'call'],
  ['observation', 'result'],
  ['function_response', 'result'],
  ['tool_response', 'result'],
  ['tool', 'result'],
]);

/** The context of such a list. Calls have no ids: a result answers the first call that is open. */
export function shareGptContext(list: readonly unknown[], run: number, system: string): Draft[] {
  const transcript = new Transcript(run);
  transcript.say('system', system);
  let isReply = false;
  let replies = 0;
  for (const { from, value } of asList(list)) {
    const role = ROLES.get(String(from));
    const text = toText(value);
    const isCall = role === 'call';
    if (role === 'assistant' || (isCall && !isReply)) replies += 1;
    if (role === 'assistant') transcript.reply({ key: String(replies), ...splitCalls(text) });
    else if (isCall) transcript.reply({ key: String(replies), calls: callsIn(text) });
    else if (role === 'result') transcript.answer({ callId: transcript.nextCall, text });
    else if (role) transcript.say(role, text);
    isReply = role === 'assistant' || isCall;
  }
  return transcript.cut();
}

/** Cuts out `<tool_call>{"name": …, "arguments": …}</tool_call>`. */
function splitCalls(text: string): { readonly text: string; readonly calls: readonly Call[] } {
  const pattern = /<tool_call>([\s\S]*?)<\/tool_call>/g;
  const calls = [...text.matchAll(pattern)].flatMap(([, inside = '']) => callsIn(inside));
  return { text: calls.length > 0 ? text.replace(pattern, '').trim() : text, calls };
}

/** A call, or a list of them. Text that is no JSON is the call of an unknown tool. */
function callsIn(text: string): readonly Call[] {
  const value = parsed(text);
  const calls = Array.isArray(value) ? asList(value) : isRecord(value) ? [value as Fields] : [];
  if (calls.length === 0) return [{ arguments: text.trim() }];
  return calls.map(({ name, arguments: input, parameters }) => ({
    name: asString(name),
    arguments: toText(input ?? parameters),
  }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
