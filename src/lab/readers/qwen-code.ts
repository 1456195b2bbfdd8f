import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Usage } from '../run.ts';
import { responseText } from './gemini-cli.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Chats of Qwen Code and of its subagents: lines in a tree, whose messages are contents of the Gemini API. */
export const qwenCode = sessionReader({
  format: 'qwen-code',
  matches: ({ sessionId, message, systemPayload }) =>
    typeof sessionId === 'string' && (Array.isArray(fieldsOf(message).parts) || isRecord(systemPayload)),
  begin: () => new QwenChat(),
});

/** System lines are for the program, and some of them have a message of their own. */
const isTurn = ({ type }: Fields): boolean => type === 'user' || type === 'assistant' || type === 'tool_result';

class QwenChat implements Session {
  readonly #transcript = new Transcript();
  /** The lines of this context. */
  #lines: Fields[] = [];

  *add(line: Fields): Generator<Draft> {
    yield* this.#goBack(line.parentUuid);
    if (Array.isArray(fieldsOf(line.systemPayload).compressedHistory)) {
      yield* this.end();
      this.#lines = [];
    }
    this.#addLine(line);
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  /** The user can continue from an earlier line. Later lines are then no longer sent. */
  *#goBack(parentUuid: unknown): Generator<Draft> {
    if (typeof parentUuid !== 'string') return;
    const at = this.#lines.findLastIndex(({ uuid }) => uuid === parentUuid);
    if (at < 0 || !this.#lines.slice(at + 1).some(({ type }) => type === 'assistant')) return;
    yield* this.end();
    const kept = this.#lines.slice(0, at + 1);
    this.#lines = [];
    for (const line of kept) this.#addLine(line);
    this.#transcript.markCarried();
  }

  #addLine(line: Fields): void {
    this.#lines.push(line);
    const time = timeOf(line.timestamp);
    const { compressedHistory, history } = fieldsOf(line.systemPayload);
    const inherited = asList(compressedHistory ?? history);
    for (const content of inherited) this.#addContent(content, { time });
    if (isTurn(line))
      this.#addContent(line.message, { time, model: asString(line.model), usage: usageOf(line.usageMetadata) });
    // A branch begins with a copy of the lines of the session that it left.
    if (inherited.length > 0 || isRecord(line.forkedFrom)) this.#transcript.markCarried();
  }

  #addContent(content: unknown, about: ReplyPart): void {
    const { role, parts } = fieldsOf(content);
    if (role === 'model') this.#transcript.reply({ ...about, ...replyOf(asList(parts)) });
    else for (const part of asList(parts)) this.#addPart(part, about.time);
  }

  #addPart(part: Fields, time: number | undefined): void {
    const text = responseText(part.functionResponse);
    const { id, name } = fieldsOf(part.functionResponse);
    if (text === undefined) this.#transcript.say('user', textOf(part), time);
    else
      this.#transcript.answer({
        callId: asString(id) ?? this.#transcript.nextCall,
        name: asString(name),
        text,
        time,
      });
  }
}

function replyOf(parts: readonly Fields[]): ReplyPart {
  const calls = parts
    .map(({ functionCall }) => functionCall)
    .filter(isRecord)
    .map((call) => call as Fields)
    .map(({ id, name, args }) => ({ id: asString(id), name: asString(name), arguments: toText(args) }));
  return { text: joinTexts(parts.map(textOf)), calls };
}

/** Models that are not Gemini count their thoughts among the candidates, so the total tells the output. */
function usageOf(usage: unknown): Usage | undefined {
  const { promptTokenCount, cachedContentTokenCount, candidatesTokenCount, totalTokenCount } = fieldsOf(usage);
  const output = Number(totalTokenCount) - Number(promptTokenCount);
  return toUsage({
    prompt: promptTokenCount ?? 0,
    read: cachedContentTokenCount,
    output: output > 0 ? output : candidatesTokenCount,
  });
}
