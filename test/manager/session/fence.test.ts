import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventsOf, openChat, temporaryFolders } from '../../support/manager/sessions.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { WriterProcess } from '../../support/writer-process.ts';

const freshFolder = temporaryFolders();
beforeAll(ensureBuilt, 120_000);

const writers: Writer[] = [];
afterEach(() => {
  for (const writer of writers.splice(0)) writer.signal('SIGKILL');
});

/** A process that adds messages to a session until it is ended. */
class Writer extends WriterProcess {
  constructor(directory: string, name: string, { stop = '', mood = '' } = {}) {
    super('test/support/manager/session-writer.js', [directory, name, stop, mood]);
    writers.push(this);
  }

  override async stops(): Promise<void> {
    await super.stops();
    expect(this.end).toBeUndefined();
  }
}

const lockOf = (directory: string): string => join(directory, 'chat/lock');

function removeAllLocks(directory: string): void {
  const folder = join(directory, 'chat');
  for (const name of readdirSync(folder)) if (name.startsWith('lock')) rmSync(join(folder, name), { force: true });
}

/** As the lock of a process in another container looks to one whose clock is ahead. */
function makeForeign(directory: string): void {
  const lock = lockOf(directory);
  writeFileSync(lock, JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), boot: 'elsewhere', host: 'other' }));
  utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
}

const LOSSES: [string, (directory: string) => void][] = [
  ['was removed by hand', (directory) => rmSync(lockOf(directory))],
  ['was removed by hand with all that is named like it', removeAllLocks],
  ['was taken for silent by a clock that is ahead', makeForeign],
];

/** Ends both, and looks for what they acknowledged. */
async function check(
  directory: string,
  [first, second]: readonly [Writer, Writer],
  error = /STORE_LOCKED/,
): Promise<void> {
  // At the latest with the heartbeat on which a lost lock was noticed once.
  await Promise.race([first.ended(), sleep(10_000)]);
  for (const one of [first, second]) one.signal('SIGKILL');
  await Promise.all([first.ended(), second.ended()]);
  const problems: Error[] = [];
  const session = await openChat({ directory, id: 'chat', onProblem: (problem) => problems.push(problem) });
  const found = (await eventsOf(session)).flatMap((event) => (event.type === 'message' ? [event.message.content] : []));
  await session.close();
  const acknowledged = [...first.acknowledged, ...second.acknowledged];
  expect(acknowledged.filter((text) => !found.includes(text))).toEqual([]);
  expect(found).toHaveLength(new Set(found).size);
  expect(problems).toEqual([]);
  expect(first.end).toMatch(error);
}

describe.each(LOSSES)('a session whose lock %s while a process writes', (_, lose) => {
  it('has all that this process and the next one acknowledged', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 4; round++) {
      const directory = freshFolder();
      const first = new Writer(directory, 'first');
      await first.writes(5 + 23 * round);
      lose(directory);
      const second = new Writer(directory, 'second');
      await second.writes(90);
      await check(directory, [first, second]);
    }
  });

  it('also if the process was stopped in between, and goes on later', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 6; round++) {
      const directory = freshFolder();
      const first = new Writer(directory, 'first');
      await first.writes(40);
      await sleep(Math.random() * 20);
      first.signal('SIGSTOP');
      lose(directory);
      const second = new Writer(directory, 'second');
      await second.writes(45);
      first.signal('SIGCONT');
      await second.writes(90);
      await check(directory, [first, second]);
    }
  });
});

describe('a process that was stopped between its look at the lock and what it does', () => {
  it.each([
    ['write events.jsonl', 'calm'],
    ['fail events.jsonl', 'calm'],
    ['rename events.jsonl', 'calm'],
    ['rename state.yaml', 'calm'],
    ['open events.archive.jsonl', 'restless'],
    ['write events.archive.jsonl', 'restless'],
    ['fail events.archive.jsonl', 'restless'],
    ['write events.synced', 'calm'],
  ])('%s: costs the next process nothing', { timeout: 40_000 }, async (stop, mood) => {
    const directory = freshFolder();
    const first = new Writer(directory, 'first', { stop });
    await first.stops();
    rmSync(lockOf(directory));
    const second = new Writer(directory, 'second', { mood });
    await second.writes(60);
    first.signal('SIGCONT');
    await first.ended();
    await second.writes(75);
    // A full disk is what the process is told of first.
    await check(
      directory,
      [first, second],
      stop.startsWith('fail') ? /STORE_LOCKED|STORE_FAILED|ENOSPC/ : /STORE_LOCKED/,
    );
  });

  it('open a log that it was about to recover: costs the next process nothing', { timeout: 40_000 }, async () => {
    const directory = freshFolder();
    const before = new Writer(directory, 'before');
    await before.writes(20);
    before.signal('SIGKILL');
    await before.ended();
    const first = new Writer(directory, 'first', { stop: 'open events.jsonl at-open' });
    await first.stops();
    rmSync(lockOf(directory));
    const second = new Writer(directory, 'second', { mood: 'calm' });
    await second.writes(60);
    first.signal('SIGCONT');
    await first.ended();
    await second.writes(75);
    await check(directory, [first, second]);
  });
});
