import { describe, expect, it } from 'vitest';
import { never, oldestBatch, slidingWindow } from '../../../src/index.ts';
import { openSession, sessionOptionsOf } from '../../../src/manager/index.ts';
import {
  createMemoryStore,
  openStore,
  type RecallInput,
  recall,
  recallTool,
  type Store,
  type TurnRecord,
} from '../../../src/store/index.ts';
import { changedStore } from '../../support/gateway/gateway.ts';
import { flat, formatNames, type Story, write } from '../../support/histories.ts';
import { call, openChat, reply, result, temporaryFolders, turns, user } from '../../support/manager/sessions.ts';
import { collect } from '../../support/store/stores.ts';

const freshFolder = temporaryFolders();
const turnsOf = (store: Store): Promise<TurnRecord[]> => collect(store.turns('chat'));
const states = (records: readonly TurnRecord[]) => records.map(({ turn, masked }) => [turn, masked]);

/** A store that tells which turns it is asked to write. */
function counting(store: Store): { store: Store; written: () => number[] } {
  const numbers: number[] = [];
  const putTurns: Store['putTurns'] = (records) => {
    numbers.push(...records.map(({ turn }) => turn));
    return store.putTurns(records);
  };
  return { store: changedStore(store, { putTurns }), written: () => numbers.splice(0) };
}

describe('a session that shows only what was masked long ago', () => {
  it('is not removed by age while it is rendered', async () => {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const store = createMemoryStore({ now: () => clock.now });
    const session = await openChat({
      directory: freshFolder(),
      id: 'chat',
      store,
      policy: slidingWindow({ turns: 2 }),
    });
    await session.add(user('the task'), ...turns(5));
    for (let day = 0; day < 40; day++) {
      await session.render();
      clock.now += 86_400_000;
    }
    expect((await store.prune({ maxAgeMs: 30 * 86_400_000 })).sessions).toBe(0);
    expect((await store.stats()).texts).toBe(3);
    await session.close();
  });
});

