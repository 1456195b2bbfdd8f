import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Usage } from '../run.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, timeOf } from './log-reader.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf, toUsage } from './usage.ts';

/** Event logs of Copilot CLI. */
export const copilot = sessionReader({
  format: 'copilot',
  matches: ({ type, data }) => KINDS.has(String(type)) && isRecord(data),
  begin: () => new CopilotSession(),
});

const KINDS = new Set(['session.start', 'user.message', 'assistant.message', 'tool.execution_start']);

/** The main conversation, and those of subagents among its events: each is a run of its own. */
class CopilotSession implements Session {
  readonly #conversations = new Map<string, Conversation>();
  /** Prompts of subagents by their text, with the call that began them: some versions log them without a mark. */
  readonly #prompts = new Map<string, string>();

  *add({ type, data, timestamp, agentId }: Fields): Generator<Draft> {
    const fields = fieldsOf(data);
    if (type === 'tool.execution_start') this.#expectPrompt(fields);
    const agent = asString(agentId) ?? agentOf(String(type), fields) ?? this.#promptedBy(String(type), fields);
    yield* this.#conversationOf(agent ?? 'main').add(String(type), fields, timeOf(timestamp));
  }

  *end(): Generator<Draft> {
    for (const conversation of this.#conversations.values()) yield* conversation.end();
  }

  #conversationOf(agent: string): Conversation {
    const found = this.#conversations.get(agent) ?? new Conversation(this.#conversations.size);
    this.#conversations.set(agent, found);
    return found;
  }

  #expectPrompt({ toolCallId, arguments: input }: Fields): void {
    const { prompt } = fieldsOf(input);
    if (typeof prompt === 'string' && typeof toolCallId === 'string') this.#prompts.set(prompt, toolCallId);
  }

  /** The call whose subagent this is the prompt of, if any. */
  #promptedBy(type: string, { content }: Fields): string | undefined {
    if (type !== 'user.message') return undefined;
    const call = this.#prompts.get(String(content));
    return call !== undefined && this.#conversations.has(call) ? call : undefined;
  }
}

const agentOf = (type: string, { parentToolCallId, toolCallId }: Fields): string | undefined =>
  asString(type === 'subagent.started' ? toolCallId : parentToolCallId);

class Conversation {
  readonly #transcript: Transcript;
  #system = '';
  #model: string | undefined;
  #replies = 0;
  /** The reply that calls still belong to: there was no result since. */
  #reply: string | undefined;
  /** A usage that came before its reply. */
  #usage: Usage | undefined;
  #hasReply = false;

  constructor(run: number) {
    this.#transcript = new Transcript(run);
  }

  *add(type: string, data: Fields, time: number | undefined): Generator<Draft> {
    if (NAMES_MODEL.has(type)) this.#model = modelOf(data) ?? this.#model;
    if (type === 'assistant.turn_start') this.#hasReply = false;
    else if (type === 'session.compaction_complete') yield* this.#compact(data, time);
    else if (type === 'system.message') this.#instruct(toText(data.content), time);
    else if (type === 'user.message') this.#say(toText(data.transformedContent ?? data.content), time);
    else if (type === 'assistant.message') this.#addReply(data, time);
    else if (type === 'assistant.usage') this.#learn(data);
    else if (type === 'tool.execution_start') this.#addCall(data, time);
    else if (type === 'tool.execution_complete') this.#answer(data, time);
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  /** A compaction that failed changes nothing. */
  *#compact({ success, summaryContent }: Fields, time: number | undefined): Generator<Draft> {
    if (success === false) return;
    yield* this.end();
    this.#reply = undefined;
    this.#transcript.say('system', this.#system, time);
    this.#transcript.say('user', toText(summaryContent), time);
  }

  #instruct(text: string, time: number | undefined): void {
    this.#system = text;
    this.#transcript.say('system', text, time);
  }

  #say(text: string, time: number | undefined): void {
    this.#reply = undefined;
    this.#transcript.say('user', text, time);
  }

  #answer(data: Fields, time: number | undefined): void {
    this.#reply = undefined;
    this.#transcript.answer({ callId: asString(data.toolCallId), text: resultText(data), time });
  }

  #addReply({ messageId, content, reasoningText, toolRequests }: Fields, time: number | undefined): void {
    this.#reply = asString(messageId) ?? `reply ${this.#replies++}`;
    this.#transcript.reply({
      key: this.#reply,
      text: joinTexts([toText(reasoningText), toText(content)]),
      calls: asList(toolRequests).map(callOf),
      time,
      model: this.#model,
      usage: this.#usage,
    });
    this.#usage = undefined;
    this.#hasReply = true;
  }

  /** Only the output of the command line has the usage, before or after the reply. */
  #learn({ inputTokens, cacheReadTokens, outputTokens }: Fields): void {
    const usage = toUsage({ prompt: inputTokens ?? 0, read: cacheReadTokens, output: outputTokens });
    if (this.#hasReply) this.#transcript.learn({ usage });
    else this.#usage = usage;
  }

  /** Some versions log a call only when it runs. */
  #addCall(data: Fields, time: number | undefined): void {
    const call = callOf(data);
    if (call.id === undefined || this.#transcript.hasCall(call.id)) return;
    this.#reply ??= `reply ${this.#replies++}`;
    this.#transcript.reply({ key: this.#reply, calls: [call], time, model: this.#model });
  }
}

/** Events that name the model of their own conversation. */
const NAMES_MODEL = new Set([
  'session.start',
  'session.resume',
  'session.model_change',
  'subagent.started',
  'assistant.turn_start',
  'assistant.message',
  'assistant.usage',
  'tool.execution_start',
]);

/** `auto` leaves the choice to the program, which names the model in the reply. */
function modelOf({ newModel, selectedModel, model }: Fields): string | undefined {
  const name = asString(newModel) ?? asString(selectedModel) ?? asString(model);
  return name === 'auto' ? undefined : name;
}

const callOf = ({ toolCallId, name, toolName, arguments: input }: Fields): Call => ({
  id: asString(toolCallId),
  name: asString(name) ?? asString(toolName),
  arguments: toText(input),
});

/** The text for the model: `detailedContent` is for people. */
const resultText = ({ result, error, output }: Fields): string =>
  toText(fieldsOf(result).content ?? (isRecord(result) ? undefined : result) ?? fieldsOf(error).message ?? output);
