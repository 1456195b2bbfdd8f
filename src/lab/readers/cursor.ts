import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { StreamedReplies } from './streamed-replies.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** The `stream-json` output of Cursor's agent. It resembles that of Claude Code, but calls have lines of their own. */
export const cursor = sessionReader({
  format: 'cursor',
  matches: (record) => typeof record.session_id === 'string' && (isInit(record) || isCall(record)),
  begin: (run) => new CursorRun(run),
  idOf: (record) => (isInit(record) ? asString(record.session_id) : undefined),
});

/** That of Claude Code lists the tools. */
const isInit = ({ type, subtype, permissionMode, tools }: Fields): boolean =>
  type === 'system' && subtype === 'init' && typeof permissionMode === 'string' && tools === undefined;

const isCall = ({ type, tool_call }: Fields): boolean => type === 'tool_call' && isRecord(tool_call);

class CursorRun implements Session {
  readonly #transcript: Transcript;
  readonly #replies: StreamedReplies;
  /** The pieces of the open text, without thinking: the agent writes them again as a whole. */
  #pieces = '';
  #model: string | undefined;

  constructor(run: number) {
    this.#transcript = new Transcript(run);
    this.#replies = new StreamedReplies(this.#transcript);
  }

  add(line: Fields): Draft[] {
    const { type, subtype, message } = line;
    const time = timeOf(line.timestamp_ms);
    const text = asList(fieldsOf(message).content).map(textOf).join('');
    if (isInit(line)) this.#model = asString(line.model);
    else if (type === 'user') this.#say(text, time);
    else if (type === 'assistant') this.#write(text, time);
    else if (type === 'thinking') this.#think(toText(line.text), time);
    else if (isCall(line) && subtype === 'started') this.#call(line, time);
    else if (isCall(line) && subtype === 'completed') this.#answer(line, time);
    return [];
  }

  end(): Draft[] {
    this.#replies.end();
    return this.#transcript.cut();
  }

  #write(text: string, time: number | undefined): void {
    if (text === this.#pieces) return;
    if (this.#pieces === '') this.#replies.endText();
    this.#pieces += text;
    this.#replies.write(text, { time, model: this.#model });
  }

  #think(text: string, time: number | undefined): void {
    if (this.#pieces !== '') this.#replies.endText();
    this.#pieces = '';
    this.#replies.write(text, { time, model: this.#model });
  }

  #call(line: Fields, time: number | undefined): void {
    this.#pieces = '';
    this.#replies.call(callOf(line), { time, model: this.#model });
  }

  #end(): void {
    this.#pieces = '';
    this.#replies.end();
  }

  #say(text: string, time: number | undefined): void {
    this.#end();
    this.#transcript.say('user', text, time);
  }

  #answer(line: Fields, time: number | undefined): void {
    const { id } = callOf(line);
    if (id !== undefined && !this.#transcript.hasCall(id)) this.#call(line, time);
    this.#end();
    const [, { result }] = toolOf(line);
    this.#transcript.answer({ callId: id, text: resultText(fieldsOf(result)), time });
  }
}

/** The name is the key: `{ readToolCall: { args, result } }`. */
function toolOf({ tool_call }: Fields): readonly [name: string, tool: Fields] {
  const entry = Object.entries(fieldsOf(tool_call)).find(([, value]) => isRecord(value));
  return [entry?.[0] ?? 'tool', fieldsOf(entry?.[1])];
}

function callOf(line: Fields): Call {
  const [key, { args, name, arguments: input }] = toolOf(line);
  const { name: own, toolName } = key === 'mcpToolCall' ? fieldsOf(args) : {};
  const called = asString(name) ?? asString(toolName) ?? asString(own) ?? key.replace(/ToolCall$/, '');
  return { id: asString(line.call_id), name: called, arguments: toText(args ?? input) };
}

/** The log does not have the text as it was sent. The content or the output is most of it. */
function resultText(result: Fields): string {
  const { content, interleavedOutput, stdout, stderr } = fieldsOf(result.success ?? result.failure);
  if (typeof content === 'string') return content;
  if (typeof interleavedOutput === 'string') return interleavedOutput;
  return typeof stdout === 'string' ? joinTexts([stdout, toText(stderr)]) : toText(result);
}
