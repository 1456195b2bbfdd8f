import { asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, textOf, timeOf } from './log-reader.ts';
import type { Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Whether an event is one of the OpenHands SDK that the model sees, or the removal of such events. */
export const isSdkEvent = ({ kind, id, source }: Fields): boolean =>
  SDK_KINDS.has(String(kind)) && typeof id === 'string' && typeof source === 'string';

const SDK_KINDS = new Set([
  'SystemPromptEvent',
  'MessageEvent',
  'ActionEvent',
  'ObservationEvent',
  'UserRejectObservation',
  'AgentErrorEvent',
  'Condensation',
]);

/** Adds an event of the OpenHands SDK. Actions of one reply share the id of the response. */
export function addSdkEvent(transcript: Transcript, event: Fields): void {
  const time = timeOf(event.timestamp);
  const callId = asString(event.tool_call_id);
  const name = asString(event.tool_name);
  if (event.kind === 'SystemPromptEvent') transcript.say('system', systemText(event), time);
  else if (event.kind === 'MessageEvent') addMessage(transcript, event, time);
  else if (event.kind === 'ActionEvent') addAction(transcript, event, time);
  else transcript.answer({ callId, name, text: resultText(event), time });
}

const systemText = ({ system_prompt, dynamic_context, tools }: Fields): string =>
  joinTexts([textOf(system_prompt), textOf(dynamic_context), toText(tools)]);

function addMessage(transcript: Transcript, event: Fields, time: number | undefined): void {
  const { content, reasoning_content } = fieldsOf(event.llm_message);
  const text = joinTexts([textOf(content), textOf(event.extended_content)]);
  if (event.source !== 'agent') transcript.say('user', text, time);
  else transcript.reply({ key: keyOf(event), text: joinTexts([toText(reasoning_content), text]), time });
}

function addAction(transcript: Transcript, event: Fields, time: number | undefined): void {
  const { tool_call, tool_call_id, tool_name, action } = event;
  const { arguments: made, function: called } = fieldsOf(tool_call);
  const { kind: _, ...own } = fieldsOf(action);
  const key = keyOf(event);
  const isNew = key === undefined || !transcript.hasReply(key);
  const call = {
    id: asString(tool_call_id),
    name: asString(tool_name),
    arguments: toText(made ?? fieldsOf(called).arguments ?? own),
  };
  const text = joinTexts([toText(event.reasoning_content), textOf(event.thought)]);
  transcript.reply({ key, text: isNew ? text : '', calls: [call], time });
}

const keyOf = ({ llm_response_id }: Fields): string | undefined => asString(llm_response_id);

function resultText({ observation, error, rejection_reason }: Fields): string {
  const { content, output } = fieldsOf(observation);
  if (Array.isArray(content)) return textOf(content);
  return toText(content ?? output ?? error ?? rejection_reason ?? observation);
}
