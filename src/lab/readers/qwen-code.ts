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
  /** The number of messages up to each line of this context. */
  #places = new Map<string, number>();

  *add(line: Fields): Generator<Draft> {
    const { compressedHistory, history } = fieldsOf(line.systemPayload);
    // The user can continue from an earlier line. Later lines are then no longer sent.
    const place = this.#places.get(String(line.parentUuid));
    if (place !== undefined) yield* this.#transcript.goBack(place);
    if (Array.isArray(compressedHistory)) {
      yield* this.end();
      this.#places = new Map();
    }
    this.#addLine(line, asList(compressedHistory ?? history));
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  #addLine(line: Fields, inherited: readonly Fields[]): void {
    const time = timeOf(line.timestamp);
    for (const content of inherited) this.#addContent(content, { time });
    if (isTurn(line))
      this.#addContent(line.message, { time, model: asString(line.model), usage: usageOf(line.usageMetadata) });
    if (typeof line.uuid === 'string') this.#places.set(line.uuid, this.#transcript.length);
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
