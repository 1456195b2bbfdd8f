import { describe, expect, it } from 'vitest';
import { type Client, clients, type Job, jobScript, type Seen } from '../../support/gateway/conversations.ts';
import { startProvider } from '../../support/provider/start-provider.ts';

interface Held {
  readonly seen: Seen;
  readonly refused: readonly (string | undefined)[];
  readonly requests: number;
  readonly read: number;
}

async function hold(client: Client, job: Job): Promise<Held> {
  const provider = await startProvider({ script: jobScript(job) });
  try {
    const seen = await client.converse(provider.url, job);
    const refused = provider.requests.filter(({ status }) => status !== 200).map(({ refused }) => refused);
    return { seen, refused, requests: provider.bill.requests, read: provider.bill.read };
  } finally {
    await provider.close();
    expect(provider.sockets()).toBe(0);
  }
}

const JOBS: readonly (readonly [string, Job])[] = [
  ['a conversation', { turns: 6 }],
  ['parallel calls', { turns: 7, parallel: 3 }],
  ['images', { turns: 8, parallel: 2, hasImages: true }],
  ['thinking', { turns: 5, parallel: 2, thinks: true }],
];

describe.each(clients)('$name', (client) => {
  it.each(JOBS)('holds %s, and sees the same streamed and not', async (_name, job) => {
    const whole = await hold(client, job);
    expect(whole.refused).toEqual([]);
    expect(whole.requests).toBe(job.turns + 1);
    expect(whole.seen.texts).toHaveLength(job.turns + 1);
    expect(whole.seen.texts.at(-1)).toBe(`All ${job.turns} steps are done. ✓`);
    const rounds = Math.floor(job.turns / 3);
    expect(whole.seen.calls).toHaveLength(job.turns - rounds + rounds * (job.parallel ?? 1));
    const streamed = await hold(client, { ...job, streams: true });
    expect(streamed.refused).toEqual([]);
    expect(streamed.seen).toEqual(whole.seen);
  });

  it('sees the thoughts where the API shows them', async () => {
    const { seen } = await hold(client, { turns: 2, thinks: true });
    // Chat Completions does not show what a model of OpenAI thinks.
    expect(seen.thoughts).toHaveLength(client.api === 'openai-chat' ? 0 : 3);
  });

  it('reads from the prompt cache from the second request on, if it asks for that where it must', async () => {
    const { read } = await hold(client, { turns: 4, resultChars: 3000 });
    if (client.name === '@langchain/anthropic') expect(read).toBe(0);
    else expect(read).toBeGreaterThan(3000);
  });
});

describe.each(clients.filter(({ api }) => api === 'anthropic'))('$name with a newer model', (client) => {
  it('sends back thinking that is bound to all before it', async () => {
    const job = { turns: 6, parallel: 2, thinks: true, hasImages: true, model: 'claude-opus-5-5' };
    const held = [await hold(client, job), await hold(client, { ...job, streams: true })];
    expect(held.map(({ refused }) => refused)).toEqual([[], []]);
    expect(held.map(({ seen }) => seen.thoughts.length)).toEqual([7, 7]);
  });
});
