import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openChat, temporaryFolders, user } from '../../../test/support/manager/sessions.ts';
import { deleteSession } from './delete-session.ts';
import { listSessions } from './list-sessions.ts';
import { toLine } from './log/event-line.ts';
import { readSessionEvents } from './read-session-events.ts';
import { sweepSessions } from './sweep-sessions.ts';

const freshFolder = temporaryFolders();
const DAY = 86_400_000;

async function directoryWith(...ids: string[]): Promise<string> {
  const directory = freshFolder();
  for (const [i, id] of ids.entries()) {
    const session = await openChat({ directory, id, now: () => i * DAY });
    await session.add(user(`in ${id}`));
    await session.close();
  }
  return directory;
}

describe('listSessions', () => {
  it('answers every session by its id, and nothing else', async () => {
    const directory = await directoryWith('b', 'a');
    mkdirSync(join(directory, 'empty'));
    writeFileSync(join(directory, 'file'), '');
    expect(listSessions(directory)).toEqual([
      { id: 'a', format: 'chat', status: 'active', number: 1, events: 2, lastActive: '1970-01-02T00:00:00.000Z' },
      { id: 'b', format: 'chat', status: 'active', number: 1, events: 2, lastActive: '1970-01-01T00:00:00.000Z' },
    ]);
  });

  it('leaves out what has no name of a session, or a link for a log', async () => {
    const directory = await directoryWith('a');
    const log = join(directory, 'a/events.jsonl');
    mkdirSync(join(directory, 'a.copy'));
    writeFileSync(join(directory, 'a.copy/events.jsonl'), readFileSync(log));
    mkdirSync(join(directory, 'linked'));
    symlinkSync(log, join(directory, 'linked/events.jsonl'));
    expect(listSessions(directory).map(({ id }) => id)).toEqual(['a']);
  });

  it('answers nothing for a directory that is not there', () => {
    expect(listSessions(freshFolder())).toEqual([]);
  });

  it('says of a file that it is no directory', () => {
    const directory = freshFolder();
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'deeper')])
      expect(() => listSessions(path)).toThrow(
        expect.objectContaining({ code: 'STORE_FAILED', message: expect.stringContaining('ENOTDIR') }),
      );
  });

  it('knows what came after the snapshot, also of a session that is open', async () => {
    const directory = await directoryWith('a');
    const session = await openChat({ directory, id: 'a' });
    await session.restart();
    await session.log({ type: 'status_change', from: 'active', to: 'paused' });
    expect(listSessions(directory)).toMatchObject([{ id: 'a', status: 'paused', number: 2, events: 4 }]);
    await session.compact();
    writeFileSync(join(directory, 'a/state.yaml'), 'damaged');
    expect(listSessions(directory)).toMatchObject([{ id: 'a', status: 'paused', number: 2, events: 5 }]);
    await session.close();
  });
});

