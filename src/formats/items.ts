import type { Format, FormatName, Kind, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** An item of the Responses API or of the OpenAI Agents SDK. */
export interface Item {
  type?: string;
  role?: string;
}

/** The two dialects of one idea: a flat list of items in which calls and results are items of their own. */
interface Dialect {
  readonly name: FormatName;
  readonly callId: 'call_id' | 'callId';
  /** How the result of a `x_call` is named. */
  readonly results: readonly string[];
}

export function createItemFormat(dialect: Dialect): Format<Item> {
  return createFormat<Item>({
    name: dialect.name,
    noteRole: 'system',
    viewer: () => new ItemViewer(dialect),
    replace: replaceOutput,
    note: (role, content) => ({ type: 'message', role, content }) as Item,
    check: (messages) => check(dialect, messages),
  });
}

/** Calls whose result the provider itself wrote into the same item. */
const HOSTED = new Set([
  'mcp_call',
  'hosted_tool_call',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'tool_search_call',
]);

class ItemViewer implements Viewer<Item> {
  turn = 0;
  #index = 0;
  #inReply = false;
  readonly #calls = new Calls();
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  add(item: Item, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(item)) return;
    const isReply = isModelItem(this.#dialect, item);
    if (isReply && !this.#inReply) this.turn += 1;
    this.#inReply = isReply;
    const type = typeOf(item);
    const place = { turn: this.turn, message: index };
    if (type === 'message')
      into.push({ kind: messageKind(item.role), ...place, path: ['content'], ...readParts(item.content) });
    else if (type === 'reasoning')
      into.push({ kind: 'reasoning', ...place, path: [], ...readReasoning(item), bound: true });
    else if (this.#dialect.results.includes(type)) into.push(this.#result(item, type, place));
    else if (HOSTED.has(type)) addHosted(item, type, place, into);
    else if (type.endsWith('_call')) into.push(this.#call(item, type, place));
    else
      into.push({
        kind: isReply ? 'reasoning' : 'user',
        ...place,
        path: [],
        text: '',
        media: [sizeUnknown(item)],
        bound: true,
      });
  }

  #call(item: Fields, type: string, place: { turn: number; message: number }): Segment {
    const callId = asString(item[this.#dialect.callId]) ?? '';
    const tool = asString(item.name) ?? type.replace(/_call$/, '');
    this.#calls.made(callId, tool);
    const text = toText(item.arguments ?? item.input ?? item.action ?? item.operation ?? item.actions);
    return { kind: 'action', ...place, path: [], text, callId, tool };
  }

  #result(item: Fields, type: string, place: { turn: number; message: number }): Segment {
    const id = asString(item[this.#dialect.callId]) ?? '';
    const call = this.#calls.answered(id);
    return {
      kind: 'observation',
      ...place,
      path: ['output'],
      ...readOutput(item.output),
      ...(call ? { callId: id } : {}),
      ...(call?.tool === undefined ? {} : { tool: call.tool }),
      ...(item.status === 'failed' || item.status === 'incomplete' ? { isError: true } : {}),
      // A screenshot is demanded in the place of one: no text may stand there.
      ...(type.startsWith('computer_call') ? { bound: true } : {}),
    };
  }
}

function addHosted(item: Fields, type: string, place: { turn: number; message: number }, into: Segment[]): void {
  const callId = asString(item.id) ?? `item ${place.message}`;
  const tool = asString(item.name) ?? type.replace(/_call$/, '');
  into.push({ kind: 'action', ...place, path: [], text: toText(item.arguments ?? item.action), callId, tool });
  const output = item.output ?? item.error ?? item.results ?? item.outputs;
  if (output === undefined || output === null) return;
  into.push({ kind: 'observation', ...place, path: ['output'], ...readOutput(output), callId, tool, bound: true });
}

const typeOf = (item: Fields): string => asString(item.type) ?? (item.role === undefined ? 'unknown' : 'message');

function isModelItem(dialect: Dialect, item: Fields): boolean {
  const type = typeOf(item);
  if (type === 'message') return item.role === 'assistant';
  return type === 'reasoning' || type === 'compaction' || (type.endsWith('_call') && !dialect.results.includes(type));
}

function messageKind(role: unknown): Kind {
  if (role === 'assistant') return 'reasoning';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

function readReasoning(item: Fields): { text: string; media?: Media[] } {
  const text = [...asList(item.summary), ...asList(item.content), ...asList(item.rawContent)].map((part) =>
    toText(part.text),
  );
  const provider = isRecord(item.providerData) ? item.providerData : {};
  const encrypted = item.encrypted_content ?? provider.encryptedContent ?? provider.encrypted_content;
  const joined = text.join('\n');
  return typeof encrypted === 'string' ? { text: joined, media: [sizeEncrypted(encrypted)] } : { text: joined };
}

function readParts(content: unknown): { text: string; media?: Media[] } {
  if (typeof content === 'string') return { text: content };
  const texts: string[] = [];
  const media: Media[] = [];
  for (const part of asList(content)) {
    const text = asString(part.text) ?? asString(part.refusal);
    if (text !== undefined) texts.push(text);
    else media.push(sizePart(part));
  }
  return media.length > 0 ? { text: texts.join('\n'), media } : { text: texts.join('\n') };
}

function sizePart(part: Fields): Media {
  const type = asString(part.type) ?? '';
  const data = part.image_url ?? part.imageUrl ?? part.image ?? part.file_data ?? part.file ?? part.data ?? part.audio;
  if (type.includes('image') || type.includes('screenshot')) return sizeMedia('openai', 'image', data);
  if (type.includes('audio')) return sizeMedia('openai', 'audio', data);
  if (type.includes('file')) return sizeMedia('openai', 'application', data);
  return sizeUnknown(part);
}

/** An output is a string, one part, a list of parts, or the streams of a shell. */
function readOutput(output: unknown): { text: string; media?: Media[] } {
  if (typeof output === 'string') return { text: output };
  if (isShellOutput(output)) return { text: output.map((o) => `${toText(o.stdout)}${toText(o.stderr)}`).join('\n') };
  if (Array.isArray(output)) return readParts(output);
  return isRecord(output) ? readParts([output]) : { text: '' };
}

const isShellOutput = (output: unknown): output is readonly Fields[] =>
  Array.isArray(output) && output.length > 0 && output.every((o) => isRecord(o) && 'stdout' in o);

function replaceOutput(output: unknown, text: string): unknown {
  if (isShellOutput(output)) return [{ ...output[output.length - 1], stdout: text, stderr: '' }];
  if (Array.isArray(output)) return [{ type: 'input_text', text }];
  return isRecord(output) ? { type: 'text', text } : text;
}

const pairWords: PairWords = {
  missing: (_message, ids) => `No tool output found for function call ${ids.join(', ')}.`,
  orphan: (_message, id) => `No tool call found for function call output with call_id ${id}.`,
};

function check(dialect: Dialect, items: readonly Item[]): Violation[] {
  const violations: Violation[] = [];
  let turn = 0;
  let inReply = false;
  const steps = items.map((item, index): PairStep => {
    if (!isRecord(item)) return { turn };
    const isReply = isModelItem(dialect, item);
    if (isReply && !inReply) turn += 1;
    inReply = isReply;
    const type = typeOf(item);
    const next = items[index + 1];
    if (type === 'reasoning' && !(isRecord(next) && isModelItem(dialect, next))) {
      const id = asString((item as Fields).id) ?? '';
      const text = `Item '${id}' of type 'reasoning' was provided without its required following item.`;
      violations.push({ law: 'bound-reasoning', message: index, text, about: id });
    }
    const id = asString((item as Fields)[dialect.callId]) ?? '';
    if (dialect.results.includes(type)) return { turn, results: [id] };
    return type.endsWith('_call') && !HOSTED.has(type) ? { turn, calls: [id] } : { turn };
  });
  return [...checkPairs(steps, pairWords), ...violations];
}
