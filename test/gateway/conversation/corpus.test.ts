import { describe, expect, it } from 'vitest';
import type { ConversationSummary, Receipt, Status } from '../../../src/gateway/index.ts';
import { priceLists } from '../../../src/plan/prices.ts';
import { hasCorpus } from '../../support/corpus.ts';
import { corpusRuns, type ReplayedBill, type ReplayOptions, replayRun } from '../../support/gateway/conversations.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { type Provider, startProvider } from '../../support/provider/start-provider.ts';

const PRICES = priceLists['anthropic-5m'];

/** A provider with a clock of its own, which the gateway in front of it reads too. */
async function start(clock: { now: number }): Promise<Provider> {
  return startProvider({ script: () => ({ text: 'x' }), now: () => clock.now, contextTokens: 1e6, keepsBytes: false });
}

type Runs = Awaited<ReturnType<typeof corpusRuns>>;

async function replay(runs: Runs, options: ReplayOptions): Promise<ReplayedBill[]> {
  const bills: ReplayedBill[] = [];
  for (const run of runs) bills.push(await replayRun(run, options));
  return bills;
}

const costOf = ({ read, written }: { read: number; written: number }): number =>
  read * PRICES.read + written * PRICES.write;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe.skipIf(!hasCorpus)('the runs of the corpus', () => {
  it('cost less through the gateway, and its receipts equal the bill to the token', { timeout: 600_000 }, async () => {
    const runs = await corpusRuns();
    const without = { now: 0 };
    const alone = await start(without);
    const plain = await replay(runs, { url: alone.url, clock: without });
    await alone.close();

    const clock = { now: 0 };
    const provider = await start(clock);
    const gateway = await startGateway(provider.url, { now: () => clock.now, log: () => {} });
    const managed = await replay(runs, { url: gateway.url, clock });
    const { totals } = await gateway.ask<Status>('status');
    await gateway.close();
    await provider.close();

    expect(managed.flatMap(({ refused }) => refused)).toEqual([]);
    const { bill } = provider;
    expect([totals.requests, totals.tokensSent, totals.cached, totals.written]).toEqual([
      bill.requests,
      bill.prompt,
      bill.read,
      bill.written,
    ]);
    expect(totals.cost.sent).toBeCloseTo(bill.cost, 0);
    const saving = bill.cost / alone.bill.cost - 1;
    expect(saving).toBeLessThan(-0.1);
    // What the receipts say would have been paid is what was.
    expect(Math.abs(totals.cost.without / alone.bill.cost - 1)).toBeLessThan(0.05);
    expect(sum(plain.map(costOf))).toBeCloseTo(alone.bill.costAt(PRICES), 0);
    const changes = managed.map((run, i) => costOf(run) / costOf(plain[i] as ReplayedBill) - 1);
    const dearer = changes.filter((change) => change > 0.005).length;
    // The sentence in docs/gateway.md; other runs give other figures.
    console.info(
      `over the ${runs.length} runs of 30 turns and more (${bill.requests} requests): ${percent(saving)}; ` +
        `${dearer} of the runs cost more, the worst ${percent(Math.max(...changes))}`,
    );
  });
});

describe.skipIf(!hasCorpus)('a coding agent of today', () => {
  it('is managed although it sends context management of its own', async () => {
    const runs = (await corpusRuns()).slice(0, 1);
    const clock = { now: 0 };
    const provider = await start(clock);
    const gateway = await startGateway(provider.url, { now: () => clock.now });
    const fields = {
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      thinking: { type: 'adaptive' },
      stream: false,
    };
    const headers = { 'anthropic-beta': 'context-management-2025-06-27,interleaved-thinking-2025-05-14' };
    const [bill] = await replay(runs, { url: gateway.url, clock, fields, headers });
    const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
    const { receipts } = await gateway.ask<{ receipts: Receipt[] }>(`conversations/${conversations[0]?.id}`);
    await gateway.close();
    await provider.close();
    expect(bill?.refused).toEqual([]);
    expect(receipts.filter(({ act }) => act === 'pass-through')).toEqual([]);
    expect(receipts.at(-1)?.masked).toBeGreaterThan(0);
  });
});
