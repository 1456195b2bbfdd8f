import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openChat, reply, temporaryFolders, user } from '../../../test/support/manager/sessions.ts';
import { anthropic } from '../../formats/anthropic.ts';

const freshFolder = temporaryFolders();

describe('a session', () => {
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
});

describe('openSession', () => {
  it.each([
    [{ directory: 1 }, /directory/],
    [{ directory: '' }, /directory/],
    [{ id: '../up' }, /option id .*session id/],
    [{ id: '' }, /option id .*session id/],
    [{ id: undefined }, /openSession option id to be a session id of .* but found undefined$/],
    [{ id: 5 }, /openSession option id to be a session id of .* but found 5$/],
    [{ id: 'x'.repeat(5000) }, /^.{0,1100}$/],
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
