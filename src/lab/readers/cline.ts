import { asList, asString, toText } from '../../formats/lens.ts';
import type { ReplyFacts } from '../run.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type SplitReply, splitTags } from './text-actions.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Conversations of Cline: sessions of its SDK, and `api_conversation_history.json` of the editor extension. */
export const cline = sessionReader({
  format: 'cline',
  matches: (record) => isSession(record) || isTask(record),
  begin: (run, whole) => new ClineSession(run, textOf(whole?.system_prompt)),
  partsOf: (record) => (isSession(record) ? asList(record.messages) : undefined),
});

const isSession = ({ messages, sessionId, agent }: Fields): boolean =>
  Array.isArray(messages) && typeof sessionId === 'string' && typeof agent === 'string';

const isTask = ({ role, content }: Fields): boolean =>
  role === 'user' && /^<task>|^<environment_details>/m.test(textOf(content));

class ClineSession implements Session {
  readonly #transcript: Transcript;

  constructor(run: number, system: string) {
    this.#transcript = new Transcript(run);
    this.#transcript.say('system', system);
  }

  add({ role, content, ts, ...about }: Fields): Draft[] {
    const time = timeOf(ts);
    if (role === 'assistant') this.#transcript.reply({ ...replyOf(blocksOf(content)), ...factsOf(about), time });
    else if (role === 'user') addUser(this.#transcript, blocksOf(content), time);
    return [];
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }
}

/** Cached tokens are part of the input tokens, unless there are more of them: then they are added. */
function factsOf({ modelInfo, metrics }: Fields): ReplyFacts {
  const { inputTokens: input, cacheReadTokens: read, cacheWriteTokens: written, outputTokens } = fieldsOf(metrics);
  const isWhole = Number(input ?? 0) >= Number(read ?? 0) + Number(written ?? 0);
  const prompt = isWhole ? { prompt: input ?? 0 } : { uncached: input, written };
  return { model: asString(fieldsOf(modelInfo).id), usage: toUsage({ ...prompt, read, output: outputTokens }) };
}

const blocksOf = (content: unknown): readonly Fields[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : asList(content);

/** The extension expects tool calls as tags in the text, unless the model has native calls. */
function replyOf(blocks: readonly Fields[]): SplitReply {
  const text = joinTexts(blocks.map(({ text, thinking }) => toText(text ?? thinking)));
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(callOf);
  return calls.length > 0 ? { text, calls } : splitTags(text);
}

const callOf = ({ id, name, input }: Fields): Call => ({
  id: asString(id),
  name: asString(name),
  arguments: toText(input),
});

/** Results of calls in tags are text: a line that names the tool, then its output. */
function addUser(transcript: Transcript, blocks: readonly Fields[], time: number | undefined): void {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  for (const { tool_use_id, name, content } of results)
    transcript.answer({ callId: asString(tool_use_id), name: asString(name), text: resultText(content), time });
  const texts = blocks.filter(({ type }) => type !== 'tool_result').map(blockText);
  const isResult = /^\[\w+[^\]]*\] Result:/.test(texts[0] ?? '');
  const ends = texts.findIndex((text) => text.startsWith('<environment_details>'));
  const end = isResult ? (ends < 0 ? texts.length : ends) : 0;
  if (isResult) transcript.answer({ callId: transcript.nextCall, text: joinTexts(texts.slice(0, end)), time });
  transcript.say('user', joinTexts(texts.slice(end)), time);
}

/** A file that the user named is sent along with its content. */
const blockText = (block: Fields): string => (block.type === 'file' ? toText(block.content) : textOf(block));

/** Blocks of text, or the plain data of a tool. */
function resultText(content: unknown): string {
  if (!Array.isArray(content)) return toText(content);
  return joinTexts(content.map((part) => (isBlock(part) ? textOf(part) : toText(part))));
}

const isBlock = (part: unknown): boolean => typeof (part as Fields | null)?.type === 'string';
