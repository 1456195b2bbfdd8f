import { asList, asString, toText } from '../../formats/lens.ts';
import type { Usage } from '../run.ts';
import { ExecStream, isExecEvent } from './codex-stream.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Rollouts of Codex CLI: items in an envelope with a time or, in its first months, bare. And the output of `codex exec --json`. */
export const codex = sessionReader({
  format: 'codex',
  matches: (record) =>
    isEnvelope(record) || isOldHeader(record) || isExecEvent(record) || record.record_type === 'state',
  begin: (run) => new Rollout(run),
  idOf: ({ type, thread_id }) => (type === 'thread.started' ? asString(thread_id) : undefined),
});

const ENVELOPES = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
  'token_usage_record',
]);

/** Events repeat the items for people. */
const isEnvelope = ({ type, payload }: Fields): boolean =>
  ENVELOPES.has(String(type)) && typeof payload === 'object' && payload !== null;

const isOldHeader = ({ id, timestamp, instructions }: Fields): boolean =>
  typeof id === 'string' && typeof timestamp === 'string' && instructions !== undefined;

class Rollout implements Session {
  readonly #transcript: Transcript;
  readonly #stream: ExecStream;
  /** The prompts of this context, each with what there was before it: a rollback removes the last of them. */
  #prompts: { readonly messages: number; readonly userTexts: number }[] = [];
  #isInherited: (record: Fields) => boolean = () => false;
  /** The id of a session that begins with a copy, until its first settings: they follow the copy. */
  #copyEndsAt: string | undefined;
  /** The usage of a reply, if no count of tokens follows it. */
  #recorded: Usage | undefined;
  #replies = 0;
  #isReplying = false;
  #hasHead = false;
  #instructions = '';
  #ownInstructions = '';
  #userTexts: string[] = [];
  #model: string | undefined;
  #totalTokens = 0;

  constructor(run: number) {
    this.#transcript = new Transcript(run);
    this.#stream = new ExecStream(this.#transcript);
  }

  *add(record: Fields): Generator<Draft> {
    const time = timeOf(record.timestamp);
    if (isExecEvent(record)) this.#stream.add(record);
    else if (isOldHeader(record)) this.#addMeta(record, time);
    else if (!isEnvelope(record)) this.#addItem(record, time);
    else if (record.type === 'session_meta') this.#addMeta(record.payload as Fields, time);
    else if (record.type === 'response_item') this.#addItem(record.payload as Fields, time);
    else if (record.type === 'turn_context') this.#model = asString(fieldsOf(record.payload).model) ?? this.#model;
    else if (record.type === 'event_msg') yield* this.#addEvent(fieldsOf(record.payload));
    else if (record.type === 'token_usage_record') this.#recorded = usageOf(fieldsOf(record.payload).usage);
    else if (record.type === 'compacted') yield* this.#compact(record.payload as Fields, time);
    if (this.#isInherited(record)) this.#transcript.markCarried();
  }

  end(): Draft[] {
    this.#learnRecorded();
    this.#stream.end();
    return this.#transcript.cut();
  }

  *#addEvent({ type, info, num_turns, thread_id }: Fields): Generator<Draft> {
    if (type === 'token_count') this.#count(info);
    else if (type === 'thread_rolled_back') yield* this.#rollBack(Number(num_turns));
    else if (type === 'thread_settings_applied' && thread_id !== undefined && thread_id === this.#copyEndsAt) {
      this.#copyEndsAt = undefined;
      this.#transcript.markCarried();
    }
  }

  #learnRecorded(): void {
    if (this.#recorded) this.#transcript.learn({ usage: this.#recorded });
    this.#recorded = undefined;
  }

