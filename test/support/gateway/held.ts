import { expect } from 'vitest';
import type { ConversationSummary, GatewayOptions, Receipt, Totals } from '../../../src/gateway/index.ts';
import { type Fields, isFields } from '../provider/json.ts';
import { type Provider, type SeenRequest, startProvider } from '../provider/start-provider.ts';
import { type Client, type Job, jobScript, type Seen } from './conversations.ts';
import { type Started, startGateway } from './gateway.ts';

/** A conversation that was held, and what the provider says about it. */
export interface Held {
  readonly seen: Seen;
  readonly refused: readonly (string | undefined)[];
  readonly bill: Provider['bill'];
  readonly requests: readonly SeenRequest[];
}

/** With the provider itself, whose window is as large as it must be. */
export async function holdAlone(client: Client, job: Job): Promise<Held> {
  const provider = await startProvider({ script: jobScript(job), contextTokens: 1e6 });
  try {
    return heldWith(provider, await client.converse(provider.url, job));
  } finally {
    await provider.close();
  }
}

function heldWith({ requests, bill }: Provider, seen: Seen): Held {
  return {
    seen,
    bill,
    requests,
    refused: requests.flatMap(({ status, refused }) => (status === 200 ? [] : [refused])),
  };
}

export interface HeldThrough extends Held {
  readonly receipts: readonly Receipt[];
  readonly totals: Totals;
}

/** Through a gateway, with the window that the model has. */
export async function holdThrough(client: Client, job: Job, options: GatewayOptions = {}): Promise<HeldThrough> {
  const provider = await startProvider({ script: jobScript(job) });
  const gateway = await startGateway(provider.url, options);
  try {
    const held = heldWith(provider, await client.converse(gateway.url, job));
    return { ...held, ...(await recordsOf(gateway, held.bill.requests)) };
  } finally {
    await gateway.close();
    await provider.close();
  }
}

/** The receipts of the only conversation of a gateway, once all are written: that is after the bytes were passed on. */
export async function recordsOf(gateway: Started, requests: number): Promise<Pick<HeldThrough, 'receipts' | 'totals'>> {
  for (;;) {
    const { totals } = await gateway.ask<{ totals: Totals }>('status');
    if (totals.requests >= requests) {
      const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
      expect(conversations.map(({ requests: counted }) => counted)).toEqual([requests]);
      const { receipts } = await gateway.ask<{ receipts: Receipt[] }>(`conversations/${conversations[0]?.id}`);
      return { receipts, totals };
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** To the token, request by request and in total. */
export function expectReceiptsToEqualBill({ receipts, bill, totals }: HeldThrough): void {
  expect(receipts.map(({ sent }) => sent)).toEqual(
    bill.charges.map(({ prompt, split }, i) => ({
      ...{ tokens: prompt, cached: split.read, written: prompt - split.read },
      // Where the provider tells writes to its cache apart.
      ...(receipts[i]?.sent.uncached === undefined ? {} : { uncached: split.fresh }),
      // The clients set no marker that lasts an hour.
      ...(receipts[i]?.sent.hourWritten === undefined ? {} : { hourWritten: 0 }),
    })),
  );
  expect(receipts.map(({ completionTokens }) => completionTokens)).toEqual(
    bill.charges.map(({ completion }) => completion),
  );
  expect(receipts.filter(({ estimated }) => estimated)).toEqual([]);
  expect([totals.tokensSent, totals.cached, totals.written]).toEqual([bill.prompt, bill.read, bill.written]);
}

/** How often a request did not begin with the whole of the one before it. */
export function breaksIn(requests: readonly SeenRequest[]): number {
  let [breaks, before] = [0, [] as Said[]];
  for (const request of requests) {
    const said = messagesIn(request).map((message) => ({ message, json: JSON.stringify(message) }));
    if (before.some((one, at) => !isSame(one, said[at]))) breaks += 1;
    before = said;
  }
  return breaks;
}

interface Said {
  readonly message: unknown;
  readonly json: string;
}

/** Hardly any message has another marker than before: the quick comparison comes first. */
const isSame = (a: Said, b: Said | undefined): boolean =>
  b !== undefined && (a.json === b.json || historyText(a.message) === historyText(b.message));

/** The messages of a request, without what is no part of the prompt. */
export const historyIn = (request: SeenRequest): string[] => messagesIn(request).map(historyText);

function messagesIn({ bytes }: SeenRequest): readonly unknown[] {
  const body = JSON.parse(bytes.toString()) as Fields;
  const list = body.messages ?? body.input ?? body.contents;
  return Array.isArray(list) ? list : [];
}

const historyText = (message: unknown): string => JSON.stringify(message, asPrompted);

/** Cache markers move on with every request, and a text that gets one becomes a list of one block: both say the same. */
function asPrompted(key: string, value: unknown): unknown {
  if (key === 'content' && typeof value === 'string') return [{ type: 'text', text: value }];
  if (!isFields(value) || !('cache_control' in value)) return value;
  const { cache_control: _marker, ...rest } = value;
  return rest;
}
