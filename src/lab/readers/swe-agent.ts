import { asList, asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { type LogReader, textOf } from './log-reader.ts';
import { modelOf } from './messages.ts';
import { type SplitReply, splitLastBlock } from './text-actions.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';

/** Trajectories of SWE-agent 0.x and 1.x, and trajectories that were published as `{role: 'ai', text}`. */
export const sweAgent: LogReader = {
  format: 'swe-agent',
  matches: (record) => attemptsOf(record).length > 0,
  async *read(records) {
    let run = 0;
    for await (const record of records) {
      const model = modelOf(record);
      for (const attempt of attemptsOf(record)) yield* contextOf(attempt, run++, model);
    }
  },
};

/** Version 1 may try several times, and records all attempts. */
function attemptsOf(record: Fields): readonly Fields[] {
  const attempts = asList(record.attempts).filter(isRun);
  return attempts.length > 0 ? attempts : [record].filter(isRun);
}

const isRun = ({ trajectory, history }: Fields): boolean =>
  asList(trajectory).some((step) => isStep(step) || isPublished(step)) &&
  (history === undefined || Array.isArray(history));

const isStep = ({ action, observation }: Fields): boolean => typeof action === 'string' && observation !== undefined;

const isPublished = ({ role, text, system_prompt }: Fields): boolean =>
  typeof role === 'string' && (typeof text === 'string' || typeof system_prompt === 'string');

function contextOf({ trajectory, history }: Fields, run: number, model: string | undefined): Draft[] {
  const transcript = new Transcript(run);
  const steps = asList(trajectory);
  if (steps.some(isPublished)) addPublished(transcript, steps, model);
  else addSteps(transcript, steps, asList(history));
  return transcript.cut();
}

function addPublished(transcript: Transcript, messages: readonly Fields[], model: string | undefined): void {
  for (const { role, text, system_prompt } of messages) {
    const content = textOf(text ?? system_prompt);
    if (role === 'ai') transcript.reply({ ...splitLastBlock(content), model });
    else if (transcript.turns > 0) transcript.answer({ callId: transcript.nextCall, text: content });
    else transcript.say(role === 'system' ? 'system' : 'user', content);
  }
}

/** The history holds the task, with a demonstration that may hold replies. Every request is a step. */
function addSteps(transcript: Transcript, steps: readonly Fields[], history: readonly Fields[]): void {
  const replies = history.filter((message) => message.role === 'assistant' && !isDemo(message));
  for (const message of history) {
    if (message === replies[0]) break;
    transcript.say(message.role === 'system' ? 'system' : 'user', textOf(message.content));
  }
  for (const step of steps) {
    // A step that failed, or was the last, can be missing in the history, which alone has the calls as they were made.
    const isSaid = replies[0]?.action === step.action;
    transcript.reply(replyOf(step, isSaid ? asList(replies.shift()?.tool_calls) : []));
    transcript.answer({ callId: transcript.nextCall, text: textOf(step.observation) });
  }
}

const isDemo = ({ is_demo, message_type }: Fields): boolean => is_demo === true || message_type === 'demonstration';

function replyOf({ thought, response, action }: Fields, calls: readonly Fields[]): SplitReply {
  const command = toText(action).trim();
  const text = (command === '' ? textOf(response) || textOf(thought) : textOf(thought)).trim();
  if (calls.length > 0) return { text, calls: calls.map(callOf) };
  return { text, calls: command === '' ? [] : [{ name: 'bash', arguments: command }] };
}

function callOf({ id, function: called }: Fields): Call {
  const { name, arguments: input } = (called ?? {}) as Fields;
  return { id: asString(id), name: asString(name), arguments: toText(input) };
}
