import { requestLimits } from '../../limits.ts';
import type { Segment } from '../../message.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import { quote } from '../../text.ts';
import { parseJson } from '../bytes/parse-json.ts';
import { firstPrefix, nextPrefixes } from '../conversation/prefix-hash.ts';
import type { Tokens } from '../receipts/receipt.ts';
import { type Api, wires } from '../wire/index.ts';
import { listedPrices } from '../wire/request-prices.ts';
import { isStreamed, modelOf, type Wire } from '../wire/wire.ts';
import type { Decided, Facts, GatewayRequest, ReceiptDecision } from './decide.ts';

/** Larger ones are read like all others: what is known of them from earlier requests need not be read again. */
const MOST_BYTES = 16 * 1024;

/** With these the provider keeps the history, or changes it: why such a request is left alone is told elsewhere. */
const OTHERS = ['previous_response_id', 'conversation', 'thread', 'compaction', 'context_management'];

/**
 * Decides about small talk: a short request without any result of a tool, in which nothing can be masked, whatever the
 * policy. It is not planned, and nothing is kept of it. Undefined for all other requests.
 */
export function decidePlain(
  { api, path, body: bytes }: GatewayRequest,
  facts: Pick<Facts, 'prices'>,
): Decided | undefined {
  if (bytes.length > MOST_BYTES) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const wire: Wire = wires[api];
  if (wire.resultSigns.some((sign) => text.includes(sign))) return undefined;
  const body = parseJson(text) as Readonly<Record<string, unknown>> | undefined;
  if (typeof body !== 'object' || body === null || OTHERS.some((name) => name in body)) return undefined;
  if ((modelOf(wire, { model: body.model, path })?.length ?? 0) > requestLimits.modelChars) return undefined;
  const first = firstSaid(wire, body[wire.messages]);
  return first && new PlainRequest({ api, wire, path, bytes: bytes.length, body, first, prices: facts.prices });
}

/** The pieces of the first message that is no system prompt. */
function firstSaid(wire: Wire, messages: unknown): readonly Segment[] | undefined {
  if (!Array.isArray(messages)) return undefined;
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) return undefined;
    const segments: Segment[] = [];
    wire.format.viewer().add(message, segments);
    if (segments.some(({ kind }) => kind !== 'system')) return segments;
  }
  return undefined;
}

interface Parts {
  readonly api: Api;
  readonly wire: Wire;
  readonly path: string;
  readonly bytes: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly first: readonly Segment[];
  readonly prices: Prices | undefined;
}

const NOTHING: readonly never[] = [];
const AS_IT_CAME = { body: undefined, headers: {} };

class PlainRequest implements Decided {
  readonly body = undefined;
  readonly headers = AS_IT_CAME.headers;
  readonly hidden = NOTHING;
  readonly fresh = NOTHING;
  readonly events = NOTHING;
  readonly original = AS_IT_CAME;
  readonly conversation: string;
  readonly decision: ReceiptDecision;
  readonly #first: readonly Segment[];

  constructor(parts: Parts) {
    this.#first = parts.first;
    this.conversation = nextPrefixes(firstPrefix(parts.api), parts.first).at(-1) ?? '';
    this.decision = new PlainDecision(parts);
  }

  /** Made only where it is asked for: that is once for each conversation. */
  get title(): string {
    const said = this.#first.find(({ kind, text }) => kind === 'user' && text.trim() !== '');
    return said ? quote(said.text.trimStart().split('\n', 1)[0] ?? '', 80) : '';
  }

  stored(): void {}

  putOff(): Decided {
    return this;
  }

  answered(): void {}

  refused(): readonly never[] {
    return NOTHING;
  }
}

class PlainDecision implements ReceiptDecision {
  readonly act = 'wait';
  readonly because = 'there is no result that could be masked';
  readonly epoch = 0;
  readonly masked = 0;
  readonly newMasks = NOTHING;
  readonly isCountTokens = false;
  readonly prices: Prices;
  readonly streamed: boolean;
  declare readonly model?: string;
  readonly sent: Tokens;
  readonly without: Tokens;

  constructor({ wire, path, bytes, body, prices }: Parts) {
    const model = modelOf(wire, { model: body.model, path });
    if (model) this.model = model;
    this.streamed = isStreamed(wire, { stream: body.stream, path });
    // The provider will count: little rests on this.
    const tokens = Math.ceil(bytes / 4);
    const list = pricesFor(wire, model);
    this.prices = prices ?? (tokens < list.leastTokens ? priceLists.none : list);
    this.sent = { tokens, cached: 0, written: tokens };
    this.without = this.sent;
  }
}

/** A request that comes here has no marker: a cache that needs one keeps nothing of it. */
function pricesFor(wire: Wire, model: string | undefined): Prices {
  const prices = listedPrices(wire, model);
  return prices.lookup.kind === 'markers' ? priceLists.none : prices;
}
