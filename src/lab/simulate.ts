import { chat } from '../formats/chat.ts';
import type { ChatMessage, Edit, ReplaceEdit } from '../message.ts';
import { allParts } from '../plan/parts/all-parts.ts';
import { Planner } from '../plan/planner.ts';
import type { Policy } from '../plan/policy.ts';
import { batchesOf, type Measure, overheadOf } from './layout.ts';
import type { Context } from './run.ts';

/** How a context is replayed, whatever the policy. */
export interface Setting extends Measure {
  /** The tokens of the first request that were read from the cache, because other runs share the hidden part. */
  readonly cachedAtStart?: number | undefined;
  /** The largest request, if there is a limit. */
  readonly contextLimit?: number | undefined;
}

/** One request as a policy would have sent it. */
export interface SentRequest {
  /** All tokens of the request. */
  readonly size: number;
  /** The part of it that a warm cache has. */
  readonly cached: number;
  /** Whether this request changed text that was sent before, which the cache cannot reuse. */
  readonly isEpoch: boolean;
}

/** The requests of a policy in one context. */
export interface Simulation {
  /** One for each reply that was not billed in the previous context. */
  readonly requests: readonly SentRequest[];
  /** The request, counted like replies, in which each result is masked or left out for the first time. */
  readonly maskedAt: readonly number[];
  /** The text of each result that was made smaller when it was first sent. */
  readonly arrived: ReadonlyMap<number, string>;
  /** The placeholder of each result that has one at the end. */
  readonly placeholders: ReadonlyMap<number, string>;
  /** The tokens that the mask of each result saves. */
  readonly gains: ReadonlyMap<number, number>;
  /** The request, counted like replies, in which each result was replaced after it was first sent. */
  readonly replacedAt: ReadonlyMap<number, number>;
}

/** Replays one context request by request, through the same engine as `fit`. */
export function simulate(
  context: Context,
  policy: Policy,
  setting: Setting,
  isColdAt: (request: number) => boolean = () => false,
): Simulation {
  const { counter, contextLimit, cachedAtStart = 0 } = setting;
  const batches = batchesOf(context.messages);
  const overheadTokens = overheadOf(batches[0] ?? [], setting);
  const planner = new Planner(chat, { policy, parts: allParts, counter, overheadTokens, maxTokens: contextLimit });
  const { ledger } = planner;
  const log = new MaskLog(context.messages);
  const requests: SentRequest[] = [];
  let previous = 0;
  for (const [turn, batch] of batches.entries()) {
    // The last batch is everything after the last reply: no request sent it.
    if (turn === batches.length - 1) break;
    planner.take(batch, { isCold: isColdAt(turn + 1) });
    const change = ledger.textBeforeChange();
    const isFirst = turn === context.carriedTurns;
    const cached = Math.min(previous, change ?? previous);
    previous = ledger.text;
    if (turn >= context.carriedTurns)
      requests.push({ size: previous, cached: isFirst ? cachedAtStart : cached, isEpoch: change !== undefined });
    log.take(ledger.takeNewEdits(), turn + 1);
  }
  const placeholders = new Map<number, string>();
  const gains = new Map<number, number>();
  for (const { text, tokens, original, why } of ledger.observations) {
    if (why === undefined || hidesNothing(why)) continue;
    const index = log.indexOf(original.message);
    placeholders.set(index, text);
    if (log.replacedAt.has(index)) gains.set(index, counter(log.arrived.get(index) ?? original.text) - tokens);
  }
  const { maskedAt, arrived, replacedAt } = log;
  return { requests, maskedAt, arrived, placeholders, gains, replacedAt };
}

/** The model still sees the content of a cleaned result, and the text that a reference points to. */
const hidesNothing = (why: ReplaceEdit['why']): boolean => why === 'clean' || why === 'references';

const isArrival = (why: ReplaceEdit['why']): boolean => hidesNothing(why) || why === 'shell-output';

/** Records when each result was hidden. */
class MaskLog {
  readonly maskedAt: number[] = [];
  readonly arrived = new Map<number, string>();
  readonly replacedAt = new Map<number, number>();
  readonly #indexes = new Map<number, number>();
  /** The message of each segment. */
  readonly #messageOf: number[] = [];

  constructor(messages: readonly ChatMessage[]) {
    for (const [i, { role }] of messages.entries()) {
      if (role !== 'tool') continue;
      this.#indexes.set(i, this.maskedAt.length);
      this.maskedAt.push(Number.POSITIVE_INFINITY);
    }
    for (const { message } of chat.view(messages)) this.#messageOf.push(message);
  }

  indexOf(message: number): number {
    return this.#indexes.get(message) ?? -1;
  }

  take(edits: readonly Edit[], request: number): void {
    for (const edit of edits) {
      if (edit.kind === 'replace') this.#replace(edit, request);
      else if (edit.kind === 'drop') for (let i = edit.from; i < edit.to; i++) this.#hide(i, request);
    }
  }

  #replace({ segment, text, why }: ReplaceEdit, request: number): void {
    const message = this.#messageOf[segment] ?? -1;
    const index = this.#indexes.get(message);
    if (index === undefined) return;
    if (isArrival(why)) this.arrived.set(index, text);
    else this.replacedAt.set(index, request);
    if (!hidesNothing(why)) this.#hide(message, request);
  }

  #hide(message: number, request: number): void {
    const index = this.#indexes.get(message);
    if (index === undefined) return;
    this.maskedAt[index] = Math.min(this.maskedAt[index] as number, request);
  }
}

/** The prices of a cached and of a new token, as multiples of the base price. */
interface Multiples {
  readonly read: number;
  readonly write: number;
}

/** The cost of requests at some prices, in tokens at the base price. */
export function costOf(
  requests: readonly SentRequest[],
  prices: Multiples,
  isColdAt: (index: number) => boolean = () => false,
): number {
  return requests.reduce((sum, request, i) => sum + costOfRequest(request, prices, isColdAt(i)), 0);
}

export function costOfRequest({ size, cached }: SentRequest, { read, write }: Multiples, isCold: boolean): number {
  const hit = isCold ? 0 : Math.min(cached, size);
  return read * hit + write * (size - hit);
}
