import { isRecord } from '../../formats/lens.ts';
import { requestLimits } from '../../limits.ts';
import type { Segment } from '../../message.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import { parseJson } from '../bytes/json-scan.ts';
import { firstPrefix, nextPrefixes, sessionNames } from '../conversation/prefix-hash.ts';
import type { Mutable } from '../mutable.ts';
import { wires } from '../wire/index.ts';
import { listedPrices, type PriceFacts } from '../wire/request-prices.ts';
import { sessionIdOf } from '../wire/session-id.ts';
import { modelOf, type Wire } from '../wire/wire.ts';
import type { Decision, Explanation, Facts, GatewayRequest } from './decision.ts';
import { UNCHANGED } from './pass-through.ts';
import { readSaid, TaskFinder } from './task.ts';

/** A larger request is read like all others, because known parts need not be read again. */
const MOST_BYTES = 16 * 1024;

/** With these fields the provider keeps or changes the history. Such a request is read, so that its receipt gives the reason. */
const OTHERS = ['previous_response_id', 'conversation', 'thread', 'compaction', 'context_management'];

/**
 * Decides about small talk: a short request without any tool result. Nothing in it can be masked, whatever the policy, so it is not
 * planned, and nothing of it is kept. Undefined for all other requests.
 */
export function decideSmallTalk(
  { api, path, headers, body: bytes }: GatewayRequest,
  { prices, providerPrices, priceBook }: Pick<Facts, 'prices' | keyof PriceFacts>,
): Decision | undefined {
  if (bytes.length > MOST_BYTES) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const wire: Wire = wires[api];
  if (wire.resultSigns.some((sign) => text.includes(sign))) return undefined;
  const body = parseJson(text);
  const inner = wire.envelope !== undefined && isRecord(body) ? body[wire.envelope] : body;
  if (!isRecord(body) || !isRecord(inner) || OTHERS.some((name) => name in inner)) return undefined;
  const model = modelOf(wire, { model: body.model, path });
  if ((model?.length ?? 0) > requestLimits.modelChars) return undefined;
  const begun = beginningOf(wire, inner[wire.messages], firstPrefix(api));
  if (!begun) return undefined;
  // A rough size is enough: the provider counts.
  const tokens = Math.ceil(bytes.length / 4);
  const list = providerPrices ?? pricesFor(wire, model, { priceBook });
  const billed = prices ?? (tokens < list.leastTokens ? priceLists.none : list);
  const sent =
    billed.lifeMs === 0
      ? { tokens, cached: 0, written: tokens, uncached: tokens }
      : { tokens, cached: 0, written: tokens };
  const id = sessionIdOf(wire, headers, (name) => inner[name]);
  const { session, part } = sessionNames(id, begun.task.prefix || begun.conversation);
  const explanation: Mutable<Explanation> = {
    act: 'wait',
    because: 'there is no result that could be masked',
    prices: billed,
    epoch: 0,
    masked: 0,
    newMasks: 0,
    shaped: 0,
    sent,
    without: sent,
  };
  if (model) explanation.model = model;
  return {
    body: undefined,
    headers: UNCHANGED.headers,
    conversation: begun.conversation,
    session,
    part,
    arm: 'treated',
    task: begun.task.title,
    hidden: NOTHING,
    fresh: NOTHING,
    events: NOTHING,
    laterEvents: NOTHING,
    explanation,
  };
}

const NOTHING: readonly never[] = [];

interface Beginning {
  /** The prefix of the first message after the system prompt. */
  readonly conversation: string;
  readonly task: TaskFinder;
}

/** Reads no further than the message with the task. */
function beginningOf(wire: Wire, messages: unknown, start: string): Beginning | undefined {
  if (!Array.isArray(messages)) return undefined;
  const viewer = wire.format.viewer();
  const task = new TaskFinder();
  let [conversation, prefix] = ['', start];
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) return undefined;
    const segments: Segment[] = [];
    viewer.add(message, segments);
    prefix = nextPrefixes(prefix, segments).at(-1) ?? prefix;
    if (prefix !== start) conversation ||= prefix;
    const { text, kind } = readSaid(segments);
    // The receipt makes the title from it, once for each conversation.
    task.add({ title: text, said: kind, isReply: viewer.isReply }, prefix);
    if (!task.isLooking) break;
  }
  return conversation ? { conversation, task } : undefined;
}

/** Small talk has no cache marker: a cache that needs one keeps nothing of it. */
function pricesFor(wire: Wire, model: string | undefined, facts: PriceFacts): Prices {
  const prices = listedPrices(wire, model, facts);
  return prices.lookup.kind === 'markers' ? priceLists.none : prices;
}
