import { describe, expect, it } from 'vitest';
import { priceLists } from '../../../src/plan/prices.ts';
import { hasCorpus } from '../../support/corpus.ts';
import { corpusRuns, replayRun } from '../../support/gateway/conversations.ts';
import { startProvider } from '../../support/provider/start-provider.ts';

describe.skipIf(!hasCorpus)('the runs of the corpus against the provider', () => {
  it('are all legal, mostly read from the cache, and billed as the client was told', async () => {
    const clock = { now: 0 };
    const provider = await startProvider({
      script: () => ({ text: 'x' }),
      now: () => clock.now,
      contextTokens: 1e6,
      keepsBytes: false,
    });
    const total = { requests: 0, prompt: 0, read: 0, written: 0 };
    const refused: string[] = [];
    for (const run of await corpusRuns()) {
      const bill = await replayRun(run, { url: provider.url, clock });
      refused.push(...bill.refused.map((text) => `${run.file}: ${text}`));
      for (const key of ['requests', 'prompt', 'read', 'written'] as const) total[key] += bill[key];
    }
    await provider.close();
    expect(refused).toEqual([]);
    const { requests, prompt, read, written } = provider.bill;
    expect(total).toEqual({ requests, prompt, read, written });
    expect(requests).toBeGreaterThan(2000);
    expect(read / prompt).toBeGreaterThan(0.9);
    // Every request ends with a marker: all that is not read is written.
    expect(provider.bill.cost).toBeCloseTo(provider.bill.costAt(priceLists['anthropic-5m']), -1);
  });
});
