import { readRuns } from '../../../../src/lab/readers/read-runs.ts';
import type { Context } from '../../../../src/lab/run.ts';
import type { ChatMessage } from '../../../../src/message.ts';
import { countTokens } from '../../../../src/tokens/count-tokens.ts';
import { CORPUS } from '../../corpus.ts';
import { type Fields, isFields } from '../../provider/json.ts';

/** The runs of the corpus with some number of turns and more, longest contexts included. */
export async function corpusRuns(leastTurns = 30): Promise<Context[]> {
  const runs: Context[] = [];
  for await (const context of readRuns([CORPUS])) if (turnsOf(context) >= leastTurns) runs.push(context);
  return runs;
}

const turnsOf = ({ messages }: Context): number => messages.filter(({ role }) => role === 'assistant').length;

export interface ReplayOptions {
  /** Without a path. */
  readonly url: string;
  readonly model?: string;
  /** The least size of the system prompt: logs often lack it. */
  readonly systemTokens?: number;
  /** Put on by 10 seconds for each request, or set to the log's own time where it is told to. */
  readonly clock?: { now: number };
  readonly usesLogTimes?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** More fields of every request, as `context_management`. */
  readonly fields?: Fields;
}

/** What was billed for a run, by the usage in the answers. */
export interface ReplayedBill {
  readonly requests: number;
  readonly prompt: number;
  readonly read: number;
  /** Not read from the cache. */
  readonly written: number;
  readonly refused: readonly string[];
}

/** Sends the requests that a coding agent sent in a run, with its markers, one for each reply in the log. */
export async function replayRun(context: Context, options: ReplayOptions): Promise<ReplayedBill> {
  const { clock, usesLogTimes = false } = options;
  const run = new AnthropicRun(context, options);
  const bill = { requests: 0, prompt: 0, read: 0, written: 0, refused: [] as string[] };
  for (const { body, time } of run.requests()) {
    if (clock) clock.now = usesLogTimes && time !== undefined ? Math.max(clock.now, time) : clock.now + 10_000;
    const response = await fetch(`${options.url}/v1/messages`, {
      method: 'POST',
      headers: { ...HEADERS, ...options.headers },
      // As bytes: fetch looks through a text for lone surrogates first, and these are megabytes.
      body: Buffer.from(body),
    });
    const answer = (await response.json()) as Fields;
    bill.requests += 1;
    if (!response.ok) bill.refused.push(JSON.stringify(answer));
    const usage = isFields(answer.usage) ? answer.usage : {};
    const read = Number(usage.cache_read_input_tokens ?? 0);
    const written = Number(usage.input_tokens ?? 0) + Number(usage.cache_creation_input_tokens ?? 0);
    bill.prompt += read + written;
    bill.read += read;
    bill.written += written;
  }
  return bill;
}

const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'sk-ant-test', 'anthropic-version': '2023-06-01' };

interface RunRequest {
  readonly body: string;
  /** When the reply was logged. */
  readonly time: number | undefined;
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: Fields[];
}

/** A transcript as the requests of the Messages API, one for each reply. */
class AnthropicRun {
  readonly #head: string;
  readonly #messages: Message[] = [];
  /** How many messages stand before each reply, and when it came. */
  readonly #replies: { readonly before: number; readonly time: number | undefined }[] = [];
  readonly #open = new Map<string, string>();
  #calls = 0;

  constructor(context: Context, options: ReplayOptions) {
    for (const [i, message] of context.messages.entries()) this.#add(message, context.times[i]);
    this.#replies.splice(0, context.carriedTurns);
    this.#head = headOf(context, options);
  }

  *requests(): Generator<RunRequest> {
    const plain = this.#messages.map((message) => JSON.stringify(message));
    for (const { before, time } of this.#replies) {
      const users = this.#messages.slice(0, before).flatMap(({ role }, i) => (role === 'user' ? [i] : []));
      const texts = plain.slice(0, before);
      for (const i of users.slice(-2)) texts[i] = JSON.stringify(withMarker(this.#messages[i] as Message));
      yield { body: `${this.#head}${texts.join(',')}]}`, time };
    }
  }

  #add(message: ChatMessage, time: number | undefined): void {
    const call = message.role === 'tool' ? this.#open.get(message.toolCallId ?? '') : undefined;
    if (message.role === 'assistant') this.#addReply(message, time);
    else if (call !== undefined) this.#addResult(call, message);
    else if (message.role !== 'system') this.#addUser({ type: 'text', text: textOf(message.content) });
  }

  #addResult(call: string, { toolCallId = '', content }: ChatMessage): void {
    this.#open.delete(toolCallId);
    this.#addUser({ type: 'tool_result', tool_use_id: call, content });
  }

  #addReply({ content, toolCalls = [] }: ChatMessage, time: number | undefined): void {
    this.#closeCalls();
    if (this.#messages.at(-1)?.role !== 'user') this.#addUser({ type: 'text', text: 'Go on.' });
    this.#replies.push({ before: this.#messages.length, time });
    const blocks: Fields[] =
      content.trim() === '' && toolCalls.length > 0 ? [] : [{ type: 'text', text: textOf(content) }];
    for (const { id, name, arguments: json } of toolCalls) {
      const own = `toolu_${++this.#calls}`;
      this.#open.set(id, own);
      blocks.push({ type: 'tool_use', id: own, name: toolName(name), input: inputOf(json) });
    }
    this.#messages.push({ role: 'assistant', content: blocks });
  }

  /** Results come first in a message, whatever the log says. */
  #addUser(block: Fields): void {
    const last = this.#messages.at(-1);
    if (last?.role !== 'user') return void this.#messages.push({ role: 'user', content: [block] });
    const results = last.content.filter(({ type }) => type === 'tool_result').length;
    last.content.splice(block.type === 'tool_result' ? results : last.content.length, 0, block);
  }

  /** A call that was broken off has a result too, as agents write one. */
  #closeCalls(): void {
    for (const id of this.#open.values())
      this.#addUser({ type: 'tool_result', tool_use_id: id, content: 'Interrupted by the user', is_error: true });
    this.#open.clear();
  }
}

const textOf = (content: string): string => (content.trim() === '' ? '(no text)' : content.toWellFormed());
const toolName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'tool';

function inputOf(json: string): Fields {
  try {
    const input: unknown = JSON.parse(json);
    return isFields(input) ? input : { input };
  } catch {
    return { input: json };
  }
}

function withMarker({ role, content }: Message): Message {
  const last = content.at(-1) as Fields;
  return { role, content: [...content.slice(0, -1), { ...last, cache_control: { type: 'ephemeral' } }] };
}

/** All before the messages: model, system and tools, the same in every request. */
function headOf(
  { messages }: Context,
  { model = 'claude-sonnet-5', systemTokens = 15_000, fields }: ReplayOptions,
): string {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : [])).join('\n');
  const tools = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => toolName(name))));
  const head = {
    model,
    max_tokens: 8192,
    ...fields,
    tools: [...tools].map((name) => ({ name, input_schema: { type: 'object' } })),
    system: [{ type: 'text', text: padded(system, systemTokens), cache_control: { type: 'ephemeral' } }],
    messages: [],
  };
  return JSON.stringify(head).slice(0, -2);
}

const FILLER =
  'Follow the conventions of the code that you find, and run its tests before you say that you are done.\n';

function padded(system: string, least: number): string {
  const missing = least - countTokens(system);
  return missing > 0 ? `${system}\n${FILLER.repeat(Math.ceil(missing / countTokens(FILLER)))}` : system;
}
