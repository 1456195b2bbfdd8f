import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RecordingDisk } from '../../test/store/support/recording-disk.ts';
import { anthropic } from '../formats/anthropic.ts';
import { chat } from '../formats/chat.ts';
import { never } from '../plan/policies/never.ts';
import { slidingWindow } from '../plan/policies/sliding-window.ts';
import { handleOf } from '../store/handle.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { call, eventsOf, openChat, reply, result, temporaryFolders, turns, user } from './session/session.test-data.ts';

const freshFolder = temporaryFolders();

describe('a session', () => {
  it('has its messages again when it is opened again', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat' });
    expect(session.recovery.from).toBe('nothing');
    await session.add(user('the task'), reply('on it'));
    await session.add(user('and this'));
    await session.close();
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual([user('the task'), reply('on it'), user('and this')]);
    expect(again.view()).toEqual(again.messages());
    expect(again.recovery).toMatchObject({ from: 'snapshot', events: 0, tornBytes: 0, damagedLines: 0, missing: [] });
    await again.close();
  });

  it('numbers its events from 1, the first being session_start, with a checksum, a type and a time on every line', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat', now: () => Date.UTC(2026, 0, 2) });
    await session.add(user('the task'), reply('on it'));
    const lines = readFileSync(join(directory, 'chat/events.jsonl'), 'utf8').trimEnd().split('\n');
    const crc32 = expect.stringMatching(/^[0-9a-f]{8}$/);
    const arrival = { clean: true, references: true, shell_output: false, truncate: 8000, truncation: 'head' };
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { crc32, seq: 1, time: '2026-01-02T00:00:00.000Z', type: 'session_start', id: 'chat', format: 'chat', arrival },
      { crc32, seq: 2, time: '2026-01-02T00:00:00.000Z', type: 'message', message: user('the task') },
      { crc32, seq: 3, time: '2026-01-02T00:00:00.000Z', batch: 2, type: 'message', message: reply('on it') },
    ]);
    await session.close();
  });

  it('writes state.yaml after 50 events, with the last of them and where its line ends', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat' });
    for (let i = 0; i < 48; i++) await session.add(user(`message ${i}`));
    expect(existsSync(join(directory, 'chat/state.yaml'))).toBe(false);
    await session.add(user('message 48'));
    await session.log({ type: 'error', message: 'so that the snapshot is written' });
    const state = parse(readFileSync(join(directory, 'chat/state.yaml'), 'utf8'));
    expect(state).toMatchObject({ version: 1, id: 'chat', format: 'chat', seq: 50, status: 'active', number: 1 });
    const log = readFileSync(join(directory, 'chat/events.jsonl'), 'utf8');
    expect(log.slice(0, state.offset).trimEnd().split('\n')).toHaveLength(50);
    expect(state.messages.trimEnd().split('\n')).toHaveLength(49);
    await session.close();
  });

  it('shows results cut and masked, and has them whole in its messages and its log', async () => {
    const directory = freshFolder();
    const session = await openChat({
      directory,
      id: 'chat',
      policy: slidingWindow({ turns: 2 }),
      maxToolResultTokens: 500,
    });
    const large = 'a line of a large result\n'.repeat(2000);
    await session.add(user('the task'), ...turns(4), call('big'), result('big', large));
    expect(session.messages().at(-1)).toEqual(result('big', large));
    expect(session.view().at(-1)?.content).toMatch(/\[truncated: kept first ~500 of ~\d+ tokens \(head\)\]$/);
    expect(session.view()[2]?.content).toMatch(/^\[Observation omitted for brevity\]$/);
    expect(chat.check(session.view())).toEqual([]);
    const logged = (await eventsOf(session)).filter((event) => event.type === 'message').map(({ message }) => message);
    expect(logged).toEqual(session.messages());
    await session.close();
  });

  it('keeps what it shows when it is opened again', async () => {
    const directory = freshFolder();
    const options = { directory, id: 'chat', policy: slidingWindow({ turns: 2 }), maxToolResultTokens: 100 };
    const session = await openChat(options);
    await session.add(user('the task'), ...turns(7));
    const shown = session.view();
    await session.close();
    const again = await openChat(options);
    expect(again.recovery.from).toBe('snapshot');
    expect(again.view()).toEqual(shown);
    await again.close();
  });
});

