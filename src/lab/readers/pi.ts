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
  /** When this session left another one. Older entries are a copy from there. */
  #forked: number | undefined;

  *add(record: Fields): Generator<Draft> {
    const index = this.#count++;
    if (record.type === 'session' && typeof record.parentSession === 'string') this.#forked = timeOf(record.timestamp);
    yield* this.#goBack(record.parentId);
    if (record.type === 'compaction') yield* this.#compact({ index, record });
    else this.#addEntry({ index, record });
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  /** The user may continue from an earlier line. Later lines are then no longer sent. */
  *#goBack(parentId: unknown): Generator<Draft> {
    const at = this.#entries.findLastIndex(({ record }) => record.id === parentId);
    const isNewRoot = parentId === null && this.#transcript.turns > 0;
    const isEarlier = typeof parentId === 'string' && at >= 0 && at < this.#entries.length - 1;
    if (!isNewRoot && !isEarlier) return;
    yield* this.end();
    this.#restart(isEarlier ? this.#entries.slice(0, at + 1) : []);
  }

  *#compact(compaction: Entry): Generator<Draft> {
    yield* this.end();
    const { firstKeptEntryIndex, firstKeptEntryId } = compaction.record;
    const from = this.#entries.findIndex(({ index, record }) =>
      firstKeptEntryId === undefined ? index >= Number(firstKeptEntryIndex) : record.id === firstKeptEntryId,
    );
    const kept = from < 0 ? [] : this.#entries.slice(from);
    const { systemMessage } = compaction.record;
    // The prompt of the compaction takes the place of those that are kept.
    const isSent = ({ record }: Entry): boolean => !systemMessage || fieldsOf(record.message).role !== 'system';
    this.#restart([compaction, ...kept.filter(isSent)]);
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
    const { type, message, summary, content, timestamp, systemMessage } = entry.record;
    const time = timeOf(timestamp);
    if (isRecord(systemMessage)) this.#addMessage(systemMessage as Fields, time);
    if (type === 'message' && isRecord(message)) this.#addMessage(message, timeOf(message.timestamp) ?? time);
    else if (type === 'compaction' || type === 'branch_summary') this.#transcript.say('user', toText(summary), time);
    else if (type === 'custom_message') this.#transcript.say('user', textOf(content), time);
    if (this.#forked !== undefined && Number(time) < this.#forked) this.#transcript.markCarried();
  }

  #addMessage({ role, content, ...about }: Fields, time: number | undefined): void {
    const text = textOf(content);
    const [callId, name] = [asString(about.toolCallId), asString(about.toolName)];
    if (role === 'assistant') this.#transcript.reply({ ...replyOf(content), ...factsOf(about), time });
    else if (role === 'toolResult') this.#transcript.answer({ callId, name, text, time });
    else if (role === 'bashExecution') this.#addCommand(about, time);
    else if (role === 'system') this.#transcript.say('system', promptOf(text, about), time);
    else this.#transcript.say('user', text, time);
  }

  /** A command that the user ran: the model sees its output without having called it. */
  #addCommand({ command, output, excludeFromContext }: Fields, time: number | undefined): void {
    if (excludeFromContext === true) return;
    this.#transcript.answer({ name: 'bash', text: joinTexts([toText(command), toText(output)]), time });
  }
}

/** The prompt in sections, and the tools. A later message has what changed. */
const promptOf = (text: string, { sections, toolsAdded }: Fields): string =>
  joinTexts([text, ...Object.values(fieldsOf(sections)).map(toText), toText(toolsAdded)]);

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
