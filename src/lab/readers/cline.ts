import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { ReplyFacts, Usage } from '../run.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type SplitReply, splitTags } from './text-actions.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Conversations of Cline: sessions of its SDK, and `api_conversation_history.json` of the editor extension, also that of Roo and Kilo. */
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
  readonly #system: string;
  /** The message with the task. A summary may leave it in place. */
  #task: Fields | undefined;
  /** The prompt of the previous reply. */
  #prompt = 0;

  constructor(run: number, system: string) {
    this.#transcript = new Transcript(run);
    this.#system = system;
    this.#transcript.say('system', system);
  }

  *add(message: Fields): Generator<Draft> {
    if (isSilent(message)) return;
    if (message.isSummary === true) yield* this.#compact(message);
    else this.#addMessage(message);
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  #addMessage({ role, content, ts, ...about }: Fields): void {
    const time = timeOf(ts);
    if (role === 'assistant') this.#transcript.reply({ ...replyOf(blocksOf(content)), ...this.#factsOf(about), time });
    else if (role === 'user') addUser(this.#transcript, blocksOf(content), time);
    this.#task ??= { role, content, ts, ...about };
  }

  /** Hidden messages stay in the history of Roo. The summary is a message of the user or, in older versions, a reply. */
  *#compact({ content, ts }: Fields): Generator<Draft> {
    if (this.#transcript.turns > 0) {
      yield* this.end();
      this.#transcript.say('system', this.#system);
      if (this.#task?.role === 'user' && this.#task.condenseParent === undefined) this.#addMessage(this.#task);
    }
    this.#transcript.say('user', joinTexts(blocksOf(content).map(blockText)), timeOf(ts));
  }

  #factsOf({ modelInfo, metrics }: Fields): ReplyFacts {
    const { id, modelId } = fieldsOf(modelInfo);
    const { tokens } = fieldsOf(metrics);
    const usage = isRecord(tokens) ? extensionUsage(tokens as Fields, this.#prompt) : sdkUsage(fieldsOf(metrics));
    this.#prompt = usage?.prompt ?? this.#prompt;
    return { model: asString(id) ?? asString(modelId), usage };
  }
}

/** Entries of Roo that are not sent as they are: where messages were hidden, and reasoning for the provider. */
const isSilent = ({ isTruncationMarker, type }: Fields): boolean => isTruncationMarker === true || type === 'reasoning';

/** Cached tokens are part of the input tokens, unless there are more of them: then they are added. */
function sdkUsage({
  inputTokens,
  cacheReadTokens: read,
  cacheWriteTokens: written,
  outputTokens,
}: Fields): Usage | undefined {
  const isWhole = Number(inputTokens ?? 0) >= Number(read ?? 0) + Number(written ?? 0);
  const prompt = isWhole ? { prompt: inputTokens ?? 0 } : { uncached: inputTokens, written };
  return toUsage({ ...prompt, read, output: outputTokens });
}

/** The extension adds up what was read from the cache and written to it. Only the previous prompt can have been read. */
function extensionUsage({ prompt, cached, completion }: Fields, previous: number): Usage | undefined {
  const read = Math.min(Number(cached ?? 0), previous);
  return toUsage({ uncached: prompt, read, written: Number(cached ?? 0) - read, output: completion });
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
