import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { anthropicUsage, fieldsOf } from './usage.ts';

/** Session files of Claude Code and of its subagents, and its `stream-json` output. */
export const claudeCode = sessionReader({
  format: 'claude-code',
  matches: (record) =>
    typeof (record.sessionId ?? record.session_id) === 'string' &&
    (typeof record.isSidechain === 'boolean' || KINDS.has(String(record.type)) || isTurn(record)),
  begin: (_run, _whole, file) => new Conversations(new OtherSessions(file)),
});

const KINDS = new Set(['system', 'queue-operation']);

const isTurn = ({ type, message }: Fields): boolean => (type === 'user' || type === 'assistant') && isRecord(message);

/** The main conversation, and those of subagents among its lines: each is a run of its own. */
class Conversations implements Session {
  readonly #others: OtherSessions;
  readonly #main: Conversation;
  readonly #agents = new Map<string, Conversation>();
  /** Side chains by their first line, for lines that do not name their agent. */
  readonly #sidechains = new Map<string, Conversation>();
  readonly #roots = new Map<string, string>();
  #runs = 0;
  #session: string | undefined;

  constructor(others: OtherSessions) {
    this.#others = others;
    this.#main = new Conversation(others);
  }

  *add(record: Fields): Generator<Draft> {
    yield* this.#changeSession(record);
    const conversation = this.#conversationOf(record);
    if (conversation === this.#main && conversation.isNextReply(record)) yield* this.#endSidechains();
    if (isCompaction(record)) yield* conversation.compact(record);
    if (!isTurn(record) && record.type !== 'attachment') return conversation.pass(record);
    conversation.run ??= this.#runs++;
    yield* conversation.add(record);
  }

  *end(): Generator<Draft> {
    yield* this.#main.cut();
    yield* this.#endSidechains();
    for (const conversation of this.#agents.values()) yield* conversation.cut();
  }

  /** Several outputs of the program can follow each other in one file. */
  *#changeSession({ type, subtype, session_id }: Fields): Generator<Draft> {
    if (type !== 'system' || subtype !== 'init' || typeof session_id !== 'string') return;
    if (this.#session !== undefined && this.#session !== session_id) {
      yield* this.end();
      this.#main.run = undefined;
      this.#agents.clear();
    }
    this.#session = session_id;
  }

  #conversationOf(record: Fields): Conversation {
    const agent = asString(record.agentId) ?? asString(record.parent_tool_use_id);
    const isSidechain = record.isSidechain === true || typeof record.parent_tool_use_id === 'string';
    if (!isSidechain) return this.#main;
    return agent === undefined ? this.#sidechainOf(record) : this.#conversationIn(this.#agents, agent);
  }

  #sidechainOf({ uuid, parentUuid }: Fields): Conversation {
    const root = this.#roots.get(String(parentUuid)) ?? String(uuid);
    this.#roots.set(String(uuid), root);
    return this.#conversationIn(this.#sidechains, root);
  }

  /** The main conversation waits for them, so they have ended when it continues. */
  *#endSidechains(): Generator<Draft> {
    for (const conversation of this.#sidechains.values()) yield* conversation.cut();
    this.#sidechains.clear();
    this.#roots.clear();
  }

  #conversationIn(conversations: Map<string, Conversation>, key: string): Conversation {
    const found = conversations.get(key) ?? new Conversation(this.#others);
    conversations.set(key, found);
    return found;
  }
}

/** Older versions resume a session in a new file that begins with a copy of its lines, under the id of the session that they are from. */
class OtherSessions {
  readonly #file: string | undefined;
  readonly #known = new Map<string, boolean>();

  constructor(file: string | undefined) {
    this.#file = file;
  }

