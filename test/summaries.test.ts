import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  createPlanner,
  fit,
  fitAndStore,
  graduated,
  HistoryReducer,
  hybrid,
  PalimpsestError,
  type Policy,
} from '../src/index.ts';
import { createMemorySession, openSession } from '../src/manager/index.ts';
import { createMemoryStore, openStore, recall, type Store } from '../src/store/index.ts';
import { runLoop } from './support/agent-loop.ts';
import { codeOf, contents, history, prose } from './support/chat.ts';
import { scratchFolder } from './support/modules.ts';

const HEADER = 'Conversation summary (contract):';
const HANDLE = /p_[a-z2-7]{26}/;
const summaryIn = (messages: readonly ChatMessage[]): string | undefined =>
  contents(messages).find((text) => text.startsWith(HEADER));

const POLICY = hybrid({ window: 3, summarizeEvery: 6 });

/** A summariser that writes down what it was asked. */
function writer(answer: (n: number) => unknown = (n) => `summary ${n} by a model`) {
  const asked: { messages: readonly ChatMessage[]; earlier: string | undefined }[] = [];
  const summarize = async (messages: readonly ChatMessage[], earlier: string | undefined): Promise<string> => {
    asked.push({ messages, earlier });
    return (await answer(asked.length)) as string;
  };
  return { asked, summarize };
}

async function codeOfAsync(run: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await run();
  } catch (error) {
    return error instanceof PalimpsestError ? error.code : String(error);
  }
  return undefined;
}

describe('a summariser that cannot be awaited', () => {
  const later = async (): Promise<string> => 'later';
  const doors: Record<string, (summarize: never) => unknown> = {
    'fit with hybrid': (summarize) => fit(history(9), { policy: hybrid({ window: 3, summarizeEvery: 6, summarize }) }),
    'fit with graduated': (summarize) =>
      fit(history(30), { policy: graduated({ maxInputChars: 1500, preserveRecentRawTurns: 1, summarize }) }),
    createPlanner: (summarize) => {
      const policy = hybrid({ window: 3, summarizeEvery: 6, summarize });
      createPlanner<ChatMessage>({ format: 'chat', policy }).add(...history(9));
    },
    HistoryReducer: (summarize) =>
      new HistoryReducer().reduce(history(30), { maxInputChars: 1500, preserveRecentRawTurns: 1, summarize }),
  };

  it.each(Object.keys(doors))('%s refuses a promise with BAD_OPTION', (name) => {
    expect(codeOf(() => doors[name]?.(later as never))).toBe('BAD_OPTION');
  });

  it.each([
    ['undefined', () => undefined],
    ['an empty text', () => ''],
    ['an object', () => ({ text: 'x' })],
    [
      'an exception',
      () => {
        throw new Error('no model today');
      },
    ],
  ])('%s falls back to the rules, and the report says so', (_, answer) => {
    const policy = hybrid({ window: 3, summarizeEvery: 6, summarize: answer as never });
    const { messages, report } = fit(history(9), { policy });
    expect(summaryIn(messages)).toContain('- Objective: Fix the build.');
    expect(report.summary).toMatchObject({ by: 'rules', because: expect.stringMatching(/^summarize /) });
    expect(JSON.stringify(messages)).not.toMatch(/undefined|object Object/);
  });

  it.each(['', ' \n '])('reports %j as an empty text', (answer) => {
    const policy = hybrid({ window: 3, summarizeEvery: 6, summarize: () => answer });
    expect(fit(history(9), { policy }).report.summary?.because).toBe('summarize answered an empty text');
  });

  it('a text is the summary, and the report says who wrote it', () => {
    const policy = hybrid({ window: 3, summarizeEvery: 6, summarize: () => 'in my own words' });
    const { messages, report } = fit(history(9), { policy });
    expect(summaryIn(messages)).toBe(`${HEADER}\nin my own words`);
    expect(report.summary).toEqual({ by: 'model' });
    expect(fit(history(9), { policy: POLICY }).report.summary).toEqual({ by: 'rules' });
    expect(fit(history(3), { policy: POLICY }).report.summary).toBeUndefined();
  });
});

