import { asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { textOf } from './log-reader.ts';
import { StreamedReplies } from './streamed-replies.ts';
import type { Transcript } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Whether a record is an event of `codex exec --json`. */
export const isExecEvent = ({ type, thread_id, item }: Fields): boolean =>
  (type === 'thread.started' && typeof thread_id === 'string') ||
  (ITEM_EVENTS.has(String(type)) && typeof fieldsOf(item).type === 'string');

const ITEM_EVENTS = new Set(['item.started', 'item.updated', 'item.completed']);

/** The output of `codex exec --json`. It has no prompts, and its usage is only known as a sum. */
export class ExecStream {
  readonly #transcript: Transcript;
  readonly #replies: StreamedReplies;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
    this.#replies = new StreamedReplies(transcript);
  }

  add({ type, item }: Fields): void {
    const fields = fieldsOf(item);
    const isComplete = type === 'item.completed';
    if (SAID.has(String(fields.type))) {
      if (isComplete) this.#say(toText(fields.text));
    } else if (isCall(fields)) {
      this.#call(fields);
      if (isComplete) this.#answer(fields);
    }
  }

  end(): void {
    this.#replies.end();
  }

  #say(text: string): void {
    this.#replies.endText();
    this.#replies.write(text, {});
  }

  #call(item: Fields): void {
    const id = asString(item.id);
    if (id !== undefined && this.#transcript.hasCall(id)) return;
    const { id: _, type, status, aggregated_output, exit_code, result, error, ...input } = item;
    const name = type === 'mcp_tool_call' ? asString(item.tool) : asString(type)?.replace(/_execution$/, '');
    this.#replies.call({ id, name, arguments: toText(type === 'mcp_tool_call' ? item.arguments : input) }, {});
  }

  #answer(item: Fields): void {
    this.#replies.end();
    const { content } = fieldsOf(item.result);
    const text = item.aggregated_output ?? (content === undefined ? fieldsOf(item.error).message : textOf(content));
    this.#transcript.answer({ callId: asString(item.id), text: toText(text ?? item.status) });
  }
}

const SAID = new Set(['agent_message', 'reasoning']);

/** Lists of steps and errors are for people. */
const isCall = ({ id, type }: Fields): boolean =>
  typeof id === 'string' && !['todo_list', 'error'].includes(String(type));
