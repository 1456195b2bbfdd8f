import { asList, asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type LogReader, textOf, timeOf } from './log-reader.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Threads of Amp. They resemble messages of the Messages API, but for results. */
export const amp: LogReader = {
  format: 'amp',
  matches: ({ messages }) => asList(messages).some(({ content }) => asList(content).some(isResult)),
  async *read(records) {
    let run = 0;
    for await (const { messages } of records) if (Array.isArray(messages)) yield* contextOf(asList(messages), run++);
  },
};

const isResult = ({ type, toolUseID, run, content }: Fields): boolean =>
  type === 'tool_result' && typeof toolUseID === 'string' && (run ?? content) !== undefined;

function contextOf(messages: readonly Fields[], run: number): Draft[] {
  const transcript = new Transcript(run);
  for (const message of messages) {
    const time = timeOf(fieldsOf(message.meta).sentAt);
    const blocks = asList(message.content);
    if (message.role === 'assistant') transcript.reply({ ...replyOf(blocks, message.usage), time });
    else for (const block of blocks) addBlock(transcript, block, time);
  }
  return transcript.cut();
}

function replyOf(blocks: readonly Fields[], usage: unknown): ReplyPart {
  const counts = fieldsOf(usage);
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id: asString(id), name: asString(name), arguments: toText(input) }));
  return {
    text: joinTexts(blocks.map(({ text, thinking }) => toText(text ?? thinking))),
    calls,
    model: asString(counts.model),
    usage: toUsage({
      uncached: counts.inputTokens,
      read: counts.cacheReadInputTokens,
      written: counts.cacheCreationInputTokens,
      output: counts.outputTokens,
    }),
  };
}

function addBlock(transcript: Transcript, block: Fields, time: number | undefined): void {
  if (isResult(block)) transcript.answer({ callId: asString(block.toolUseID), text: resultText(block), time });
  else transcript.say('user', textOf(block), time);
}

/** Exports have the text as it was sent. Threads have the data of a result. */
function resultText({ run, content: sent }: Fields): string {
  if (run === undefined) return textOf(sent);
  const { result, error } = fieldsOf(run);
  const { output, content } = fieldsOf(result);
  return toText(output ?? content ?? result ?? fieldsOf(error).message);
}
