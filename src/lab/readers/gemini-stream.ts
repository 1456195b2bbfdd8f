import { asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { timeOf } from './log-reader.ts';
import { StreamedReplies } from './streamed-replies.ts';
import { type Draft, type ReplyPart, Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Whether a record begins the `stream-json` output of Gemini CLI. */
export const isInit = ({ type, session_id }: Fields): boolean => type === 'init' && typeof session_id === 'string';

/** Whether a record after the first is part of the stream. */
export const isStreamed = ({ type, tool_id, role, content }: Fields): boolean =>
  ((type === 'tool_use' || type === 'tool_result') && typeof tool_id === 'string') ||
  (type === 'message' && (role === 'user' || role === 'assistant') && typeof content === 'string');

/** One run of Gemini CLI with `--output-format stream-json`. Its usage is only known as a sum. */
export class GeminiStream {
  readonly #transcript: Transcript;
  readonly #replies: StreamedReplies;
  #model: string | undefined;

  constructor(run: number) {
    this.#transcript = new Transcript(run);
    this.#replies = new StreamedReplies(this.#transcript);
  }

  add({ type, role, content, ...event }: Fields): void {
    const about: ReplyPart = { time: timeOf(event.timestamp), model: this.#model };
    const id = asString(event.tool_id);
    if (type === 'init') this.#model = asString(event.model);
    else if (type === 'message' && role === 'assistant') this.#replies.write(toText(content), about);
    else if (type === 'tool_use')
      this.#replies.call({ id, name: asString(event.tool_name), arguments: toText(event.parameters) }, about);
    else this.#hear({ type, id, content, ...event }, about.time);
  }

  end(): Draft[] {
    this.#replies.end();
    return this.#transcript.cut();
  }

  #hear({ type, id, content, output, error }: Fields, time: number | undefined): void {
    this.#replies.end();
    const text = toText(output ?? fieldsOf(error).message);
    if (type === 'message') this.#transcript.say('user', toText(content), time);
    else this.#transcript.answer({ callId: asString(id), text, time });
  }
}
