import { asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { timeOf } from './log-reader.ts';
import { StreamedReplies } from './streamed-replies.ts';
import type { ReplyPart, Transcript } from './transcript.ts';

/** Whether a record is an event of `droid exec --output-format stream-json`. */
export const isExecEvent = ({ type, role, text, toolId }: Fields): boolean =>
  (type === 'message' && typeof role === 'string' && typeof text === 'string') ||
  ((type === 'tool_call' || type === 'tool_result') && typeof toolId === 'string');

/** The first event. That of Claude Code names its MCP servers, and that of Cursor no tools. */
export const isInit = ({ type, subtype, tools, mcp_servers, uuid }: Fields): boolean =>
  type === 'system' && subtype === 'init' && Array.isArray(tools) && mcp_servers === undefined && uuid === undefined;

/** The output of `droid exec`. Its usage is only known as a sum. */
export class ExecStream {
  readonly #transcript: Transcript;
  readonly #replies: StreamedReplies;
  #model: string | undefined;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
    this.#replies = new StreamedReplies(transcript);
  }

  /** The first event names the model. */
  begin({ model }: Fields): void {
    this.#model = asString(model);
  }

  add({ type, role, text, id, ...event }: Fields): void {
    const about: ReplyPart = { time: timeOf(event.timestamp), model: this.#model };
    if (type === 'tool_call')
      this.#replies.call({ id: asString(id), name: nameOf(event), arguments: toText(event.parameters) }, about);
    else if (type === 'message' && role === 'assistant') this.#say(toText(text), about);
    else {
      this.#replies.end();
      if (type === 'message') this.#transcript.say('user', toText(text), about.time);
      else this.#transcript.answer({ callId: asString(id), text: toText(event.value), time: about.time });
    }
  }

  end(): void {
    this.#replies.end();
  }

  #say(text: string, about: ReplyPart): void {
    this.#replies.endText();
    this.#replies.write(text, about);
  }
}

const nameOf = ({ toolName, toolId }: Fields): string | undefined => asString(toolName) ?? asString(toolId);
