import type { Format, FormatName, Kind, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { Calls, checkPairs, type PairStep, type PairWords } from './calls.ts';
import { type Content, newSegment, type Place, readContent, replaceText, withMedia } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** An item of the Responses API or of the OpenAI Agents SDK. */
export interface Item {
  /** The sort of item, such as `message`, `function_call` or `function_call_output`. A message may have none. */
  type?: string;
  /** The author of a message. Other items have none. */
  role?: string;
}

/** The two dialects of one idea: a flat list in which calls and results are separate items. */
interface Dialect {
  readonly name: FormatName;
  readonly callId: 'call_id' | 'callId';
  /** The possible names of the result of an `x_call`. */
  readonly results: readonly string[];
}

export function createItemFormat(dialect: Dialect): Format<Item> {
  return createFormat<Item>({
    name: dialect.name,
    noteRole: 'system',
    viewer: () => new ItemViewer(dialect),
    replace: replaceOutput,
    argumentPaths: ARGUMENTS.map((name) => [name]),
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

/** The fields in which calls have their arguments. */
const ARGUMENTS = ['arguments', 'input', 'action', 'operation', 'actions', 'code'];

/** Items that the provider writes, other than messages and calls. A reference nearly always names one of them. */
const PROVIDER_ITEMS = new Set([
  'reasoning',
  'compaction',
  'program',
  'program_output',
  'tool_search_output',
  'mcp_list_tools',
  'mcp_approval_request',
  'item_reference',
]);

type ItemPlace = Omit<Place, 'path'>;

class ItemViewer implements Viewer<Item> {
  turn = 0;
  #index = 0;
  isReply = false;
  readonly #calls = new Calls();
  readonly #names: CallNames;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#names = new CallNames(dialect);
  }

  add(item: Item, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(item)) return;
    const isReply = isModelItem(this.#dialect, item);
    if (isReply && !this.isReply) this.turn += 1;
    this.isReply = isReply;
    const type = typeOf(item);
    const place = { turn: this.turn, message: index };
    if (type === 'message')
      into.push(
        newSegment(messageKind(item.role), { ...place, path: ['content'] }, readContent(item.content, sizePart)),
      );
    else if (type === 'reasoning')
      into.push(
        newSegment('reasoning', { ...place, path: [] }, readReasoning(item), {
          bound: true,
          signed: isSigned(item) || undefined,
        }),
      );
    else if (isResult(this.#dialect, type)) into.push(this.#result(item, type, place));
    else if (HOSTED.has(type)) addHosted(item, type, place, into);
    else if (isCall(type)) into.push(this.#call(item, type, place));
    else into.push(unknownItem(item, isReply ? 'reasoning' : 'system', place));
  }

  #call(item: Fields, type: string, place: ItemPlace): Segment {
    const callId = this.#names.ofCall(item);
    const tool = asString(item.name) ?? type.replace(/_call$/, '');
    this.#calls.made(callId, tool);
    const text = toText(ARGUMENTS.map((name) => item[name]).find(isPresent));
    return newSegment('action', { ...place, path: [] }, { text }, { callId, tool });
  }

  #result(item: Fields, type: string, place: ItemPlace): Segment {
    const id = this.#names.ofResult(item);
    const call = this.#calls.answered(id);
    return newSegment('observation', { ...place, path: ['output'] }, readOutput(item.output), {
      callId: call && id,
      tool: asString(item.name) ?? call?.tool,
      isError: isFailure(item) || undefined,
      // A screenshot cannot be replaced by text, and a program's output belongs to the provider.
      bound: type.startsWith('computer_call') || type === 'program_output' || undefined,
    });
  }
}

/** `local_shell_call_output` names its call by the item's `id`; all others by `call_id`. */
class CallNames {
  readonly #key: Dialect['callId'];
  readonly #byItem = new Map<string, string>();

  constructor({ callId }: Dialect) {
    this.#key = callId;
  }

  ofCall(item: Fields): string {
    const id = asString(item[this.#key]) ?? asString(item.id) ?? '';
    if (item.type === 'local_shell_call') this.#byItem.set(asString(item.id) ?? '', id);
    return id;
  }

  ofResult(item: Fields): string {
    return asString(item[this.#key]) ?? this.#byItem.get(asString(item.id) ?? '') ?? '';
  }
}

function addHosted(item: Fields, type: string, place: ItemPlace, into: Segment[]): void {
  const tool = asString(item.name) ?? type.replace(/_call$/, '');
  const callId = asString(item.id) ?? tool;
  const text = toText(item.arguments ?? item.action ?? item.code ?? item.queries);
  into.push({ kind: 'action', ...place, path: [], text, callId, tool });
  const output = item.output ?? item.error ?? item.results ?? item.outputs ?? imageOf(item.result);
  if (output === undefined || output === null) return;
  const failed = isFailure(item) || isPresent(item.error) ? { isError: true } : {};
  into.push({
    kind: 'observation',
    ...place,
    path: ['output'],
    ...readOutput(output),
    callId,
    tool,
    ...failed,
    bound: true,
  });
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
const imageOf = (data: unknown): unknown => (isPresent(data) ? { type: 'image', data } : undefined);

/** Not the user's words: those must survive, and an unknown item must not count as such. */
function unknownItem(item: Fields, kind: Kind, place: ItemPlace): Segment {
  return { kind, ...place, path: [], text: '', media: [sizeUnknown(item)], bound: true };
}

const typeOf = (item: Fields): string => asString(item.type) ?? (item.role === undefined ? 'unknown' : 'message');
const isResult = (dialect: Dialect, type: string): boolean =>
  dialect.results.includes(type) || type === 'program_output';
const isCall = (type: string): boolean => type.endsWith('_call') || type === 'program';

function isModelItem(dialect: Dialect, item: Fields): boolean {
  const type = typeOf(item);
  if (type === 'message') return item.role === 'assistant';
  return PROVIDER_ITEMS.has(type) || (isCall(type) && !dialect.results.includes(type));
}

function messageKind(role: unknown): Kind {
  if (role === 'assistant') return 'reasoning';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

function readReasoning(item: Fields): Content {
  const parts = [...asList(item.summary), ...asList(item.content), ...asList(item.rawContent)];
  const text = parts.map((part) => toText(part.text)).join('\n');
  const provider = isRecord(item.providerData) ? item.providerData : {};
  const encrypted = item.encrypted_content ?? provider.encryptedContent ?? provider.encrypted_content;
  return withMedia(text, typeof encrypted === 'string' ? [sizeEncrypted(encrypted)] : []);
}

/** Thinking of Anthropic, from a model of the AI SDK: its metadata is in `providerData`, under the name of the provider. */
function isSigned({ providerData }: Fields): boolean {
  const owners = isRecord(providerData) ? Object.values(providerData).filter(isRecord) : [];
  return owners.some(({ signature, redactedData }) => Boolean(signature ?? redactedData));
}

function sizePart(part: Fields): Media {
  const type = asString(part.type) ?? '';
  const source =
    part.image_url ?? part.imageUrl ?? part.image ?? part.file_data ?? part.file ?? part.data ?? part.audio;
  const data = isRecord(source) && !ArrayBuffer.isView(source) ? (source.data ?? source.url) : source;
  if (type.includes('image') || type.includes('screenshot')) return sizeMedia('openai', 'image', data);
  if (type.includes('audio')) return sizeMedia('openai', 'audio', data);
  if (type.includes('file')) return sizeMedia('openai', 'application', data);
  return sizeUnknown(part);
}

/** An output is a string, one part, a list of parts, or the streams of a shell. */
function readOutput(output: unknown): Content {
  if (!isShellOutput(output)) return readContent(output, sizePart);
  return { text: output.map((o) => `${toText(o.stdout)}${toText(o.stderr)}`).join('\n') };
}

const isShellOutput = (output: unknown): output is readonly Fields[] =>
  Array.isArray(output) && output.length > 0 && output.every((o) => isRecord(o) && 'stdout' in o);

function isFailure({ status, output }: Fields): boolean {
  return status === 'failed' || status === 'incomplete' || (isShellOutput(output) && output.some(hasFailed));
}

function hasFailed({ outcome }: Fields): boolean {
  return isRecord(outcome) && (outcome.type === 'timeout' || Boolean(outcome.exit_code ?? outcome.exitCode));
}

function replaceOutput(output: unknown, text: string): unknown {
  if (isShellOutput(output)) return [{ ...(output.findLast(hasFailed) ?? output.at(-1)), stdout: text, stderr: '' }];
  if (!isRecord(output) || Array.isArray(output)) return replaceText(output, text, 'input_text');
  return output.type === 'text' ? { ...output, text } : { type: 'text', text };
}

const pairWords: PairWords = {
  missing: (_message, ids) => `No tool output found for function call ${ids.join(', ')}.`,
  orphan: (_message, id) => `No tool call found for function call output with call_id ${id}.`,
};

function check(dialect: Dialect, items: readonly Item[]): Violation[] {
  const pairs = checkPairs(pairSteps(dialect, items), pairWords);
  return [...pairs, ...checkReasoning(dialect, items), ...checkIds(dialect, items)];
}

function pairSteps(dialect: Dialect, items: readonly Item[]): PairStep[] {
  const names = new CallNames(dialect);
  // The item behind a reference is on the server. So an output may answer a call that is known only by its id.
  const isWhole = !items.some((item) => isRecord(item) && typeOf(item) === 'item_reference');
  let turn = 0;
  let inReply = false;
  return items.map((item): PairStep => {
    if (!isRecord(item)) return { turn };
    const isReply = isModelItem(dialect, item);
    if (isReply && !inReply) turn += 1;
    inReply = isReply;
    const type = typeOf(item);
    if (dialect.results.includes(type)) return isWhole ? { turn, results: [names.ofResult(item)] } : { turn };
    return type.endsWith('_call') && !HOSTED.has(type) ? { turn, calls: [names.ofCall(item)] } : { turn };
  });
}

function checkReasoning(dialect: Dialect, items: readonly Item[]): Violation[] {
  return items.flatMap((item, index): Violation[] => {
    const next = items[index + 1];
    if (!isRecord(item) || item.type !== 'reasoning' || (isRecord(next) && isModelItem(dialect, next))) return [];
    const about = asString((item as Fields).id) ?? '';
    const text = `Item '${about}' of type 'reasoning' was provided without its required following item.`;
    return [{ law: 'bound-reasoning', message: index, text, about }];
  });
}

function checkIds(dialect: Dialect, items: readonly Item[]): Violation[] {
  const seen = new Set<string>();
  return items.flatMap((item, message): Violation[] => {
    const about = dialect.name === 'openai-responses' && isRecord(item) ? asString((item as Fields).id) : undefined;
    if (about === undefined || item.type === 'local_shell_call_output') return [];
    if (!seen.has(about)) {
      seen.add(about);
      return [];
    }
    const text = `Duplicate item found with id ${about}. Remove duplicate items from your input and try again.`;
    return [{ law: 'metadata', message, text, about }];
  });
}
