import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { textOf, timeOf } from './log-reader.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Whether this is a message of the AI SDK's interface (`UIMessage`), with calls and results in the parts of a reply. */
export const isUiMessage = ({ role, parts }: Fields): boolean =>
  (role === 'system' || role === 'user' || role === 'assistant') &&
  asList(parts).length > 0 &&
  asList(parts).every(({ type }) => typeof type === 'string');

/** The context of a list of them. A message can hold several replies, divided by `step-start`. */
export function uiContext(list: readonly Fields[], run: number, system: string): Draft[] {
  const transcript = new Transcript(run);
  transcript.say('system', system);
  for (const { role, parts, createdAt, metadata } of list) {
    const time = timeOf(createdAt ?? fieldsOf(metadata).createdAt);
    if (role === 'assistant') for (const step of stepsOf(asList(parts))) addStep(transcript, step, time);
    else transcript.say(role === 'system' ? 'system' : 'user', textOf(asList(parts)), time);
  }
  return transcript.cut();
}

function stepsOf(parts: readonly Fields[]): readonly (readonly Fields[])[] {
  const steps: Fields[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.some((part) => SAID.has(String(part.type)) || toolOf(part)));
}

function addStep(transcript: Transcript, parts: readonly Fields[], time: number | undefined): void {
  const said = parts.filter(({ type }) => SAID.has(String(type)));
  const tools = parts.map(toolOf).filter((tool) => tool !== undefined);
  transcript.reply({ text: said.map(({ text }) => toText(text)).join('\n'), calls: tools.map(callOf), time });
  for (const { toolCallId, output, result, errorText } of tools) {
    const text = output ?? result ?? errorText;
    if (text !== undefined) transcript.answer({ callId: asString(toolCallId), text: toText(text), time });
  }
}

const SAID = new Set(['text', 'reasoning']);

/** The fields of a call. Older versions have them in a field of the part. */
function toolOf(part: Fields): Fields | undefined {
  const type = String(part.type);
  if (type === 'tool-invocation' && isRecord(part.toolInvocation)) return part.toolInvocation as Fields;
  if (type === 'dynamic-tool') return part;
  return type.startsWith('tool-') ? { ...part, toolName: type.slice('tool-'.length) } : undefined;
}

const callOf = ({ toolCallId, toolName, input, args }: Fields): Call => ({
  id: asString(toolCallId),
  name: asString(toolName),
  arguments: toText(input ?? args),
});
