import { asList, asString, toText } from '../../formats/lens.ts';
import type { ReplyFacts } from '../run.ts';
import { GeminiStream, isInit, isStreamed } from './gemini-stream.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type LogReader, textOf, timeOf } from './log-reader.ts';
import { contextOf } from './messages.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Sessions of Gemini CLI, one object or lines that update each other, saved chats, which are a list of contents, and streams. */
export const geminiCli: LogReader = {
  format: 'gemini-cli',
  matches: (record) =>
    isSession(record) || isLine(record) || isContent(record) || contentsOf(record) !== undefined || isInit(record),
  async *read(records) {
    let session: Session | undefined;
    let run = 0;
    let stream: GeminiStream | undefined;
    const contents: Fields[] = [];
    for await (const record of records) {
      const saved = contentsOf(record);
      if (saved) yield* contextOf(saved, { run: run++ });
      else if (isContent(record)) contents.push(record);
      else if (isInit(record) || (stream && isStreamed(record))) {
        stream ??= new GeminiStream(run++);
        stream.add(record);
      } else {
        if (isSession(record) && session) yield* session.end();
        if (isSession(record) || !session) session = new Session(run++);
        yield* session.add(record);
      }
    }
    if (session) yield* session.end();
    if (stream) yield* stream.end();
    yield* contextOf(contents, { run });
  },
};

const isSession = (record: Fields): boolean =>
  typeof record.sessionId === 'string' &&
  (typeof record.projectHash === 'string' || asList(record.messages).some(isLine));

const isLine = ({ type, content }: Fields): boolean =>
  type === 'gemini' || (type === 'user' && (typeof content === 'string' || Array.isArray(content)));

/** Parts with a type are those of other messages, for example of the AI SDK's interface. */
const isContent = ({ role, parts }: Fields): boolean =>
  (role === 'user' || role === 'model') && Array.isArray(parts) && !asList(parts).some(({ type }) => isText(type));

const isText = (value: unknown): boolean => typeof value === 'string';

const contentsOf = ({ history }: Fields): readonly Fields[] | undefined =>
  asList(history).some(isContent) ? asList(history) : undefined;

class Session {
  readonly #run: number;
  /** Lines by id. A line with the same id is a later state of the same message. */
  #lines = new Map<string, Fields>();
  #carried = new Set<string>();

  constructor(run: number) {
    this.#run = run;
  }

  *add(record: Fields): Generator<Draft> {
    const { $set, $rewindTo } = record;
    const patch = ($set ?? record) as Fields;
    if (typeof $rewindTo === 'string') yield* this.#rewind($rewindTo);
    else if (Array.isArray(patch.messages)) yield* this.#replace(asList(patch.messages));
    else if (isLine(record)) this.#put(record);
  }

  *end(): Generator<Draft> {
    const transcript = new Transcript(this.#run);
    for (const [id, line] of this.#lines) {
      addLine(transcript, line);
      if (this.#carried.has(id)) transcript.markCarried();
    }
    yield* transcript.cut();
  }

  #put(line: Fields): void {
    this.#lines.set(asString(line.id) ?? `line ${this.#lines.size}`, line);
  }

  /** The user withdrew this message and all later ones. */
  *#rewind(id: string): Generator<Draft> {
    const ids = [...this.#lines.keys()];
    const kept = ids.slice(0, Math.max(0, ids.indexOf(id)));
    yield* this.#replace(kept.map((key) => this.#lines.get(key) as Fields));
  }

  /** Replaces the list that is sent from now on. After a compression, the removed lines were the previous context. */
  *#replace(lines: readonly Fields[]): Generator<Draft> {
    const ids = new Set(lines.map(({ id }) => id));
    const isCut = [...this.#lines.keys()].some((id) => !ids.has(id));
    const before = this.#lines;
    if (isCut) yield* this.end();
    this.#lines = new Map();
    for (const line of lines) this.#put(line);
    if (isCut) this.#carried = new Set([...this.#lines.keys()].filter((id) => before.has(id)));
  }
}

function addLine(transcript: Transcript, line: Fields): void {
  const time = timeOf(line.timestamp);
  if (line.type === 'user') transcript.say('user', textOf(line.content), time);
  else if (line.type === 'gemini') addReply(transcript, line, time);
}

function addReply(transcript: Transcript, line: Fields, time: number | undefined): void {
  const tools = asList(line.toolCalls);
  const text = joinTexts([...asList(line.thoughts).map(thoughtText), textOf(line.content)]);
  transcript.reply({ text, calls: tools.map(callOf), time, ...factsOf(line) });
  for (const { id, name, result, timestamp } of tools) {
    if (result === undefined || result === null) continue;
    const about = { callId: asString(id), name: asString(name), time: timeOf(timestamp) };
    transcript.answer({ ...about, text: resultText(result) });
  }
}

function factsOf({ model, tokens }: Fields): ReplyFacts {
  const { input, cached, output, thoughts } = fieldsOf(tokens);
  const usage = toUsage({ prompt: input ?? 0, read: cached, output: Number(output ?? 0) + Number(thoughts ?? 0) });
  return { model: asString(model), usage };
}

const thoughtText = ({ subject, description }: Fields): string => joinTexts([toText(subject), toText(description)]);

const callOf = ({ id, name, args }: Fields): Call => ({
  id: asString(id),
  name: asString(name),
  arguments: toText(args),
});

/** The text that is sent to the model; `resultDisplay` is for people. */
function resultText(result: unknown): string {
  const parts = Array.isArray(result) ? result : [result];
  return joinTexts(parts.map((part) => responseText((part as Fields | null)?.functionResponse) ?? textOf(part)));
}

/** The text of a result as the API has it, or undefined if this is none. */
export function responseText(functionResponse: unknown): string | undefined {
  if (typeof functionResponse !== 'object' || functionResponse === null) return undefined;
  const { response } = functionResponse as Fields;
  const { output, error } = (response ?? {}) as Fields;
  return toText(output ?? error ?? response);
}