describe('fitAndStore with a summariser', () => {
  const options = (store: Store, summarize: unknown, more: object = {}) => ({
    policy: POLICY as Policy,
    store,
    session: 's1',
    summarize: summarize as never,
    ...more,
  });

  it('awaits it, and keeps what the summary replaced', async () => {
    const store = createMemoryStore();
    const { asked, summarize } = writer();
    const { messages, report } = await fitAndStore(history(9), options(store, summarize));
    expect(summaryIn(messages)).toMatch(/^Conversation summary \(contract\): · p_[a-z2-7]{26}\nsummary 1 by a model$/);
    expect(report.summary).toEqual({ by: 'model' });
    expect(asked).toHaveLength(1);
    const [handle = ''] = HANDLE.exec(summaryIn(messages) ?? '') ?? [];
    expect((await recall(store, handle)).text).toContain('step 6');
  });

  it('takes the function of the policy where it is given none', async () => {
    const { summarize } = writer();
    const policy = hybrid({ window: 3, summarizeEvery: 6, summarize: summarize as never });
    const { messages } = await fitAndStore(history(9), { policy, store: createMemoryStore(), session: 's1' });
    expect(summaryIn(messages)).toContain('summary 1 by a model');
  });

  it('asks once for a range: not in later calls, and not in another process on the same store', async () => {
    const path = scratchFolder('summaries');
    const first = writer();
    let store = await openStore({ path });
    const once = await fitAndStore(history(9), options(store, first.summarize));
    expect((await fitAndStore(history(9), options(store, first.summarize))).messages).toEqual(once.messages);
    const longer = await fitAndStore(history(10), options(store, first.summarize));
    expect(summaryIn(longer.messages)).toBe(summaryIn(once.messages));
    await store.close();
    store = await openStore({ path });
    const second = writer(() => 'another one');
    expect((await fitAndStore(history(9), options(store, second.summarize))).messages).toEqual(once.messages);
    await store.close();
    expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
  });

  it('asks once for a range that two calls need at the same time', async () => {
    const { asked, summarize } = writer();
    const store = createMemoryStore();
    const [one, other] = await Promise.all([1, 2].map(() => fitAndStore(history(9), options(store, summarize))));
    expect(asked).toHaveLength(1);
    expect(one?.messages).toEqual(other?.messages);
  });

  it('gives it the originals and the summary before, also where the history was carried forward', async () => {
    const store = createMemoryStore();
    const { asked, summarize } = writer();
    const run = history(15);
    const early = await fitAndStore(run.slice(0, 2 + 2 * 8), options(store, summarize));
    const { messages } = await fitAndStore([...early.messages, ...run.slice(18)], options(store, summarize));
    expect(asked).toHaveLength(2);
    expect(JSON.stringify(asked)).not.toContain('chars masked');
    expect(contents(asked[0]?.messages ?? [])).toContain(prose(1000, 'output 1: '));
    expect(contents(asked[1]?.messages ?? [])).toContain(prose(1000, 'output 7: '));
    expect(asked[1]?.earlier).toContain('summary 1 by a model');
    expect(summaryIn(messages)).toContain('summary 2 by a model');
  });

  it('falls back to the rules where it takes too long, and does not ask again for that range', async () => {
    const store = createMemoryStore();
    const { asked, summarize } = writer(() => new Promise(() => {}));
    const slow = options(store, summarize, { summarizeTimeoutMs: 20 });
    const { messages, report } = await fitAndStore(history(9), slow);
    expect(report.summary).toEqual({ by: 'rules', because: 'summarize took longer than 20 ms' });
    expect(summaryIn(messages)).toContain('- Objective: Fix the build.');
    expect((await fitAndStore(history(9), slow)).messages).toEqual(messages);
    expect(asked).toHaveLength(1);
  });

  it('is switched off after three failures in a row, for other processes too', async () => {
    const path = scratchFolder('summaries');
    const { asked, summarize } = writer(() => Promise.reject(new Error('no model today')));
    let store = await openStore({ path });
    await fitAndStore(history(40), options(store, summarize));
    expect(asked).toHaveLength(3);
    await store.close();
    store = await openStore({ path });
    const { report, messages } = await fitAndStore(history(46), options(store, summarize));
    expect(asked).toHaveLength(3);
    expect(report.summary).toEqual({
      by: 'rules',
      because: 'summarize was switched off after 3 failures in a row',
    });
    expect(summaryIn(messages)).toContain('- Covers:');
    await store.close();
  });

  it.each([
    ['answer', (n: number) => (n === 1 ? 'x'.repeat(100_000) : 'short')],
    ['reason', () => Promise.reject(new Error('<html>'.repeat(20_000)))],
  ])('clips a long %s before it is recorded', async (_, answer) => {
    const store = createMemoryStore();
    const { messages } = await fitAndStore(history(9), options(store, writer(answer).summarize));
    expect(summaryIn(messages)?.length).toBeLessThanOrEqual(1400);
    for await (const line of store.export()) expect(JSON.stringify(line).length).toBeLessThan(30_000);
  });

  it('takes a time limit that no timer can hold as no limit', async () => {
    const { summarize } = writer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return 'in time';
    });
    const patient = options(createMemoryStore(), summarize, { summarizeTimeoutMs: 3_000_000_000 });
    expect((await fitAndStore(history(9), patient)).report.summary).toEqual({ by: 'model' });
  });

  it('keeps the words of the model where the rules continue its summary, and every field once', async () => {
    const { summarize } = writer((n) => (n === 1 ? 'KEY FACT: the port is 8081.' : Promise.reject(new Error('busy'))));
    const { messages } = await fitAndStore(history(30), options(createMemoryStore(), summarize));
    const summary = summaryIn(messages) ?? '';
    expect(summary).toContain('KEY FACT: the port is 8081.');
    expect(summary.match(/^- Covers: /gm)).toHaveLength(1);
    expect(Number(/^- Covers: (\d+)/m.exec(summary)?.[1])).toBeGreaterThan(24);
  });

  it('counts failures in a row only: a success begins to count again', async () => {
    const { asked, summarize } = writer((n) => (n % 3 === 0 ? `summary ${n}` : Promise.reject(new Error('busy'))));
    await fitAndStore(history(60), options(createMemoryStore(), summarize));
    expect(asked.length).toBeGreaterThan(6);
  });

  it.each([[{ summarize: 'a model' }], [{ summarizeTimeoutMs: 0 }], [{ summarizeTimeoutMs: Number.NaN }]])(
    'refuses %j',
    async (more) => {
      const run = () => fitAndStore(history(2), { store: createMemoryStore(), ...(more as object) });
      expect(await codeOfAsync(run)).toBe('BAD_OPTION');
    },
  );
});

