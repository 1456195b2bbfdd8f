import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ChatMessage, fitAndStore, never, slidingWindow } from '../../src/index.ts';
import { createMemoryStore, openStore, recall, type Store, type TurnRecord } from '../../src/store/index.ts';
import { history, prose, result, toolTurn, user } from '../support/chat.ts';
import { flat, formatNames, type Story, write } from '../support/histories.ts';
import { collect } from '../support/store/stores.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-trajectory-'));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
const freshPath = (): string => join(root, `store-${folders++}`);

/** A store that tells which turns it is asked to write. */
function counting(store: Store): { store: Store; written: () => number[] } {
  let turns: number[] = [];
  const counted: Pick<Store, 'putMany' | 'putTurns' | 'turns'> = {
    putMany: (items) => store.putMany(items),
    putTurns: (records) => {
      turns.push(...records.map(({ turn }) => turn));
      return store.putTurns(records);
    },
    turns: (session) => store.turns(session),
  };
  const written = (): number[] => {
    const found = turns;
    turns = [];
    return found;
  };
  return { store: counted as Store, written };
}

const turnsOf = (store: Store, session = 'one'): Promise<TurnRecord[]> => collect(store.turns(session));

describe('the trajectory that fitAndStore records', () => {
  it('has recent turns whole, and older ones with a placeholder and the handle of the whole text', async () => {
    const store = await openStore({ path: freshPath() });
    const messages = history(6);
    const { messages: fitted } = await fitAndStore(messages, {
      store,
      session: 'one',
      policy: slidingWindow({ turns: 3 }),
    });
    const records = await turnsOf(store);
    expect(records.map(({ turn, masked }) => [turn, masked])).toEqual([
      [0, false],
      [1, true],
      [2, true],
      [3, true],
      [4, false],
      [5, false],
      [6, false],
    ]);
    expect(records[0]).toEqual({
      session: 'one',
      turn: 0,
      reasoning: '',
      action: '',
      observation: '',
      user: 'Fix the build.',
      masked: false,
    });
    expect(records[6]).toEqual({
      session: 'one',
      turn: 6,
      reasoning: 'step 6',
      action: 'bash {}',
      observation: messages.at(-1)?.content,
      tools: ['bash'],
      masked: false,
    });
    for (const { turn, observation, results } of records.slice(1, 4)) {
      expect(observation).toBe(fitted[1 + 2 * turn]?.content);
      expect(results).toEqual([{ callId: `c${turn}`, tool: 'bash', handle: expect.stringMatching(/^p_/) }]);
      expect((await recall(store, results?.[0]?.handle ?? '')).text).toBe(messages[1 + 2 * turn]?.content);
    }
    await store.close();
  });

  it('costs one record for one more turn, and nothing where nothing is new', async () => {
    const { store, written } = counting(createMemoryStore());
    const fitTurns = (turns: number) => fitAndStore(history(turns), { store, session: 'one', policy: never() });
    await fitTurns(8);
    expect(written()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    await fitTurns(8);
    expect(written()).toEqual([]);
    await fitTurns(9);
    expect(written()).toEqual([9]);
  });

  it('writes again the turn that is masked now, and no other', async () => {
    const { store, written } = counting(createMemoryStore());
    const policy = slidingWindow({ turns: 3 });
    await fitAndStore(history(8), { store, session: 'one', policy });
    written();
    await fitAndStore(history(9), { store, session: 'one', policy });
    expect(written()).toEqual([6, 9]);
  });

  it('goes on where another process left off', async () => {
    const path = freshPath();
    const policy = slidingWindow({ turns: 3 });
    for (const [turns, expected] of [
      [4, [0, 1, 2, 3, 4]],
      [4, []],
      [6, [2, 3, 5, 6]],
    ] as const) {
      const opened = await openStore({ path });
      const { store, written } = counting(opened);
      await fitAndStore(history(turns), { store, session: 'one', policy });
      expect(written()).toEqual(expected);
      await opened.close();
    }
    const reader = await openStore({ path, mode: 'read' });
    expect((await turnsOf(reader)).map(({ turn, masked }) => [turn, masked])).toEqual([
      [0, false],
      [1, true],
      [2, true],
      [3, true],
      [4, false],
      [5, false],
      [6, false],
    ]);
    await reader.close();
  });

  it('waits for the result of a call, and takes in what the user says behind a turn', async () => {
    const { store, written } = counting(createMemoryStore());
    const fitAll = (messages: ChatMessage[]) => fitAndStore(messages, { store, session: 'one', policy: never() });
    const [call, answer] = toolTurn({ id: 'a', tool: 'bash', args: '{"command":"ls"}', output: 'a b' });
    const list = [user('task'), call as ChatMessage];
    await fitAll(list);
    expect(written()).toEqual([0]);
    await fitAll([...list, answer as ChatMessage]);
    expect(written()).toEqual([1]);
    await fitAll([...list, answer as ChatMessage, user('and hurry')]);
    expect(written()).toEqual([1]);
    expect((await turnsOf(store))[1]).toMatchObject({ action: 'bash {"command":"ls"}', user: 'and hurry' });
  });

  it('leaves the record of a turn as it is when a budget drops the turn', async () => {
    const store = createMemoryStore();
    const messages = history(40, 400);
    await fitAndStore(messages, { store, session: 'one', policy: slidingWindow({ turns: 30 }) });
    const before = await turnsOf(store);
    const { plan } = await fitAndStore(messages, { store, session: 'one', policy: never(), maxTokens: 1500 });
    expect(plan.edits.some(({ kind }) => kind === 'drop')).toBe(true);
    const after = await turnsOf(store);
    const dropped = after.filter((record) => record.turn > 0 && record.turn < 10);
    expect(dropped).toEqual(before.filter((record) => record.turn > 0 && record.turn < 10));
  });

  it('keeps its numbers when the caller cuts the head of the list', async () => {
    const { store, written } = counting(createMemoryStore());
    const messages = history(12);
    const policy = never();
    await fitAndStore(messages.slice(0, -4), { store, session: 'one', policy });
    written();
    const cut = [...messages.slice(0, 2), ...messages.slice(10)];
    await fitAndStore(cut, { store, session: 'one', policy });
    expect(written()).toEqual([11, 12]);
    expect((await turnsOf(store)).map(({ turn, reasoning }) => [turn, reasoning])).toEqual(
      Array.from({ length: 13 }, (_, turn) => [turn, turn === 0 ? '' : `step ${turn}`]),
    );
  });

  it('keeps its numbers when the conversation is taken back to its first turn, though turns look alike', async () => {
    const { store, written } = counting(createMemoryStore());
    const alike = Array.from({ length: 4 }, (_, i) => toolTurn({ id: `c${i}`, output: `poll ${i}` }));
    const fitAll = (messages: ChatMessage[]) => fitAndStore(messages, { store, session: 'one', policy: never() });
    await fitAll([user('task'), ...alike.flat()]);
    written();
    await fitAll([user('task'), ...(alike[0] ?? [])]);
    expect(written()).toEqual([]);
    await fitAll([user('task'), ...(alike[0] ?? []), ...toolTurn({ id: 'x', text: 'another way', output: 'done' })]);
    expect(written()).toEqual([2]);
  });

  it('keeps its numbers when the head of a list of turns that look alike is cut', async () => {
    const { store, written } = counting(createMemoryStore());
    const alike = Array.from({ length: 5 }, (_, i) => toolTurn({ id: `c${i}`, output: `poll ${i}` }));
    const fitAll = (messages: ChatMessage[]) => fitAndStore(messages, { store, session: 'one', policy: never() });
    await fitAll([user('task'), ...alike.slice(0, 4).flat()]);
    written();
    await fitAll([user('task'), ...alike.slice(2).flat()]);
    expect(written()).toEqual([5]);
  });

  it('knows a placeholder that was carried forward, with its handle', async () => {
    const { store, written } = counting(createMemoryStore());
    const policy = slidingWindow({ turns: 3 });
    const { messages } = await fitAndStore(history(6), { store, session: 'one', policy });
    written();
    await fitAndStore(messages, { store, session: 'one', policy });
    expect(written()).toEqual([]);
  });

  it('names the tools of parallel calls, and the handle of each result', async () => {
    const store = createMemoryStore();
    const calls = ['a', 'b'].map((id) => ({ id, name: `tool_${id}`, arguments: `{"x":"${id}"}` }));
    const parallel: ChatMessage[] = [
      { role: 'assistant', content: 'both', toolCalls: calls },
      { role: 'tool', toolCallId: 'a', content: prose(900, 'first ') },
      { role: 'tool', toolCallId: 'b', content: prose(900, 'second ') },
    ];
    const messages = [user('task'), ...parallel, ...history(3).slice(2)];
    await fitAndStore(messages, { store, session: 'one', policy: slidingWindow({ turns: 2 }) });
    const [, record] = await turnsOf(store);
    expect(record).toMatchObject({ action: 'tool_a {"x":"a"}\ntool_b {"x":"b"}', tools: ['tool_a', 'tool_b'] });
    const texts = await store.getMany(record?.results?.map(({ handle }) => handle) ?? []);
    expect(texts.map((stored) => stored?.text)).toEqual([parallel[1]?.content, parallel[2]?.content]);
  });

  it.each(formatNames)('is read from messages of the format %s', async (format) => {
    const store = createMemoryStore();
    const messages = flat(write(STORY, format));
    const options = { store, session: 'one', format, policy: slidingWindow({ turns: 1 }) };
    await fitAndStore(messages, options);
    const records = await turnsOf(store);
    expect(records.map(({ turn, masked }) => [turn, masked])).toEqual([
      [0, false],
      [1, true],
      [2, false],
    ]);
    expect(records[0]?.user).toBe('find the bug');
    expect(records[1]).toMatchObject({ reasoning: expect.stringContaining('looking'), tools: ['grep', 'read_file'] });
    expect(records[1]?.action).toMatch(/^grep .*needle.*\nread_file .*a\.ts/);
    const texts = await store.getMany(records[1]?.results?.map(({ handle }) => handle) ?? []);
    expect(texts.map((stored) => stored?.text.includes('result of'))).toEqual([true, true]);
    expect(records[2]?.observation).toContain('result of bash');
    expect(records[2]?.user).toBe('and hurry');
  });

  it('is not recorded where it is turned off, where there is no session, or where the store takes no turns', async () => {
    const store = createMemoryStore();
    await fitAndStore(history(4), { store, session: 'one', recordTurns: false });
    await fitAndStore(history(4), { store });
    await fitAndStore(history(4), { store: { putMany: (items) => store.putMany(items) }, session: 'one' });
    expect((await store.stats()).turns).toBe(0);
  });

  it.each([
    [{ recordTurns: 'yes' }],
    [{ recordTurns: true, session: undefined }],
    [{ recordTurns: true, store: { putMany: async () => [] } }],
  ])('refuses %j', async (options) => {
    const all = { store: createMemoryStore(), session: 'one', ...options };
    await expect(fitAndStore(history(2), all as never)).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  it('fails where the store fails, and writes the turns the next time', async () => {
    const store = createMemoryStore();
    let fails = true;
    const failing: Pick<Store, 'putMany' | 'putTurns' | 'turns'> = {
      putMany: (items) => store.putMany(items),
      putTurns: (records) => (fails ? Promise.reject(new Error('disk full')) : store.putTurns(records)),
      turns: (session) => store.turns(session),
    };
    const fitAll = () => fitAndStore(history(4), { store: failing, session: 'one', policy: never() });
    await expect(fitAll()).rejects.toThrow('disk full');
    fails = false;
    await fitAll();
    expect((await turnsOf(store)).length).toBe(5);
  });

  it('leaves with its session', async () => {
    const store = await openStore({ path: freshPath() });
    for (const session of ['one', 'two']) await fitAndStore(history(5), { store, session });
    await store.delete('one', { purge: true });
    expect(await turnsOf(store)).toEqual([]);
    expect((await turnsOf(store, 'two')).length).toBe(6);
    await store.close();
  });

  it('takes a result that came late into the turn in which it stands', async () => {
    const store = createMemoryStore();
    const messages = [user('task'), ...toolTurn({ id: 'a', output: 'x' }), result('b', 'a result without a call')];
    await fitAndStore(messages, { store, session: 'one', policy: never() });
    expect((await turnsOf(store))[1]?.observation).toBe('x\na result without a call');
  });
});

const call = (tool: string, args: Record<string, unknown>) => ({
  tool,
  args,
  text: `result of ${tool}\n${prose(2000)}`,
  isError: false,
  shape: 'string' as const,
});

const STORY: Story = {
  system: 'be careful',
  task: 'find the bug',
  greets: false,
  turns: [
    {
      says: 'looking',
      thinks: 'no',
      calls: [call('grep', { pattern: 'needle' }), call('read_file', { path: 'a.ts' })],
      user: undefined,
      steersEarly: false,
    },
    { says: 'running', thinks: 'no', calls: [call('bash', { command: 'ls' })], user: 'and hurry', steersEarly: false },
  ],
};
