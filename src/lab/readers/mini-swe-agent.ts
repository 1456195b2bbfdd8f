import { asList } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { type LogReader, textOf, timeOf } from './log-reader.ts';
import { contextOf, factsOf, modelOf } from './messages.ts';
import { splitBashBlocks } from './text-actions.ts';
import { type Draft, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Trajectories of mini-swe-agent: commands in fenced blocks (v1) or as calls (v1.1). */
export const miniSweAgent: LogReader = {
  format: 'mini-swe-agent',
  matches: ({ trajectory_format, info, messages }) =>
    Array.isArray(messages) &&
    (String(trajectory_format).startsWith('mini-swe-agent') ||
      (info as Fields | undefined)?.mini_version !== undefined),
  async *read(records) {
    let run = 0;
    for await (const { messages, info } of records) {
      const model = modelOf(fieldsOf(fieldsOf(fieldsOf(info).config).model));
      const sent = asList(messages)
        .filter(({ role }) => role !== 'exit')
        .flatMap(itemsOf);
      yield* sent.some(isCallOrResult) ? contextOf(sent, { run: run++, model }) : textContext(sent, run++, model);
    }
  },
};

/** A reply of the Responses API is logged whole, with its items inside. */
const itemsOf = (message: Fields): readonly Fields[] =>
  message.object === 'response'
    ? asList(message.output).map((item) => ({ ...item, model: message.model, usage: message.usage }))
    : [message];

const isCallOrResult = ({ role, type, tool_calls }: Fields): boolean =>
  role === 'tool' || type === 'function_call' || (Array.isArray(tool_calls) && tool_calls.length > 0);

/** Only the shell answers: a message after a reply is a result, even if it says that there was no command. */
function textContext(messages: readonly Fields[], run: number, model: string | undefined): Draft[] {
  const transcript = new Transcript(run);
  for (const message of messages) {
    const { role, content, extra } = message;
    const text = textOf(content);
    const time = timeOf((extra as Fields | undefined)?.timestamp);
    if (role === 'assistant') transcript.reply({ ...splitBashBlocks(text), time, ...factsOf(message, model) });
    else if (transcript.turns > 0) transcript.answer({ callId: transcript.nextCall, text, time });
    else transcript.say(role === 'system' ? 'system' : 'user', text, time);
  }
  return transcript.cut();
}
