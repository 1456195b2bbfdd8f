import { asList, asString, toText } from '../../formats/lens.ts';
import { ExecStream, isExecEvent, isInit } from './droid-stream.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { anthropicUsage, fieldsOf } from './usage.ts';

/** Sessions of Factory's Droid: lines in a tree, whose messages are those of the Messages API. And the output of `droid exec`. */
export const droid = sessionReader({
  format: 'droid',
  matches: (record) =>
    isExecEvent(record) || isInit(record) || (record.type === 'session_start' && typeof record.id === 'string'),
  begin: (run) => new DroidSession(run),
  idOf: (record) => (isInit(record) ? asString(record.session_id ?? record.sessionId) : undefined),
});

interface Line {
  readonly line: Fields;
  /** The number of messages up to this line. */
  readonly messages: number;
}

class DroidSession implements Session {
  readonly #transcript: Transcript;
  readonly #stream: ExecStream;
  /** The lines of this context: going back keeps the first of them, a compaction can keep the last. */
  #lines: Line[] = [];

  constructor(run: number) {
    this.#transcript = new Transcript(run);
    this.#stream = new ExecStream(this.#transcript);
  }

  *add(line: Fields): Generator<Draft> {
    if (isExecEvent(line)) return this.#stream.add(line);
    if (isInit(line)) return this.#stream.begin(line);
    yield* this.#goBack(line.parentId);
    if (line.type === 'compaction_state') yield* this.#compact(line);
    else this.#addLine(line);
  }

  end(): Draft[] {
    this.#stream.end();
    return this.#transcript.cut();
  }

  /** The user can continue from an earlier line. Later lines are then no longer sent. */
  *#goBack(parentId: unknown): Generator<Draft> {
    if (typeof parentId !== 'string') return;
    const at = this.#lines.findLastIndex(({ line }) => line.id === parentId);
    const parent = this.#lines[at];
    if (!parent) return;
    yield* this.#transcript.goBack(parent.messages);
    this.#lines = this.#lines.slice(0, at + 1);
  }

  /** The summary takes the place of the lines up to its anchor. */
  *#compact({ summaryText, anchorMessage, timestamp }: Fields): Generator<Draft> {
    yield* this.end();
    const { id } = fieldsOf(anchorMessage);
    const at = this.#lines.findLastIndex(({ line }) => line.id === id);
    const kept = id === undefined || at < 0 ? [] : this.#lines.slice(at + 1);
    this.#lines = [];
    this.#transcript.say('user', toText(summaryText), timeOf(timestamp));
    for (const { line } of kept) this.#addLine(line);
    this.#transcript.markCarried();
  }

  #addLine(line: Fields): void {
    if (line.type === 'message') this.#addMessage(fieldsOf(line.message), timeOf(line.timestamp));
    this.#lines.push({ line, messages: this.#transcript.length });
  }

  #addMessage({ role, content, model, usage }: Fields, time: number | undefined): void {
    const facts = { model: asString(model), usage: anthropicUsage(usage) };
    if (role === 'assistant') this.#transcript.reply({ ...replyOf(content), ...facts, time });
    else if (typeof content === 'string') this.#transcript.say('user', content, time);
    else for (const block of asList(content)) this.#addBlock(block, time);
  }

  #addBlock(block: Fields, time: number | undefined): void {
    if (block.type === 'tool_result')
      this.#transcript.answer({ callId: asString(block.tool_use_id), text: textOf(block.content), time });
    else this.#transcript.say('user', textOf(block), time);
  }
}

function replyOf(content: unknown): ReplyPart {
  const blocks = asList(content);
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id: asString(id), name: asString(name), arguments: toText(input) }));
  const text = joinTexts(blocks.map(({ text, thinking }) => toText(text ?? thinking)));
  return { text: typeof content === 'string' ? content : text, calls };
}
