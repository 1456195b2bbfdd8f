import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, timeOf } from './log-reader.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

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

  *add({ type, data, timestamp, agentId }: Fields): Generator<Draft> {
    const fields = fieldsOf(data);
    const agent = asString(agentId) ?? asString(fields.parentToolCallId) ?? 'main';
    const conversation = this.#conversations.get(agent) ?? new Conversation(this.#conversations.size);
    this.#conversations.set(agent, conversation);
    yield* conversation.add(String(type), fields, timeOf(timestamp));
  }

  *end(): Generator<Draft> {
    for (const conversation of this.#conversations.values()) yield* conversation.end();
  }
}

class Conversation {
  readonly #transcript: Transcript;
  #system = '';
  #model: string | undefined;

  constructor(run: number) {
    this.#transcript = new Transcript(run);
  }

  *add(type: string, data: Fields, time: number | undefined): Generator<Draft> {
    this.#model = asString(data.newModel) ?? asString(data.selectedModel) ?? asString(data.model) ?? this.#model;
    if (type === 'session.compaction_complete') yield* this.#compact(data, time);
    else if (type === 'system.message') this.#instruct(toText(data.content), time);
    else if (type === 'user.message')
      this.#transcript.say('user', toText(data.transformedContent ?? data.content), time);
    else if (type === 'assistant.message') this.#addReply(data, time);
    else if (type === 'tool.execution_start') this.#addCall(data, time);
    else if (type === 'tool.execution_complete')
      this.#transcript.answer({ callId: asString(data.toolCallId), text: resultText(data), time });
  }

  end(): Draft[] {
    return this.#transcript.cut();
  }

  /** A compaction that failed changes nothing. */
  *#compact({ success, summaryContent }: Fields, time: number | undefined): Generator<Draft> {
    if (success === false) return;
    yield* this.end();
    this.#transcript.say('system', this.#system, time);
    this.#transcript.say('user', toText(summaryContent), time);
  }

  #instruct(text: string, time: number | undefined): void {
    this.#system = text;
    this.#transcript.say('system', text, time);
  }

  #addReply({ messageId, content, reasoningText, toolRequests }: Fields, time: number | undefined): void {
    this.#transcript.reply({
      key: asString(messageId),
      text: joinTexts([toText(reasoningText), toText(content)]),
      calls: asList(toolRequests).map(callOf),
      time,
      model: this.#model,
    });
  }

  /** Some versions log a call only when it runs. */
  #addCall(data: Fields, time: number | undefined): void {
    const call = callOf(data);
    if (call.id === undefined || this.#transcript.hasCall(call.id)) return;
    this.#transcript.reply({ key: `call ${call.id}`, calls: [call], time, model: this.#model });
  }
}

const callOf = ({ toolCallId, name, toolName, arguments: input }: Fields): Call => ({
  id: asString(toolCallId),
  name: asString(name) ?? asString(toolName),
  arguments: toText(input),
});

/** The text for the model: `detailedContent` is for people. */
const resultText = ({ result, error, output }: Fields): string =>
  toText(fieldsOf(result).content ?? fieldsOf(error).message ?? output);
