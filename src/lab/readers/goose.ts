import { asList, asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, timeOf } from './log-reader.ts';
import { StreamedReplies } from './streamed-replies.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Sessions of goose: an object with log lines before it, an export, lines that begin with its metadata, or the output of a run. */
export const goose = sessionReader({
  format: 'goose',
  matches: (record) =>
    isMetadata(record) || isMessage(record) || isStreamed(record) || messagesOf(record) !== undefined,
  begin: (run, whole) => new GooseSession(run, asString(fieldsOf(whole?.model_config).model_name)),
  partsOf: messagesOf,
});

function messagesOf({ messages, conversation }: Fields): readonly Fields[] | undefined {
  const found = asList(messages ?? (conversation as Fields | undefined)?.messages ?? conversation);
  return found.some(isMessage) ? found : undefined;
}

const isMetadata = ({ working_dir, description, message_count }: Fields): boolean =>
  typeof working_dir === 'string' && (description !== undefined || message_count !== undefined);

const BLOCKS = new Set(['toolRequest', 'toolResponse', 'toolConfirmationRequest', 'frontendToolRequest']);

const isMessage = ({ role, created, content }: Fields): boolean =>
  (role === 'user' || role === 'assistant') &&
  (asList(content).some(({ type }) => BLOCKS.has(String(type))) ||
    (typeof created === 'number' && Array.isArray(content)));

/** `--output-format stream-json`: texts come in pieces. */
const isStreamed = ({ type, message }: Fields): boolean => type === 'message' && isMessage(fieldsOf(message));

class GooseSession implements Session {
  readonly #transcript: Transcript;
  readonly #replies: StreamedReplies;
  #block: string | undefined;
  readonly #model: string | undefined;
  #previous: Fields | undefined;

  constructor(run: number, model: string | undefined) {
    this.#transcript = new Transcript(run);
    this.#model = model;
    this.#replies = new StreamedReplies(this.#transcript);
  }

  *add(message: Fields): Generator<Draft> {
    if (isStreamed(message)) return this.#addStreamed(fieldsOf(message.message));
    if (typeof message.role !== 'string') return;
    if (isSummary(message, this.#previous)) yield* this.end();
    addMessage(this.#transcript, message, this.#model);
    this.#previous = message;
  }

  end(): Draft[] {
    this.#replies.end();
    return this.#transcript.cut();
  }

  #addStreamed(message: Fields): void {
    if (message.role !== 'assistant') {
      this.#replies.end();
      addMessage(this.#transcript, message, this.#model);
      return;
    }
    const about = { time: timeOf(message.created), model: modelOf(message) ?? this.#model };
    for (const block of asList(message.content)) {
      if (block.type !== this.#block) this.#replies.endText();
      this.#block = asString(block.type);
      if (CALLS.has(String(block.type))) this.#replies.call(callOf(block), about);
      else this.#replies.write(toText(block.text ?? block.thinking), about);
    }
  }
}

/** Newer versions name the model in each reply. */
const modelOf = ({ metadata }: Fields): string | undefined =>
  asString(fieldsOf(fieldsOf(metadata).inference).requestedModel);

const isFor = (reader: 'agentVisible' | 'userVisible', message: Fields | undefined): boolean =>
  (message?.metadata as Fields | undefined)?.[reader] !== false;

/** A compaction hides all messages from the agent, and adds messages that only the agent sees. */
const isSummary = (message: Fields, previous: Fields | undefined): boolean =>
  previous !== undefined &&
  !isFor('userVisible', message) &&
  isFor('userVisible', previous) &&
  !isFor('agentVisible', previous);

function addMessage(transcript: Transcript, message: Fields, model: string | undefined): void {
  const time = timeOf(message.created);
  const blocks = asList(message.content);
  const text = joinTexts(blocks.map(({ text, thinking }) => toText(text ?? thinking)));
  if (message.role === 'assistant' && isFor('userVisible', message)) {
    const calls = blocks.filter(({ type }) => CALLS.has(String(type))).map(callOf);
    // A streamed reply may be stored as several messages with one id.
    transcript.reply({ key: asString(message.id), text, calls, time, model: modelOf(message) ?? model });
    return;
  }
  transcript.say('user', text, time);
  for (const block of blocks)
    if (block.type === 'toolResponse')
      transcript.answer({ callId: asString(block.id), text: resultText(block.toolResult), time });
}

const CALLS = new Set(['toolRequest', 'frontendToolRequest']);

function callOf({ id, toolCall }: Fields): Call {
  const { value, error } = (toolCall ?? {}) as Fields;
  const { name, arguments: input } = (value ?? {}) as Fields;
  return { id: asString(id), name: asString(name), arguments: toText(input ?? error) };
}

function resultText(result: unknown): string {
  const { value, error } = (result ?? {}) as Fields;
  const content = Array.isArray(value) ? value : (value as Fields | undefined)?.content;
  return content === undefined ? toText(error) : joinTexts(asList(content).filter(isForModel).map(blockText));
}

const blockText = ({ text, resource }: Fields): string => toText(text ?? (resource as Fields | undefined)?.text);

/** Goose sends blocks whose audience is the assistant or not set. Other blocks repeat them for the user. */
function isForModel({ annotations }: Fields): boolean {
  const { audience } = (annotations ?? {}) as Fields;
  return !Array.isArray(audience) || audience.length === 0 || audience.includes('assistant');
}
