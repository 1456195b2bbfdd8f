import { heldChars, readsTooLittle } from '../../formats/coverage.ts';
import { isOfFormat } from '../../formats/detect-format.ts';
import { type Fields, isRecord } from '../../formats/lens.ts';
import { memoryLimits, requestLimits } from '../../limits.ts';
import { priceLists } from '../../plan/prices.ts';
import type { Usage } from '../exchange/usage-reader.ts';
import { defaultLimits, type GatewayLimits } from '../gateway-limits.ts';
import { listedPrices, type PriceFacts } from '../wire/request-prices.ts';
import { modelOf, type Wire } from '../wire/wire.ts';
import type { Decision, Facts, Outgoing } from './decision.ts';
import type { ReadRequest } from './read-request.ts';

/** Why the store cannot be asked, or does not accept a text. */
export type StoreTrouble = 'store-slow' | 'store-failed' | 'store-full';

export const isStoreTrouble = (reason: unknown): reason is StoreTrouble =>
  reason === 'store-slow' || reason === 'store-failed' || reason === 'store-full';

/** The provider shortens the history itself, on request or at a size that the request names; or no turn of the agent follows. */
type AddNoneReason = 'compaction' | 'context-management' | 'side-call';

/** Why new masks wait. */
export type HoldReason = StoreTrouble | 'too-many-events' | AddNoneReason;

/** Why nothing was edited, or less than was planned. */
export type Reason =
  | 'empty-body'
  | 'too-large'
  | 'content-encoding'
  | 'no-zstd'
  | 'byte-order-mark'
  | 'charset'
  | 'not-json'
  | 'too-deep'
  | 'too-many-values'
  | 'too-slow'
  | 'model-name'
  | 'duplicate-keys'
  | 'unknown-format'
  | 'previous-response'
  | 'conversation'
  | 'thread'
  | 'hands-off'
  | 'bound-thinking'
  | 'law'
  | 'failed'
  | HoldReason;

/** The reason to pass a request through unchanged; undefined if it can be planned. */
export function reasonToPassThrough(request: ReadRequest): Reason | undefined {
  const { wire, fields, listed, conversation } = request;
  if (listed.length === 0 && typeof fields.get(wire.messages)?.value !== 'string') return 'unknown-format';
  if (isSet(request, 'previous_response_id')) return 'previous-response';
  if (isSet(request, 'conversation')) return 'conversation';
  if (isSet(request, 'thread')) return 'thread';
  return conversation === '' || !isReadable(request) ? 'unknown-format' : undefined;
}

/** Whether the format of the wire reads the text of the messages. */
function isReadable({ wire, listed }: ReadRequest): boolean {
  let [bytes, read, unknown, pairs] = [0, 0, 0, 0];
  for (const one of listed) {
    bytes += one.end - one.start;
    read += one.read.share.read;
    unknown += one.read.share.unknown;
    pairs += one.read.share.pairs;
  }
  // A text has at least one byte per character. If enough bytes were read, the messages need no second walk.
  if (!readsTooLittle({ held: bytes, read, unknown, pairs })) return true;
  const messages = listed.map((one) => one.read.message);
  const held = messages.reduce<number>((sum, message) => sum + heldChars(message), 0);
  return isOfFormat(wire.format.name, { held, read, unknown, pairs }, { messages, isNamed: true });
}

/**
 * The reason to keep the masks that were sent and to add none. Without the sent masks, the request would be larger than all before it,
 * and might exceed the context window. With a new mask, the provider would shorten a history that it has not cached, and that no later
 * request begins with. A side call, such as a check for loops, is a question about the history: it needs the results, and cannot recall
 * them.
 */
export function reasonToAddNone(request: ReadRequest): AddNoneReason | undefined {
  if (isSet(request, 'compaction') || asksToCompact(request)) return 'compaction';
  if (!isHarmless(request.fields.get('context_management')?.value)) return 'context-management';
  return isSideCall(request) ? 'side-call' : undefined;
}

const TOOLS = ['tools', 'functions'];

/** In its own turns, an agent gives the model tools and does not fix the shape of the answer. */
function isSideCall({ wire, fields }: ReadRequest): boolean {
  const hasTools = TOOLS.some((name) => (fields.get(name)?.end ?? 0) - (fields.get(name)?.start ?? 0) > '[]'.length);
  return !hasTools && wire.asksForJson?.((name) => fields.get(name)?.value) === true;
}

/** In a few words, for the receipt. A limit that can be set is named. */
function showReason(reason: Reason, { bodyBytes, jsonValues, scanMs }: GatewayLimits): string {
  if (reason === 'too-large') return `more than ${showCount(bodyBytes / 1024 / 1024)} MiB (gateway.limits.body_bytes)`;
  if (reason === 'too-many-values')
    return `more than ${showCount(jsonValues)} JSON values (gateway.limits.json_values)`;
  if (reason === 'too-slow') return `it took more than ${showCount(scanMs)} ms to read (gateway.limits.scan_ms)`;
  return REASONS[reason];
}

