import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type LogReader, textOf, timeOf } from './log-reader.ts';
import { modelOf } from './messages.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Trajectories in the interchange format ATIF, as Harbor writes them for every agent. */
export const atif: LogReader = {
  format: 'atif',
  matches: ({ schema_version, steps }) => String(schema_version).startsWith('ATIF') && Array.isArray(steps),
  async *read(records) {
    let run = 0;
    for await (const record of records)
      for (const { steps, agent } of withSubagents(record))
        if (Array.isArray(steps)) yield* contextOf(asList(steps), run++, modelOf(fieldsOf(agent)));
  },
};

/** Newer versions put the trajectories of subagents into that of the agent. */
const withSubagents = (record: Fields): readonly Fields[] => [
  record,
  ...asList(record.subagent_trajectories).flatMap(withSubagents),
];

function contextOf(steps: readonly Fields[], run: number, model: string | undefined): Draft[] {
  const transcript = new Transcript(run);
  for (const step of steps) {
    const { source, message, timestamp, is_copied_context } = step;
    const time = timeOf(timestamp);
    if (source === 'agent') addReply(transcript, step, model);
    else transcript.say(source === 'system' ? 'system' : 'user', textOf(message), time);
    for (const result of asList(fieldsOf(step.observation).results)) addResult(transcript, result, time);
    // Steps of an earlier trajectory, repeated as the beginning of this one.
    if (is_copied_context === true) transcript.markCarried();
  }
  return transcript.cut();
}

function addReply(transcript: Transcript, step: Fields, model: string | undefined): void {
  const { message, reasoning_content, tool_calls, metrics, timestamp } = step;
  const { prompt_tokens, cached_tokens, completion_tokens } = fieldsOf(metrics);
  transcript.reply({
    text: joinTexts([toText(reasoning_content), textOf(message)]),
    calls: asList(tool_calls).map(callOf),
    time: timeOf(timestamp),
    model: modelOf(step) ?? model,
    usage: toUsage({ prompt: prompt_tokens ?? 0, read: cached_tokens, output: completion_tokens }),
  });
}

const callOf = ({ tool_call_id, function_name, arguments: input }: Fields): Call => ({
  id: asString(tool_call_id),
  name: asString(function_name),
  arguments: toText(input),
});

/** A result without the id of a call is what the environment shows after all of them. */
function addResult(transcript: Transcript, { source_call_id, content }: Fields, time: number | undefined): void {
  const isData = Array.isArray(content) ? content.length > 0 && !content.some(isPart) : isRecord(content);
  const text = isData ? toText(content) : textOf(content);
  transcript.answer({ callId: asString(source_call_id) ?? transcript.nextCall, text, time });
}

/** A part of the format. Some agents have plain data in place of parts. */
const isPart = (part: unknown): boolean => typeof fieldsOf(part).type === 'string';