describe('the trajectory of a session', () => {
  it('is recorded before each request: recent turns whole, masked ones with the handle of the whole text', async () => {
    const { store, written } = counting(createMemoryStore());
    const policy = slidingWindow({ turns: 2 });
    const session = await openChat({ directory: freshFolder(), id: 'chat', store, policy });
    await session.add(user('the task'), ...turns(3));
    await session.render();
    expect(written()).toEqual([0, 1, 2, 3]);
    await session.render();
    expect(written()).toEqual([]);
    await session.add(...turns(1, { from: 3 }));
    await session.render();
    expect(written()).toEqual([2, 4]);
    const records = await turnsOf(store);
    expect(states(records)).toEqual([
      [0, false],
      [1, true],
      [2, true],
      [3, false],
      [4, false],
    ]);
    expect(records[0]?.user).toBe('the task');
    expect(records[1]?.observation).toBe(session.view()[2]?.content);
    expect((await recall(store, records[1]?.results?.[0]?.handle ?? '')).text).toBe(session.messages()[2]?.content);
    expect(records[4]).toMatchObject({
      action: 'read_file {"path":"src/c3.ts"}',
      observation: session.messages()[8]?.content,
      tools: ['read_file'],
    });
    await session.close();
  });

  it('goes on after session and store were closed and opened again', async () => {
    const [directory, path] = [freshFolder(), freshFolder()];
    const policy = slidingWindow({ turns: 2 });
    for (const [from, expected] of [
      [0, [0, 1, 2]],
      [2, [1, 2, 3, 4]],
      [4, [3, 4, 5, 6]],
    ] as const) {
      const opened = await openStore({ path });
      const { store, written } = counting(opened);
      const session = await openChat({ directory, id: 'chat', store, policy });
      await session.add(...(from === 0 ? [user('the task')] : []), ...turns(2, { from }));
      await session.close();
      expect(written()).toEqual(expected);
      await opened.close();
    }
    const reader = await openStore({ path, mode: 'read' });
    const records = await turnsOf(reader);
    expect(states(records)).toEqual([0, 1, 2, 3, 4, 5, 6].map((turn) => [turn, turn > 0 && turn < 5]));
    for (const { turn, results = [] } of records)
      for (const { handle } of results)
        expect((await recall(reader, handle)).text).toContain(`line of result ${turn - 1}\n`);
    await reader.close();
  });

  it('is recorded by a session that was written without a store, as far as its memory goes', async () => {
    const directory = freshFolder();
    const first = await openChat({ directory, id: 'chat' });
    await first.add(user('the task'), ...turns(2));
    await first.close();
    const store = createMemoryStore();
    await (await openChat({ directory, id: 'chat', store, policy: never() })).close();
    expect(states(await turnsOf(store))).toEqual([
      [0, false],
      [1, false],
      [2, false],
    ]);
  });

  it('holds the cut text and the handle of the whole, where a result was cut when it arrived', async () => {
    const store = createMemoryStore();
    const whole = 'a line that is long enough\n'.repeat(400);
    const options = { directory: freshFolder(), id: 'chat', store, maxToolResultTokens: 200 };
    const session = await openChat({ ...options, policy: slidingWindow({ turns: 1 }) });
    await session.add(user('the task'), call('big'), result('big', whole));
    await session.render();
    const [, cut] = await turnsOf(store);
    expect(cut).toMatchObject({ masked: true, observation: expect.stringContaining('[truncated: kept') });
    expect((await store.get(cut?.results?.[0]?.handle ?? ''))?.text).toBe(whole);
    await session.add(...turns(2));
    await session.render();
    const [, masked] = await turnsOf(store);
    expect(masked?.observation).toMatch(/^\[read_file .* masked · p_/);
    expect((await store.get(masked?.results?.[0]?.handle ?? ''))?.text).toBe(whole);
    await session.close();
  });

  it('has the turns before and after a restart and a reset, each under a number of its own', async () => {
    const [directory, path] = [freshFolder(), freshFolder()];
    const store = await openStore({ path });
    const options = { directory, id: 'chat', store, policy: never(), carryoverTurns: 1 };
    const session = await openChat(options);
    await session.add(user('the task'), ...turns(3));
    await session.restart();
    await session.add(user('go on'), reply('done'));
    await session.compact();
    await session.close();
    const again = await openChat(options);
    await again.reset();
    await again.add(user('another task'), reply('at once'));
    await again.close();
    const records = await turnsOf(store);
    expect(records.map(({ turn, reasoning, action, user: said }) => [turn, reasoning || action, said])).toEqual([
      [0, '', 'the task'],
      [1, 'read_file {"path":"src/c0.ts"}', undefined],
      [2, 'read_file {"path":"src/c1.ts"}', undefined],
      [3, 'read_file {"path":"src/c2.ts"}', undefined],
      // The next session begins with what was carried over.
      [4, '', 'the task'],
      [5, 'read_file {"path":"src/c2.ts"}', 'go on'],
      [6, 'done', undefined],
      [7, '', 'another task'],
      [8, 'at once', undefined],
    ]);
    await store.close();
  });

  it('names only handles that can be recalled, also where a restart or a reset comes before any request', async () => {
    const store = createMemoryStore();
    const policy = slidingWindow({ turns: 2 });
    const session = await openChat({ directory: freshFolder(), id: 'chat', store, policy, carryoverTurns: 1 });
    await session.add(user('the task'), ...turns(5));
    await session.restart();
    const handles = async () =>
      (await turnsOf(store)).flatMap(({ results = [] }) => results.map(({ handle }) => handle));
    const before = await handles();
    expect(before.length).toBe(3);
    await session.add(...turns(5, { from: 5 }));
    await session.reset();
    const all = await handles();
    expect(all.length).toBeGreaterThan(before.length);
    expect((await store.getMany(all)).every((stored) => stored !== undefined)).toBe(true);
    await session.close();
  });

  it.each<[string, Omit<RecallInput, 'handle'>, string]>([
    ['that an agent put words around', { all: true }, 'Output:\n'],
    ['of which a part was asked for', { lines: [2, 15] }, ''],
    ['of which an agent cut a part', { grep: 'line', context: 1 }, 'Wall time: 0.1\n'],
  ])('names the handle of a recalled text %s', async (_what, part, before) => {
    const store = createMemoryStore();
    const policy = slidingWindow({ turns: 2 });
    const session = await openChat({ directory: freshFolder(), id: 'chat', store, policy });
    await session.add(user('the task'), ...turns(3));
    await session.render();
    const [, first] = await turnsOf(store);
    const handle = first?.results?.[0]?.handle ?? '';
    const asked = { handle, ...part };
    const answer = `${before}${await recallTool(store).execute(asked)}`;
    await session.add(call('recalled', 'recall', asked), result('recalled', answer, 'recall'));
    for (const from of [4, 5, 6]) {
      await session.add(...turns(1, { from }));
      await session.render();
    }
    const records = await turnsOf(store);
    expect(records[4]?.results?.[0]?.handle).toBe(handle);
    await session.close();
  });

  it('has turns that left memory before any request', async () => {
    const store = createMemoryStore();
    const options = { directory: freshFolder(), id: 'chat', store, policy: never(), snapshotEvery: 100_000 };
    const session = await openChat({ ...options, maxInputTokens: 1000 });
    await session.add(user('the task'), ...turns(200, { lines: 1 }));
    expect(session.messages().length).toBeLessThan(150);
    await session.close();
    const records = await turnsOf(store);
    expect(records.map(({ turn, observation }) => [turn, observation])).toEqual(
      Array.from({ length: 201 }, (_, turn) => [turn, turn === 0 ? '' : `line of result ${turn - 1}\n`]),
    );
  });

  it('takes in forced masks', async () => {
    const store = createMemoryStore();
    const policy = oldestBatch({ count: 50, window: 1 });
    const session = await openChat({ directory: freshFolder(), id: 'chat', store, policy });
    await session.add(user('the task'), ...turns(4));
    expect((await session.mask(2)).masked).toBe(2);
    await session.render();
    const masked = (await turnsOf(store)).filter((record) => record.masked);
    expect(masked.map(({ turn }) => turn)).toEqual([1, 2]);
    await session.close();
  });

  it.each(formatNames)('is recorded in the format %s', async (format) => {
    const store = createMemoryStore();
    const session = await openSession<object>({
      directory: freshFolder(),
      id: 'chat',
      store,
      format,
      policy: slidingWindow({ turns: 1 }),
    });
    await session.add(...flat(write(STORY, format)));
    await session.render();
    const records = await turnsOf(store);
    expect(states(records)).toEqual([
      [0, false],
      [1, true],
      [2, false],
    ]);
    expect((await store.get(records[1]?.results?.[0]?.handle ?? ''))?.text).toContain('result of grep');
    expect(records[2]?.observation).toContain('result of bash');
    await session.close();
  });

  it('is turned off in code and in the configuration', async () => {
    const store = createMemoryStore();
    const options = sessionOptionsOf({ store: { record_turns: false } });
    expect(options).toEqual({ recordTurns: false });
    const session = await openChat({ directory: freshFolder(), id: 'chat', store, ...options });
    await session.add(user('the task'), ...turns(3));
    await session.render();
    await session.close();
    expect((await store.stats()).turns).toBe(0);
    await expect(openChat({ directory: freshFolder(), id: 'chat', recordTurns: 'no' as never })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });

  it('costs the session nothing where the store fails: onProblem is told, and the next request records it', async () => {
    const store = createMemoryStore();
    const problems: string[] = [];
    let fails = true;
    const failing = changedStore(store, {
      putTurns: (records) => (fails ? Promise.reject(new Error('store is down')) : store.putTurns(records)),
    });
    const onProblem = (problem: Error): void => void problems.push(problem.message);
    const session = await openChat({
      directory: freshFolder(),
      id: 'chat',
      store: failing,
      policy: never(),
      onProblem,
    });
    await session.add(user('the task'), ...turns(2));
    expect((await session.render()).messages.length).toBe(5);
    expect(problems).toEqual(['store is down']);
    fails = false;
    await session.render();
    expect((await turnsOf(store)).length).toBe(3);
    await session.close();
  });
});

const calls = (...tools: string[]) =>
  tools.map((tool) => ({
    tool,
    args: { path: 'a.ts' },
    text: `result of ${tool}\n${'some line\n'.repeat(100)}`,
    isError: false,
    shape: 'string' as const,
  }));

const STORY: Story = {
  system: undefined,
  task: 'find the bug',
  greets: false,
  turns: [
    { says: 'looking', thinks: 'no', calls: calls('grep', 'read_file'), user: undefined, steersEarly: false },
    { says: 'running', thinks: 'no', calls: calls('bash'), user: undefined, steersEarly: false },
  ],
};
