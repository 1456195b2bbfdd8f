import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { send, type WorkerChannel } from './cluster-owner.ts';

// Only /proc shows whether a process is gone that was not waited for yet.
it.skipIf(process.platform !== 'linux')(
  'sends to a worker that has just gone, without an error of this process',
  async () => {
    const child = fork('-', { execArgv: ['--eval', 'process.on("message", () => {}); process.send("ready")'] });
    const errors: Error[] = [];
    child.on('error', (error) => errors.push(error));
    await once(child, 'message');
    child.kill('SIGKILL');
    // No event is heard while this one waits.
    const isThere = (): boolean => !/^State:\s+Z/m.test(statusOf(child.pid as number));
    while (isThere());
    expect(child.connected).toBe(true);
    const channel = { isConnected: () => child.connected, send: child.send.bind(child) } as unknown as WorkerChannel;
    send(channel, { type: 'palimpsest-stop' });
    await once(child, 'exit');
    expect(errors).toEqual([]);
  },
);

const statusOf = (pid: number): string => spawnSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' }).stdout;