  /** The user withdrew the last prompts and all that followed them. */
  *#rollBack(count: number): Generator<Draft> {
    const prompt = this.#prompts[Math.max(0, this.#prompts.length - count)];
    if (!prompt) return;
    yield* this.#transcript.goBack(prompt.messages);
    this.#isReplying = false;
    this.#prompts = this.#prompts.slice(0, this.#prompts.indexOf(prompt));
    this.#userTexts = this.#userTexts.slice(0, prompt.userTexts);
  }

  /** The usage of a reply follows its items. The same event comes again when a turn begins, or with new rate limits. */
  #count(info: unknown): void {
    const { total_token_usage, last_token_usage } = fieldsOf(info);
    const total = Number(fieldsOf(total_token_usage).total_tokens ?? 0);
    if (total === this.#totalTokens) return;
    this.#totalTokens = total;
    const usage = usageOf(last_token_usage);
    if (usage) this.#recorded = undefined;
    this.#transcript.learn({ usage });
  }

  /** A resumed session repeats its head. */
  #addMeta(meta: Fields, time: number | undefined): void {
    if (this.#hasHead) return;
    this.#hasHead = true;
    this.#isInherited = inheritedBy(meta);
    this.#copyEndsAt = isCopy(meta) ? asString(meta.id) : undefined;
    this.#instruct(textOf(meta.base_instructions), time);
    this.#ownInstructions = textOf(meta.instructions);
  }

  #instruct(text: string, time: number | undefined): void {
    this.#instructions = joinTexts([this.#instructions, text]);
    this.#transcript.say('system', text, time);
  }

  /** The user's instructions are in the head of the log. Some versions repeat them in the first message. */
  #instructUnlessIn(text: string, time: number | undefined): void {
    if (!text.includes(this.#ownInstructions.trim())) this.#instruct(this.#ownInstructions, time);
    this.#ownInstructions = '';
  }

  /** Newer versions log the new history; older ones send the user's messages and the summary. */
  *#compact({ message, replacement_history }: Fields, time: number | undefined): Generator<Draft> {
    // That of the compaction itself.
    this.#recorded = undefined;
    yield* this.end();
    this.#isReplying = false;
    this.#prompts = [];
    this.#transcript.say('system', this.#instructions, time);
    const kept = asList(replacement_history);
    const texts = this.#userTexts;
    if (kept.length > 0) this.#userTexts = [];
    else for (const text of texts) this.#transcript.say('user', text, time);
    for (const item of kept) this.#addKept(item, time);
    const summary = asString(message) ?? '';
    if (!kept.some(({ content }) => textOf(content).includes(summary))) this.#transcript.say('user', summary, time);
  }

  /** Adds kept parts of replies. They are not turns of the new context, because their calls and results are gone. */
  #addKept(item: Fields, time: number | undefined): void {
    if (item.role === 'assistant') this.#transcript.say('user', textOf(item.content), time);
    else if (item.type === 'message') this.#addItem(item, time);
  }

  #addItem(item: Fields, time: number | undefined): void {
    this.#learnRecorded();
    const type = asString(item.type) ?? '';
    if (type === 'message' && item.role !== 'assistant') this.#say(item, time);
    // Sent by another agent.
    else if (type === 'agent_message') this.#hear(textOf(item.content), time);
    else if (type.endsWith('_output')) this.#answer(item, time);
    else if (type === 'message' || type === 'reasoning' || type.endsWith('_call')) this.#addReply(type, item, time);
  }

  #say({ role, content }: Fields, time: number | undefined): void {
    this.#isReplying = false;
    const text = textOf(content);
    if (role === 'user') {
      this.#instructUnlessIn(text, time);
      const before = { messages: this.#transcript.length, userTexts: this.#userTexts.length };
      if (!isContext(text)) this.#prompts.push(before);
      this.#userTexts.push(text);
    }
    this.#transcript.say(role === 'user' ? 'user' : 'system', text, time);
  }

  #hear(text: string, time: number | undefined): void {
    this.#isReplying = false;
    this.#transcript.say('user', text, time);
  }

  #answer({ call_id, output, tools }: Fields, time: number | undefined): void {
    this.#isReplying = false;
    const text = output === undefined ? toText(tools) : outputText(output);
    this.#transcript.answer({ callId: asString(call_id), text, time });
  }

  /** Consecutive items are one reply: the log does not say which request they are from. */
  #addReply(type: string, item: Fields, time: number | undefined): void {
    if (!this.#isReplying) this.#replies += 1;
    this.#isReplying = true;
    const key = String(this.#replies);
    const text = joinTexts([textOf(item.summary), textOf(item.content)]);
    const calls = type.endsWith('_call') ? [callOf(type, item)] : [];
    this.#transcript.reply({ key, text, calls, time, model: this.#model });
  }
}

/** The records that a subagent or a fork begins with: a copy of the session that it comes from. */
function inheritedBy(meta: Fields): (record: Fields) => boolean {
  const first = meta.subagent_history_start_ordinal ?? fieldsOf(meta.history_base).end_ordinal_exclusive;
  if (typeof first === 'number') return ({ ordinal }) => typeof ordinal === 'number' && ordinal < first;
  const start = isCopy(meta) ? timeOf(meta.timestamp) : undefined;
  return ({ timestamp }) => start !== undefined && Number(timeOf(timestamp)) < start;
}

const isCopy = ({ forked_from_id, source }: Fields): boolean =>
  typeof forked_from_id === 'string' || fieldsOf(source).subagent !== undefined;

function usageOf(usage: unknown): Usage | undefined {
  const { input_tokens, cached_input_tokens, output_tokens } = fieldsOf(usage);
  return toUsage({ prompt: input_tokens ?? 0, read: cached_input_tokens, output: output_tokens });
}

/** Text that Codex adds in the name of the user, such as `<environment_context>`. */
const isContext = (text: string): boolean => /^\s*(?:<\w+>|# AGENTS\.md)/.test(text);

function callOf(type: string, item: Fields): Call {
  const id = asString(item.call_id) ?? asString(item.id);
  const name = asString(item.name) ?? type.replace(/_call$/, '');
  return { id, name, arguments: toText(item.arguments ?? item.input ?? item.action) };
}

/** Text, a list of parts, or an object around either. */
function outputText(output: unknown): string {
  if (typeof output === 'string' || Array.isArray(output)) return textOf(output);
  return textOf((output as Fields | undefined)?.content) || textOf(output) || toText(output);
}
