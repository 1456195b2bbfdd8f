import { constants } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { RecordingDisk } from '../../../../test/support/store/recording-disk.ts';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { DiskStorage } from '../disk/disk-storage.ts';
import { UNSHARED } from '../disk/open-log.ts';
import type { SessionEvent } from '../session-event.ts';
import { EventLog } from './event-log.ts';

const PATH = '/log';
const session = { ...UNSHARED, folder: '/', onProblem: () => {} };
const error = (message: string) => ({ type: 'error', message }) as const;

function openLog({ afterBatch = async () => {} }: { afterBatch?: () => Promise<void> } = {}) {
  const disk = new RecordingDisk();
  const durable: SessionEvent<string>[] = [];
  const problems: Error[] = [];
  const log = new EventLog<string>({
    storage: new DiskStorage({ ...session, disk }, disk.open(PATH, 'create')),
    end: { position: 0, seq: 0, time: '' },
    now: () => 0,
    onDurable: (event) => durable.push(event),
    afterBatch,
    onProblem: (problem) => problems.push(problem),
  });
  const lines = (): string[] => (disk.files.get(PATH)?.toString() ?? '').split('\n').slice(0, -1);
  return { disk, durable, problems, log, lines };
}

/** A file of which only the length is kept. */
class LongFile implements DiskFile {
  length = 0;
  syncs = 0;
  isAt(): boolean {
    return true;
  }
  size(): number {
    return this.length;
  }
  read(): number {
    return 0;
  }
  write(bytes: Uint8Array, position: number): void {
    expect(position).toBe(this.length);
    this.length += bytes.length;
  }
  async sync(): Promise<void> {
    this.syncs += 1;
  }
  truncate(size: number): void {
    this.length = size;
  }
  close(): void {}
}

describe('the log', () => {
  it('syncs an event before its promise resolves', async () => {
    const { disk, log, lines } = openLog();
    await log.append([error('a')]);
    expect(disk.syncs).toBe(1);
    expect(lines()).toHaveLength(1);
  });

  it('shares one sync among all that came while the last one was under way', async () => {
    const { disk, log, durable } = openLog();
    const first = log.append([error('first')]);
    await Promise.resolve();
    const others = Array.from({ length: 100 }, (_, i) => log.append([error(String(i))]));
    await Promise.all([first, ...others]);
    expect(disk.syncs).toBe(2);
    expect(durable.map(({ seq }) => seq)).toEqual(Array.from({ length: 101 }, (_, i) => i + 1));
  });

  it('tells of no event before it is durable', async () => {
    const { disk, log, durable } = openLog();
    disk.onSync = () => {
      expect(durable).toEqual([]);
    };
    await log.append([error('a'), error('b')]);
    expect(durable).toHaveLength(2);
  });

  it('writes what nobody awaits at the tenth, and not before', async () => {
    const { disk, log } = openLog();
    for (let i = 0; i < 9; i++) log.record(error(String(i)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(disk.syncs).toBe(0);
    log.record(error('9'));
    await log.flush();
    expect(disk.syncs).toBe(1);
  });

  it('writes what nobody awaits by itself after a while', async () => {
    const { log, durable } = openLog();
    log.record(error('a'));
    while (durable.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(durable).toMatchObject([{ seq: 1, message: 'a' }]);
  });

  it('writes what nobody awaits before what is added after it', async () => {
    const { log, durable } = openLog();
    log.record(error('a'));
    await log.append([error('b')]);
    expect(durable.map((event) => (event.type === 'error' ? event.message : ''))).toEqual(['a', 'b']);
  });

  it('refuses only what cannot be written as JSON, and that at once', async () => {
    const { log, durable } = openLog();
    const bad = log.append([{ type: 'message', message: (() => {}) as never }]);
    const good = log.append([error('b')]);
    await expect(bad).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await good;
    expect(durable.map(({ seq }) => seq)).toEqual([1]);
  });

  it('refuses at once what is too long for one line, whether a string could hold it or not, and only that', async () => {
    const { log, durable } = openLog();
    const tooLong = expect.objectContaining({ code: 'BAD_INPUT', message: expect.stringContaining('characters') });
    const long = 'x'.repeat(2 ** 28);
    for (const message of [long, [long, long], new Uint8Array(2 ** 29)]) {
      const bad = log.append([{ type: 'message', message: message as string }]);
      const good = log.append([error('b')]);
      await expect(bad).rejects.toEqual(tooLong);
      await good;
    }
    expect(durable.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it('writes a batch that is longer than a string can be', async () => {
    const file = new LongFile();
    const seen: number[] = [];
    const log = new EventLog<string>({
      storage: new DiskStorage({ ...session, disk: new RecordingDisk() }, file),
      end: { position: 0, seq: 0, time: '' },
      now: () => 0,
      onDurable: ({ seq }) => seen.push(seq),
      afterBatch: async () => {},
      onProblem: () => {},
    });
    const large = 'x'.repeat(180_000_000);
    await Promise.all(Array.from({ length: 3 }, () => log.append([{ type: 'message', message: large }])));
    expect([seen, file.syncs]).toEqual([[1, 2, 3], 1]);
    expect(file.length).toBe(log.end.position);
    expect(file.length).toBeGreaterThan(constants.MAX_STRING_LENGTH);
  }, 60_000);

  it('does other work between two batches, and takes what is added meanwhile after it', async () => {
    const { log, durable } = openLog();
    const order: string[] = [];
    const work = log.exclusively(async () => {
      order.push('begun');
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`ended with ${durable.length}`);
    });
    const added = log.append([error('a')]).then(() => order.push('added'));
    await Promise.all([work, added]);
    expect(order).toEqual(['begun', 'ended with 0', 'added']);
    await expect(log.exclusively(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await log.append([error('b')]);
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'has flushed what was there, though more is recorded %i moments later',
    async (moments) => {
      const { log, lines } = openLog();
      const added = log.append([error('a')]).then(async () => {
        for (let i = 0; i < moments; i++) await undefined;
        log.record(error('b'));
      });
      await Promise.all([added, log.flush()]);
      expect(lines().length).toBeGreaterThanOrEqual(1);
      await log.flush();
      expect(lines()).toHaveLength(2);
    },
  );

  it('that fails between two batches acknowledges nothing more, and lets nobody wait', async () => {
    const work = openLog();
    const failing = work.log.exclusively(async () => {
      throw work.log.fail(new Error('EIO'));
    });
    const waiting = work.log.append([error('a')]);
    await expect(failing).rejects.toThrow('EIO');
    await expect(waiting).rejects.toThrow('EIO');
    expect(work.lines()).toEqual([]);

    let late: Promise<void> | undefined;
    const after = openLog({
      afterBatch: async () => {
        late = after.log.append([error('b')]);
        late.catch(() => {});
        after.log.fail(new Error('EIO'));
      },
    });
    await after.log.append([error('a')]);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(late).rejects.toThrow('EIO');
  });

  it('that is sealed takes nothing more, and writes what is waiting', async () => {
    const { log, durable } = openLog();
    log.record(error('a'));
    const added = log.append([error('b')]);
    log.seal();
    await expect(log.append([error('c')])).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    expect(() => log.record(error('d'))).toThrow('closed');
    await log.flush();
    await added;
    expect(durable).toHaveLength(2);
  });

  it('that is closed takes nothing more', async () => {
    const { log } = openLog();
    log.close();
    await expect(log.append([error('a')])).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    expect(() => log.record(error('a'))).toThrow('closed');
    await expect(log.exclusively(async () => {})).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});