const showCount = (count: number): string => count.toLocaleString('en-US');

/** The reasons that name no setting. */
export const REASONS: Readonly<Record<Exclude<Reason, 'too-large' | 'too-many-values' | 'too-slow'>, string>> = {
  'empty-body': 'the request has no body',
  'content-encoding': 'a compression that cannot be undone',
  'no-zstd': 'the body is compressed with zstd, which Node can undo from 22.15 on',
  'byte-order-mark': 'the body begins with a byte order mark',
  charset: 'the body is not in UTF-8',
  'not-json': 'the body is not JSON',
  'too-deep': `the body is nested more than ${requestLimits.jsonDepth} levels deep`,
  'model-name': `the model name has more than ${requestLimits.modelChars} characters`,
  'duplicate-keys': 'an object on the way to a result has a key twice',
  'unknown-format': 'there are no messages of a known format',
  'previous-response': 'the provider keeps the history (previous_response_id)',
  conversation: 'the provider keeps the history (conversation)',
  thread: 'the provider keeps the history (thread)',
  'context-management': 'the provider was asked to manage the context itself, so nothing new is masked',
  compaction: 'the provider was asked to compact the conversation, so nothing new is masked',
  'side-call': 'the request asks for JSON and offers no tools, so it is no turn of an agent: nothing new is masked',
  'hands-off': 'the provider refused an edited request of this conversation',
  'bound-thinking': 'thinking is bound to the messages before it, and the request cannot opt into dropping it',
  law: 'the plan would have broken a law',
  failed: 'the gateway failed to decide',
  'store-slow': 'the store did not answer in time, so new masks wait',
  'store-failed': 'the store failed, so new masks wait',
  'store-full':
    'the store in memory has no room for more of this conversation (limits.memoryStoreBytes), so new masks wait',
  'too-many-events': `the conversation has ${showCount(memoryLimits.eventsPerConversation)} recorded events, so nothing new is masked`,
};

/** Clients leave out a field with `null`, `false` or an empty text. */
function isSet({ fields }: ReadRequest, name: string): boolean {
  return Boolean(fields.get(name)?.value);
}

/** Coding agents ask to keep all thinking: that changes nothing. */
function isHarmless(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  const edits = isRecord(value) && !Array.isArray(value) ? (value.edits ?? []) : value;
  return Array.isArray(edits) && edits.every(keepsThinking);
}

function keepsThinking(edit: unknown): boolean {
  return isRecord(edit) && String(edit.type).startsWith('clear_thinking_') && edit.keep === 'all';
}

function asksToCompact({ wire, listed, path }: ReadRequest): boolean {
  const last = listed.at(-1)?.read.message as Fields | undefined;
  return wire.asksToCompact?.({ path, last }) === true;
}

/** No change of bytes and headers. */
export const UNCHANGED: Outgoing = { body: undefined, headers: {} };

/** The decision about a request that is sent unread and unchanged. */
export function passThrough(reason: Reason, limits = defaultLimits): Decision {
  const nothing = { tokens: 0, cached: 0, written: 0 };
  return {
    ...UNCHANGED,
    conversation: '',
    session: '',
    part: '',
    arm: 'treated',
    task: '',
    hidden: [],
    fresh: [],
    events: [],
    laterEvents: [],
    explanation: {
      act: 'pass-through',
      because: showReason(reason, limits),
      reason,
      prices: priceLists.none,
      epoch: 0,
      masked: 0,
      newMasks: 0,
      shaped: 0,
      without: nothing,
      sent: nothing,
    },
  };
}

/** The facts of an answer that show the price. */
export interface AnswerFacts extends Pick<Facts, 'prices' | keyof PriceFacts> {
  readonly wire: Wire;
  readonly path: string;
  readonly usage: Pick<Usage, 'model' | 'usesCache'> | undefined;
}

/** Prices a request that passed through by its answer, which names the model. The provider's cache worked as for other requests. */
export function pricedByAnswer(
  decision: Decision,
  { prices, providerPrices, priceBook, wire, path, usage }: AnswerFacts,
): Decision {
  const model = modelOf(wire, { model: usage?.model, path });
  const list = prices ?? providerPrices ?? listedPrices(wire, model, { priceBook });
  // Such a cache writes only at a marker, and has its own price for that.
  const isUnused = !prices && list.lookup.kind === 'markers' && !usage?.usesCache;
  const named = model === undefined ? {} : { model };
  return { ...decision, explanation: { ...decision.explanation, ...named, prices: isUnused ? priceLists.none : list } };
}