  /** Whether a line is a copy: its session has a file of its own. The files of subagents are named after the agent. */
  hasLine({ sessionId }: Fields): boolean {
    if (this.#file === undefined || typeof sessionId !== 'string') return false;
    const name = basename(this.#file);
    if (name.startsWith(sessionId) || name.startsWith('agent-')) return false;
    const known = this.#known.get(sessionId) ?? existsSync(join(dirname(this.#file), `${basename(sessionId)}.jsonl`));
    this.#known.set(sessionId, known);
    return known;
  }
}

const isCompaction = ({ type, subtype, isCompactSummary }: Fields): boolean =>
  isCompactSummary === true || (type === 'system' && subtype === 'compact_boundary');

/** A line of the user that answers no call. */
const isPrompt = ({ type, message }: Fields): boolean =>
  type === 'user' && !asList(fieldsOf(message).content).some((block) => block.type === 'tool_result');

class Conversation {
  run: number | undefined;
  readonly #others: OtherSessions;
  #transcript = new Transcript();
  /** The lines of this context. */
  #lines: Fields[] = [];
  /** The number of lines and messages up to each id. Lines can be written twice, as when a session is resumed. */
  #places = new Map<string, { readonly lines: number; readonly messages: number }>();
  /** Lines that a compaction keeps. They are sent after the summary. */
  #kept: readonly Fields[] = [];
  /** The parts of the prompt that this context has. Newer versions log them at the start, some of them twice. */
  #prompted = new Set<string>();

  constructor(others: OtherSessions) {
    this.#others = others;
  }

  /** Whether a line begins a new reply, and does not continue the last one. */
  isNextReply({ type, message }: Fields): boolean {
    const id = asString((message as Fields | undefined)?.id);
    return type === 'assistant' && !(id !== undefined && this.#transcript.hasReply(id));
  }

  *add(record: Fields): Generator<Draft> {
    if (isTurn(record) && record.isCompactSummary !== true) this.#addKept();
    if (this.#places.has(String(record.uuid))) return;
    yield* this.#goBack(record);
    this.#addLine(record);
    if (record.isCompactSummary === true) this.#addKept();
  }

  /** A line of the program, which later lines can follow. */
  pass({ uuid }: Fields): void {
    if (typeof uuid !== 'string') return;
    this.#places.set(uuid, { lines: this.#lines.length, messages: this.#transcript.length });
  }

  /** A boundary and a summary both mark one compaction. */
  *compact(record: Fields): Generator<Draft> {
    const kept = keptLines(this.#lines, fieldsOf(record.compactMetadata));
    if (kept.length > 0) this.#kept = kept;
    if (this.#transcript.turns > 0) yield* this.cut();
  }

  *cut(): Generator<Draft> {
    yield* this.#numbered(this.#transcript.cut());
    this.#lines = [];
    this.#places = new Map();
    this.#prompted = new Set();
  }

  *#numbered(drafts: readonly Draft[]): Generator<Draft> {
    for (const draft of drafts) yield { ...draft, run: this.run ?? 0 };
  }

  /** The user can go back and send another prompt in the place of an earlier one. Later lines are then no longer sent. */
  *#goBack(record: Fields): Generator<Draft> {
    const place = this.#places.get(String(record.parentUuid));
    if (!place || !isPrompt(record)) return;
    const withdrawn = this.#lines.slice(place.lines);
    if (!withdrawn[0] || !isPrompt(withdrawn[0]) || !withdrawn.some(({ type }) => type === 'assistant')) return;
    yield* this.#numbered(this.#transcript.goBack(place.messages));
    this.#lines = this.#lines.slice(0, place.lines);
  }

  #addKept(): void {
    if (this.#kept.length === 0) return;
    const kept = this.#kept;
    this.#kept = [];
    for (const line of kept) this.#addLine(line);
    this.#transcript.markCarried();
  }

  #addLine(record: Fields): void {
    const uuid = asString(record.uuid);
    this.#lines.push(record);
    const { id, content, model, usage } = fieldsOf(record.message);
    const time = timeOf(record.timestamp);
    if (record.type === 'attachment') this.#addAttachment(record, time);
    else if (record.type === 'user') this.#addUser(content, time);
    // Words of the program in place of a reply, for example after a failed request.
    else if (model !== '<synthetic>') {
      const facts = { model: asString(model), usage: anthropicUsage(usage) };
      this.#addReply(content, { key: asString(id) ?? uuid, time, ...facts });
    }
    this.pass(record);
    // A branch begins with a copy of the lines of the session that it left.
    if (isRecord(record.forkedFrom) || this.#others.hasLine(record)) this.#transcript.markCarried();
  }

  #addAttachment({ attachment, rendered }: Fields, time: number | undefined): void {
    const { type, systemPrompt, tools } = fieldsOf(attachment);
    if (type === 'prompt_snapshot') {
      this.#instruct('prompt', textOf(systemPrompt), time);
      this.#instruct('tools', toText(tools), time);
    } else if (Array.isArray(rendered)) {
      this.#transcript.say('user', joinTexts(asList(rendered).map(({ content }) => textOf(content))), time);
    } else this.#transcript.say('user', attachedText(attachment), time);
  }

  #instruct(part: string, text: string, time: number | undefined): void {
    if (text === '' || this.#prompted.has(part)) return;
    this.#prompted.add(part);
    this.#transcript.say('system', text, time);
  }

  /** A reply spans several lines, one for each block, with the results of its first calls between them. */
  #addReply(content: unknown, about: ReplyPart): void {
    this.#transcript.reply({ ...about, text: asString(content) });
    for (const block of asList(content)) {
      const text = asString(block.text) ?? asString(block.thinking) ?? '';
      const id = asString(block.id);
      const isCall = block.type === 'tool_use' && !(id !== undefined && this.#transcript.hasCall(id));
      const calls = isCall ? [{ id, name: asString(block.name), arguments: toText(block.input) }] : [];
      this.#transcript.reply({ ...about, text, calls });
    }
  }

  #addUser(content: unknown, time: number | undefined): void {
    if (typeof content === 'string') this.#transcript.say('user', content, time);
    for (const block of asList(content)) {
      if (block.type === 'tool_result')
        this.#transcript.answer({ callId: asString(block.tool_use_id), text: textOf(block.content), time });
      else this.#transcript.say('user', textOf(block), time);
    }
  }
}

/** The lines that a compaction names: each by its id, or the first and the last. */
function keptLines(lines: readonly Fields[], { preservedMessages, preservedSegment }: Fields): readonly Fields[] {
  const { uuids } = fieldsOf(preservedMessages);
  if (Array.isArray(uuids)) return lines.filter(({ uuid }) => uuids.includes(uuid));
  const { headUuid, tailUuid } = fieldsOf(preservedSegment);
  const from = lines.findIndex(({ uuid }) => uuid === headUuid);
  const to = lines.findLastIndex(({ uuid }) => uuid === tailUuid);
  return headUuid === undefined || from < 0 ? [] : lines.slice(from, to < 0 ? undefined : to + 1);
}

/**
 * Texts that the user sent while the model worked, files that were named in a prompt or changed, and what the program adds. The newest
 * versions log each as it is sent.
 */
function attachedText(attachment: unknown): string {
  const { type, prompt, content, snippet, ...added } = fieldsOf(attachment);
  if (type === 'queued_command') return textOf(prompt);
  if (type === 'file') return textOf(fieldsOf(fieldsOf(content).file).content);
  if (type === 'edited_text_file') return textOf(snippet);
  if (type === 'nested_memory') return textOf(fieldsOf(content).content ?? content);
  if (type === 'invoked_skills') return joinTexts(asList(added.skills).map((skill) => textOf(skill.content)));
  if (type === 'instructions') return joinTexts(asList(added.files).map((file) => textOf(file.content)));
  if (type === 'hook_success') return SENT_HOOKS.has(String(added.hookEvent)) ? textOf(content) : '';
  return ADDED.has(String(type)) ? textOf(content ?? added.addedLines ?? added.addedBlocks ?? added.text) : '';
}

/** Attachments that are sent as they are in the log. */
const ADDED = new Set([
  'skill_listing',
  'agent_listing_delta',
  'deferred_tools_delta',
  'mcp_instructions_delta',
  'hook_additional_context',
  'selected_lines_in_ide',
  'directory',
  'model',
  'total_tokens_reminder',
]);

/** Hooks whose output is sent. */
const SENT_HOOKS = new Set(['SessionStart', 'UserPromptSubmit']);