describe('deleteSession', () => {
  it('removes a session, and answers whether there was one', async () => {
    const directory = await directoryWith('a', 'b');
    expect(await deleteSession({ directory, id: 'a' })).toBe(true);
    expect(existsSync(join(directory, 'a'))).toBe(false);
    expect(await deleteSession({ directory, id: 'a' })).toBe(false);
    expect(listSessions(directory).map(({ id }) => id)).toEqual(['b']);
  });

  it('that was killed leaves nothing that is a session, and ends its work when it is called again', async () => {
    const directory = await directoryWith('a', 'b');
    renameSync(join(directory, 'a'), join(directory, 'a.deleted'));
    expect(listSessions(directory).map(({ id }) => id)).toEqual(['b']);
    expect(await deleteSession({ directory, id: 'a' })).toBe(true);
    expect(readdirSync(directory)).toEqual(['b']);
    // And where there is a new one by that name.
    renameSync(join(directory, 'b'), join(directory, 'b.deleted'));
    await (await openChat({ directory, id: 'b' })).close();
    expect(await deleteSession({ directory, id: 'b' })).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('removes none that is open, and nothing outside of its directory', async () => {
    const directory = await directoryWith('a');
    const session = await openChat({ directory, id: 'a' });
    await expect(deleteSession({ directory, id: 'a' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    await session.close();
    await expect(deleteSession({ directory: join(directory, 'a'), id: '..' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
    expect(existsSync(join(directory, 'a/events.jsonl'))).toBe(true);
  });
});

describe('an empty text for a directory', () => {
  it('is refused by all, and not taken for the folder in which the process runs', async () => {
    const refused = expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('directory') });
    expect(() => listSessions('')).toThrow(refused);
    expect(() => readSessionEvents({ directory: '', id: 'a' })).toThrow(refused);
    await expect(deleteSession({ directory: '', id: 'a' })).rejects.toEqual(refused);
    await expect(sweepSessions({ directory: '' })).rejects.toEqual(refused);
  });
});

describe('wrong options', () => {
  const naming = (words: string): object =>
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(words) });
  const place = { directory: 'nowhere', id: 'a' };

  it.each([undefined, null, 5])('%j in place of options is refused by all', async (options) => {
    expect(() => readSessionEvents(options as never)).toThrow(naming('the options of readSessionEvents'));
    await expect(deleteSession(options as never)).rejects.toEqual(naming('the options of deleteSession'));
    expect(() => listSessions(options as never)).toThrow(naming('directory'));
    await expect(sweepSessions(options as never)).rejects.toEqual(naming('the options of sweepSessions'));
  });

  it('an id that is missing is named by all', async () => {
    const { id: _none, ...missing } = place;
    expect(() => readSessionEvents(missing as never)).toThrow(naming('readSessionEvents option id'));
    await expect(deleteSession(missing as never)).rejects.toEqual(naming('deleteSession option id'));
  });

  it('an option that does not exist is refused by all', async () => {
    const unknown = { ...place, force: true };
    expect(() => readSessionEvents(unknown)).toThrow(naming('found force'));
    await expect(deleteSession(unknown)).rejects.toEqual(naming('found force'));
    await expect(listSessions({ directory: 'nowhere', force: true } as never)).rejects.toEqual(naming('found force'));
  });

  it.each<[object, string]>([
    [{ types: 5 }, 'option types'],
    [{ types: 'message' }, 'option types'],
    [{ afterSeq: '3' }, 'option afterSeq'],
    [{ after: 3 }, 'found after'],
  ])('%j is not a choice of events', async (options, words) => {
    expect(() => readSessionEvents(place, options)).toThrow(naming(words));
    const session = await openChat({ directory: freshFolder(), id: 'a' });
    await expect(session.events(options)[Symbol.asyncIterator]().next()).rejects.toEqual(naming(words));
    await session.close();
  });
});

describe('sweepSessions', () => {
  const now = (): number => 8 * DAY;

  it('ends what is older than 168 hours, and leaves it on disk', async () => {
    const directory = await directoryWith('old', 'young');
    expect(await sweepSessions({ directory, now })).toEqual({ expired: ['old'], removed: [], open: [], failed: [] });
    expect(listSessions(directory)).toMatchObject([
      { id: 'old', status: 'completed' },
      { id: 'young', status: 'active' },
    ]);
    expect(readFileSync(join(directory, 'old/events.jsonl'), 'utf8')).toContain('"reason":"expired"');
    expect((await sweepSessions({ directory, now })).expired).toEqual([]);
  });

  it('goes on where one of them cannot be swept, and says which and why', async () => {
    const directory = await directoryWith('c', 'a');
    mkdirSync(join(directory, 'b'));
    const start = '{"seq":1,"time":"1970-01-01T00:00:00.000Z","type":"session_start","id":"b","format":"mine"}';
    writeFileSync(join(directory, 'b/events.jsonl'), toLine(start));
    const swept = await sweepSessions({ directory, now: () => 30 * DAY });
    expect(swept).toMatchObject({ expired: ['a', 'c'], failed: [{ id: 'b', error: { code: 'BAD_OPTION' } }] });
    expect((await sweepSessions({ directory, now: () => 60 * DAY, remove: true })).removed).toEqual(['a', 'b', 'c']);
  });

  it('ends a session whose clock once was years ahead, by when its log was last written', async () => {
    const directory = freshFolder();
    for (const id of ['old', 'young']) {
      let at = Date.UTC(2090, 0, 1);
      const session = await openChat({ directory, id, now: () => at });
      at = Date.UTC(2026, 0, 1);
      await session.add(user(`in ${id}`));
      await session.close();
    }
    const today = Date.UTC(2026, 0, 9);
    for (const [id, days] of [
      ['old', 8],
      ['young', 6],
    ] as const) {
      const written = new Date(today - days * DAY);
      utimesSync(join(directory, id, 'events.jsonl'), written, written);
    }
    expect((await sweepSessions({ directory, now: () => today })).expired).toEqual(['old']);
    expect((await sweepSessions({ directory, now: () => today + 2 * DAY })).expired).toEqual(['young']);
  });

  it('ends one whose log and file both are from the future, as long after the first sweep that saw it', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'a', now: () => Date.UTC(2090, 0, 1) });
    await session.close();
    const later = new Date(Date.UTC(2090, 0, 1));
    utimesSync(join(directory, 'a/events.jsonl'), later, later);
    const today = Date.UTC(2026, 0, 9);
    expect((await sweepSessions({ directory, now: () => today })).expired).toEqual([]);
    expect((await sweepSessions({ directory, now: () => today + 6 * DAY })).expired).toEqual([]);
    expect((await sweepSessions({ directory, now: () => today + 8 * DAY })).expired).toEqual(['a']);
  });

  it('refuses hours that are none', async () => {
    await expect(sweepSessions({ directory: freshFolder(), ttlHours: -1 })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });
});
