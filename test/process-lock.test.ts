import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { underLock } from './support/process-lock.ts';

function freshLock(): string {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'lock');
}

it('the lock of a process that still runs holds, however old it is', async () => {
  const lock = freshLock();
  const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  onTestFinished(() => void holder.kill());
  writeFileSync(lock, `${holder.pid}`);
  utimesSync(lock, new Date(0), new Date(0));
  let isDone = false;
  const working = underLock(lock, () => {
    isDone = true;
  });
  await sleep(200);
  expect([isDone, existsSync(lock)]).toEqual([false, true]);
  rmSync(lock);
  await working;
  expect([isDone, existsSync(lock)]).toEqual([true, false]);
});

it('the lock of a process that was killed does not hold', async () => {
  const lock = freshLock();
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  writeFileSync(lock, `${pid}`);
  expect(await underLock(lock, () => 'done')).toBe('done');
});

it('work that fails gives the lock back', async () => {
  const lock = freshLock();
  const fails = underLock(lock, () => {
    throw new Error('no');
  });
  await expect(fails).rejects.toThrow('no');
  expect(existsSync(lock)).toBe(false);
});