describe('a session with a summariser', () => {
  it('waits for it when it renders, records it in its log, and does not ask again when it is opened again', async () => {
    const directory = scratchFolder('summaries');
    const first = writer();
    const open = (summarize: unknown) =>
      openSession<ChatMessage>({ directory, id: 's', policy: POLICY, summarize: summarize as never });
    const session = await open(first.summarize);
    await session.add(...history(9));
    const rendered = await session.render();
    expect(summaryIn(rendered.messages)).toBe(`${HEADER}\nsummary 1 by a model`);
    expect(rendered.summary).toEqual({ by: 'model' });
    expect(contents(first.asked[0]?.messages ?? [])).toContain(prose(1000, 'output 1: '));
    const events: unknown[] = [];
    for await (const event of session.events({ types: ['context_summary'] })) events.push(event);
    expect(events).toMatchObject([{ text: 'summary 1 by a model', replaced: expect.stringMatching(HANDLE) }]);
    await session.close();
    const second = writer(() => 'another one');
    const again = await open(second.summarize);
    expect((await again.render()).messages).toEqual(rendered.messages);
    await again.close();
    expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
  });

  it('is the same from its events alone, without a snapshot', async () => {
    const directory = scratchFolder('summaries');
    const { asked, summarize } = writer();
    const open = () =>
      openSession<ChatMessage>({ directory, id: 's', policy: POLICY, summarize, snapshotEvery: 10_000 });
    const session = await open();
    for (const message of history(16)) {
      await session.add(message);
      await session.render();
    }
    const { messages } = await session.render();
    const { rmSync } = await import('node:fs');
    await session.close();
    rmSync(`${directory}/s/state.yaml`);
    const again = await open();
    expect((await again.render()).messages).toEqual(messages);
    await again.close();
    expect(asked).toHaveLength(2);
  });

  it('goes on with the rules where it fails, says why, and is switched off after three failures in a row', async () => {
    const { asked, summarize } = writer(() => Promise.reject(new Error('no model today')));
    const session = createMemorySession<ChatMessage>({ policy: POLICY, summarize });
    let because: string | undefined;
    for (const message of history(40)) {
      await session.add(message);
      because = (await session.render({})).summary?.because ?? because;
    }
    expect(asked).toHaveLength(3);
    expect(because).toBe('summarize was switched off after 3 failures in a row');
  });

  it('carries its summary over a restart', async () => {
    const { summarize } = writer();
    const session = createMemorySession<ChatMessage>({ policy: POLICY, summarize });
    await session.add(...history(12));
    await session.render({});
    await session.restart();
    expect(summaryIn(session.view())).toContain('summary 1 by a model');
    expect(summaryIn((await session.render({})).messages)).toContain('summary 1 by a model');
  });
});

describe('runAgent with a summariser', () => {
  it('waits for it before the request that needs it', async () => {
    const { asked, summarize } = writer();
    const { requests } = await runLoop({ iterations: 12, output: () => prose(1000), policy: POLICY, summarize });
    expect(asked.length).toBeGreaterThan(0);
    expect(summaryIn(requests.at(-1) ?? [])).toContain(`summary ${asked.length} by a model`);
  });

  it('refuses it beside a session, which has its own', async () => {
    const { summarize } = writer();
    const context = createMemorySession<ChatMessage>();
    const run = () => runLoop({ iterations: 1, output: () => 'ok', context, summarize });
    expect(await codeOfAsync(run)).toBe('BAD_OPTION');
  });
});