describe('render', () => {
  it('stores what it hides before it resolves, and shows the handle', async () => {
    const store = createMemoryStore();
    const session = await openChat({
      directory: freshFolder(),
      id: 'chat',
      store,
      policy: slidingWindow({ turns: 1 }),
      maxToolResultTokens: 200,
    });
    const large = 'a line of a large result\n'.repeat(2000);
    await session.add(user('the task'), call('big'), result('big', large), ...turns(3, { lines: 20 }));
    const { messages } = await session.render({ window: 100_000 });
    const shown = JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? [];
    expect(shown.length).toBe(3);
    for (const handle of shown) expect(await store.get(handle)).toMatchObject({ refs: [{ session: 'chat' }] });
    expect((await store.get(handleOf(large)))?.text).toBe(large);
    await session.close();
  });

  it('finds in the store what a snapshot says is hidden, though nobody rendered before the crash', async () => {
    const store = createMemoryStore();
    const disk = new RecordingDisk();
    const options = { directory: '/s', id: 'chat', store, policy: slidingWindow({ turns: 1 }), snapshotEvery: 2 };
    const session = await openChat({ ...options, disk });
    await session.add(user('the task'), ...turns(4));
    await session.log({ type: 'error', message: 'so that the snapshot is written' });
    const again = await openChat({ ...options, disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.recovery.from).toBe('snapshot');
    const { messages } = await again.render({ window: 100_000 });
    const shown = JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? [];
    expect(shown).toHaveLength(3);
    for (const handle of shown) expect(await store.get(handle)).toBeDefined();
  });

  it('finds in a store that is given later what was cut before there was one', async () => {
    const options = { directory: freshFolder(), id: 'chat', policy: never() };
    const before = await openChat(options);
    await before.add(user('the task'), call('a'), result('a', 'a line of it\n'.repeat(10_000)));
    await before.close();
    const store = createMemoryStore();
    const session = await openChat({ ...options, store });
    const { messages } = await session.render({ window: 100_000 });
    const [handle = ''] = JSON.stringify(messages).match(/p_[a-z2-7]{26}/) ?? [];
    expect(await store.get(handle)).toMatchObject({ text: 'a line of it\n'.repeat(10_000) });
    await session.close();
  });

  it('holds its cut still, also after the session was opened again', async () => {
    const directory = freshFolder();
    const options = { directory, id: 'chat', policy: never() };
    const budget = { window: 8000, maxOutputTokens: 500, maxHistoryTokens: 3000 };
    const session = await openChat(options);
    await session.add(user('the task'));
    for (const message of turns(30)) await session.add(message);
    const first = await session.render(budget);
    expect(first.omitted).toBeGreaterThan(0);
    // It still fits, though it is above what a new cut would go down to.
    await session.add(...turns(2, { from: 30 }));
    const second = await session.render(budget);
    expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
    await session.close();
    const again = await openChat(options);
    expect((await again.render(budget)).messages).toEqual(second.messages);
    await again.close();
  });

  it('fails where the store does, and sends nothing with a handle that is not there', async () => {
    const store = { ...createMemoryStore(), putMany: () => Promise.reject(new Error('the store is down')) };
    const session = await openChat({
      directory: freshFolder(),
      id: 'chat',
      store,
      policy: slidingWindow({ turns: 1 }),
      onProblem: () => {},
    });
    await session.add(user('the task'), ...turns(3));
    await expect(session.render()).rejects.toThrow('the store is down');
    await session.close();
  });
});

describe('memory', () => {
  it('holds at most the limit of messages, whole turns and the task, and says what it left out', async () => {
    const directory = freshFolder();
    const store = createMemoryStore();
    const session = await openChat({ directory, id: 'chat', maxInputTokens: 1000, store, policy: never() });
    await session.add({ role: 'system', content: 'you are' }, user('the task'));
    for (let i = 0; i < 150; i++) await session.add(...turns(1, { from: i, lines: 3 }));
    expect(session.messages().length).toBeLessThanOrEqual(100);
    expect(session.messages()[1]).toEqual(user('the task'));
    expect(session.messages().at(-1)).toEqual(turns(150, { lines: 3 }).at(-1));
    expect(chat.check(session.messages())).toEqual([]);
    const { messages } = await session.render({ window: 100_000, maxHistoryTokens: 0 });
    expect(chat.check(messages)).toEqual([]);
    const notice = messages.find(({ content }) => content.startsWith('[conversation truncated'))?.content ?? '';
    expect(notice).toMatch(/^\[conversation truncated — \d+ older messages omitted · p_[a-z2-7]{26}\]$/);
    expect(Number(/\d+/.exec(notice)?.[0]) + session.messages().length).toBe(302);
    const [handle = ''] = /p_[a-z2-7]{26}/.exec(notice) ?? [];
    expect(await store.get(handle)).toBeDefined();
    const logged = (await eventsOf(session)).filter(({ type }) => type === 'message');
    expect(logged).toHaveLength(302);
    await session.close();
    const again = await openChat({ directory, id: 'chat', maxInputTokens: 1000, store, policy: never() });
    expect(again.messages()).toEqual(session.messages());
    expect(again.view()).toEqual(session.view());
    await again.close();
  });

  it('is bounded also where nobody ever replies', async () => {
    const session = await openChat({ directory: freshFolder(), id: 'chat', maxInputTokens: 1000 });
    for (let i = 0; i < 250; i++) await session.add(user(`message ${i}`));
    expect(session.messages().length).toBeLessThanOrEqual(100);
    expect(session.messages()[0]).toEqual(user('message 0'));
    expect(session.messages().at(-1)).toEqual(user('message 249'));
    await session.close();
  });
});

describe('openSession', () => {
  it.each([
    [{ directory: 1 }, /directory/],
    [{ directory: '' }, /directory/],
    [{ id: '../up' }, /session id/],
    [{ id: '' }, /session id/],
    [{ softThreshold: 0.9, hardThreshold: 0.5 }, /softThreshold/],
    [{ snapshotEvery: 0 }, /snapshotEvery/],
    [{ compaction: 'sometimes' }, /compaction/],
    [{ snapshotevery: 5 }, /did you mean snapshotEvery/],
    [{ format: 'chatt' }, /option format .* chat, .*'chatt'/],
    [{ format: { ...anthropic, name: 'mine' } }, /option format .* anthropic, .*'mine'/],
    [{ format: {} }, /option format .*a format or its name/],
    [{ dialect: 'anthropic' }, /dialect/],
    [{ maxToolResultTokens: 0 }, /maxToolResultTokens/],
  ])('refuses %j', async (wrong, text) => {
    const options = { directory: freshFolder(), id: 'chat', ...wrong } as never;
    await expect(openChat(options)).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(text) });
  });

  it('refuses another format than the one the session began with', async () => {
    const directory = freshFolder();
    await (await openChat({ directory, id: 'chat' })).close();
    await expect(openChat({ directory, id: 'chat', format: 'anthropic' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
    await (await openChat({ directory, id: 'chat' })).close();
  });

  it('says what is wrong with a directory that cannot be one', async () => {
    const directory = freshFolder();
    await (await openChat({ directory, id: 'chat' })).close();
    const file = join(directory, 'chat/events.jsonl');
    for (const wrong of [file, `${directory}\0`])
      await expect(openChat({ directory: wrong, id: 'chat' })).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });

  it('makes files for their owner only, and follows no link', async () => {
    const directory = freshFolder();
    await (await openChat({ directory, id: 'chat' })).close();
    expect(statSync(join(directory, 'chat')).mode & 0o777).toBe(0o700);
    for (const name of ['events.jsonl', 'state.yaml'])
      expect(statSync(join(directory, 'chat', name)).mode & 0o777).toBe(0o600);
    mkdirSync(join(directory, 'elsewhere'));
    symlinkSync(join(directory, 'elsewhere'), join(directory, 'link'));
    await expect(openChat({ directory, id: 'link' })).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
  });
});
