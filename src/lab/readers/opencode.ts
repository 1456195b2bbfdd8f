import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { ReplyFacts, Usage } from '../run.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, timeOf } from './log-reader.ts';
import { isStoredSession, storedMessages } from './opencode-storage.ts';
import { type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** The output of `opencode export`, a list of its messages, a session of the storage folder, or the output of `opencode run --format json`. */
export const opencode = sessionReader({
  format: 'opencode',
  matches: (record) =>
    isMessage(record) || isPartEvent(record) || isStoredSession(record) || messagesOf(record) !== undefined,
  begin: (run) => new OpencodeSession(run),
  partsOf: (record, file) =>
    isStoredSession(record) && file !== undefined ? storedMessages(record, file) : messagesOf(record),
});

function messagesOf({ messages }: Fields): readonly Fields[] | undefined {
  const found = asList(messages).filter(isMessage);
  return found.length > 0 ? found : undefined;
}

const isMessage = ({ info, parts }: Fields): boolean =>
  Array.isArray(parts) && typeof (info as Fields | undefined)?.role === 'string';

/** The output of `opencode run` has the parts of replies one by one, without prompts. */
const isPartEvent = ({ type, sessionID, part }: Fields): boolean =>
  PART_EVENTS.has(String(type)) && typeof sessionID === 'string' && isRecord(part);

const PART_EVENTS = new Set(['step_start', 'text', 'reasoning', 'tool_use', 'step_finish']);

const isSummary = ({ role, summary, error }: Fields): boolean => role === 'assistant' && summary === true && !error;

class OpencodeSession implements Session {
  readonly #transcript: Transcript;
  /** The messages of this context: a compaction may keep the last of them. */
  #messages: Fields[] = [];
  #tail: string | undefined;
  /** The parts of a reply that has not ended. */
  #parts: Fields[] = [];

  constructor(run: number) {
    this.#transcript = new Transcript(run);
  }

  *add(message: Fields): Generator<Draft> {
    if (isPartEvent(message)) this.#addPart(message);
    if (!isMessage(message)) return;
    const info = message.info as Fields;
    const parts = asList(message.parts);
    if (isSummary(info)) yield* this.#compact(message);
    else this.#addMessage(message);
    const compaction = parts.find(({ type }) => type === 'compaction');
    if (compaction) this.#tail = asString(compaction.tail_start_id) ?? asString(compaction.tailStartID);
  }

  end(): Draft[] {
    this.#endReply(undefined);
    return this.#transcript.cut();
  }

  #addPart({ type, timestamp, part }: Fields): void {
    if (type === 'step_start') this.#endReply(timestamp);
    else this.#parts.push(fieldsOf(part));
    if (type === 'step_finish') this.#endReply(timestamp);
  }

  #endReply(created: unknown): void {
    const parts = this.#parts;
    this.#parts = [];
    if (parts.length > 0) this.#addReplies(parts, { time: { created } });
  }

  /**
   * The summary is sent as a reply, in place of everything before it except a tail. It is sent before the tail. Here it follows the
   * tail, because the turns that a context carries over are its first.
   */
  *#compact(summary: Fields): Generator<Draft> {
    yield* this.end();
    const from = this.#messages.findIndex(({ info }) => (info as Fields).id === this.#tail);
    const tail = this.#tail === undefined || from < 0 ? [] : this.#messages.slice(from);
    this.#messages = [];
    for (const message of tail) this.#addMessage(message);
    this.#transcript.markCarried();
    this.#addMessage(summary);
  }

  #addMessage(message: Fields): void {
    this.#messages.push(message);
    const info = message.info as Fields;
    const parts = asList(message.parts);
    if (info.role === 'assistant') this.#addReplies(parts, info);
    else this.#addUser(parts, timeOfInfo(info));
  }

  #addUser(parts: readonly Fields[], time: number | undefined): void {
    for (const { type, text, synthetic, ignored } of parts) {
      if (type !== 'text' || ignored === true) continue;
      // Text that the client adds to a prompt, such as files that the prompt names.
      if (synthetic === true) this.#transcript.answer({ text: toText(text), time });
      else this.#transcript.say('user', toText(text), time);
    }
  }

  /** Older versions keep all requests of an answer in one message, divided by `step-start`. */
  #addReplies(parts: readonly Fields[], info: Fields): void {
    const steps: Fields[][] = [[]];
    for (const part of parts) {
      if (part.type !== 'step-start') steps.at(-1)?.push(part);
      else if (steps.at(-1)?.length !== 0) steps.push([]);
    }
    const time = timeOfInfo(info);
    for (const step of steps) {
      const finish = step.find(({ type }) => type === 'step-finish');
      const tokens = finish?.tokens ?? (steps.length === 1 ? info.tokens : undefined);
      this.#addReply(step, time, { model: asString(info.modelID), usage: usageOf(tokens) });
    }
  }

  #addReply(parts: readonly Fields[], time: number | undefined, facts: ReplyFacts): void {
    const tools = parts.filter(({ type }) => type === 'tool');
    const calls = tools.map(({ callID, tool, state }) => ({
      id: asString(callID),
      name: asString(tool),
      arguments: toText((state as Fields | undefined)?.input),
    }));
    this.#transcript.reply({ text: textsOf(parts, ['text', 'reasoning']), calls, time, ...facts });
    for (const { callID, tool, state } of tools) this.#addResult(asString(callID), asString(tool), state as Fields);
  }

  #addResult(callId: string | undefined, name: string | undefined, state: Fields | undefined): void {
    const text = state?.status === 'error' ? state.error : state?.output;
    if (text === undefined) return;
    this.#transcript.answer({
      callId,
      name,
      text: toText(text),
      time: timeOf((state?.time as Fields | undefined)?.end),
    });
  }
}

function usageOf(tokens: unknown): Usage | undefined {
  const { input, output, reasoning, cache } = fieldsOf(tokens);
  const { read, write } = fieldsOf(cache);
  return toUsage({ uncached: input, read, written: write, output: Number(output ?? 0) + Number(reasoning ?? 0) });
}

const textsOf = (parts: readonly Fields[], types: readonly string[]): string =>
  joinTexts(parts.filter(({ type }) => types.includes(String(type))).map(({ text }) => toText(text)));

const timeOfInfo = ({ time }: Fields): number | undefined => timeOf((time as Fields | undefined)?.created);
