import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { ReplyFacts } from '../run.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Sessions of pi. */
export const pi = sessionReader({
  format: 'pi',
  matches: ({ type, cwd, message }) =>
    (type === 'session' && typeof cwd === 'string') ||
    (type === 'message' && isRecord(message) && PI_ROLES.has(String(message.role))),
  begin: () => new PiSession(),
});

const PI_ROLES = new Set(['user', 'assistant', 'toolResult', 'bashExecution']);

interface Entry {
  readonly index: number;
  readonly record: Fields;
}

class PiSession implements Session {
  readonly #transcript = new Transcript();
  /** The lines that make up this context: a compaction keeps the last of them, going back keeps the first. */
  #entries: Entry[] = [];
  #count = 0;

  *add(record: Fields): Generator<Draft> {
    const index = this.#count++;
    yield* this.#goBack(record.parentId);
    if (record.type === 'compaction') yield* this.#compact({ index, record });
    else this.#addEntry({ index, record });
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  /** The user may continue from an earlier line. Later lines are then no longer sent. */
  *#goBack(parentId: unknown): Generator<Draft> {
    if (typeof parentId !== 'string') return;
    const at = this.#entries.findLastIndex(({ record }) => record.id === parentId);
    if (at < 0 || at === this.#entries.length - 1) return;
    yield* this.end();
    this.#restart(this.#entries.slice(0, at + 1));
  }

  *#compact(compaction: Entry): Generator<Draft> {
    yield* this.end();
    const { firstKeptEntryIndex, firstKeptEntryId } = compaction.record;
    const from = this.#entries.findIndex(({ index, record }) =>
      firstKeptEntryId === undefined ? index >= Number(firstKeptEntryIndex) : record.id === firstKeptEntryId,
    );
    this.#restart([compaction, ...(from < 0 ? [] : this.#entries.slice(from))]);
    // The next line names the compaction as its parent, though it is sent before the kept messages.
    this.#entries.push({ index: compaction.index, record: { id: compaction.record.id } });
  }

  #restart(entries: readonly Entry[]): void {
    this.#entries = [];
    for (const entry of entries) this.#addEntry(entry);
    this.#transcript.markCarried();
  }

  #addEntry(entry: Entry): void {
    this.#entries.push(entry);
    const { type, message, summary, content, timestamp } = entry.record;
    const time = timeOf(timestamp);
    if (type === 'message' && isRecord(message)) this.#addMessage(message, timeOf(message.timestamp) ?? time);
    else if (type === 'compaction' || type === 'branch_summary') this.#transcript.say('user', toText(summary), time);
    else if (type === 'custom_message') this.#transcript.say('user', textOf(content), time);
  }

  #addMessage({ role, content, ...about }: Fields, time: number | undefined): void {
    const text = textOf(content);
    const [callId, name] = [asString(about.toolCallId), asString(about.toolName)];
    if (role === 'assistant') this.#transcript.reply({ ...replyOf(content), ...factsOf(about), time });
    else if (role === 'toolResult') this.#transcript.answer({ callId, name, text, time });
    else if (role === 'bashExecution') this.#addCommand(about, time);
    else this.#transcript.say('user', text, time);
  }

  /** A command that the user ran: the model sees its output without having called it. */
  #addCommand({ command, output, excludeFromContext }: Fields, time: number | undefined): void {
    if (excludeFromContext === true) return;
    this.#transcript.answer({ name: 'bash', text: joinTexts([toText(command), toText(output)]), time });
  }
}

function factsOf({ model, usage }: Fields): ReplyFacts {
  const { input, output, cacheRead, cacheWrite } = fieldsOf(usage);
  return { model: asString(model), usage: toUsage({ uncached: input, read: cacheRead, written: cacheWrite, output }) };
}

function replyOf(content: unknown): ReplyPart {
  const blocks = asList(content);
  const texts = blocks.map(({ thinking, text }) => toText(thinking ?? text));
  const calls = blocks
    .filter(({ type }) => type === 'toolCall')
    .map(({ id, name, arguments: input }) => ({ id: asString(id), name: asString(name), arguments: toText(input) }));
  return { text: typeof content === 'string' ? content : joinTexts(texts), calls };
}
