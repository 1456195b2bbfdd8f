import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  aligned,
  FORMAT,
  isGap,
  type LogRecord,
  NOTE,
  readStart,
  START,
  scanLog,
  usedSize,
  writeRecord,
} from '../../../src/store/embedded/log.ts';
import { textBody } from '../../../src/store/embedded/records.ts';
import { digestOf, handleOf } from '../../../src/store/handle.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { TurnRecord } from '../../../src/store/store.ts';
import { type Files, RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';
import { collect, diskOf, FOLDER, openOn, RESTLESS, statsCompacted } from '../../support/store/stores.ts';

const CALM = { checkpointBytes: 1e9, checkpointPages: 1e9 };
const LOG = `${FOLDER}/1.log`;
const META = `${FOLDER}/1.meta`;
const turn: TurnRecord = { session: 's', turn: 1, reasoning: 'r', action: 'a', observation: 'o', masked: false };

const noteOf = (name: string, text: string) => ({ session: 's', name, text });

it('a text that is too large is refused with the limit and the size', async () => {
  const work = createMemoryStore().putNote(noteOf('n', 'ü'.repeat(40_000)));
  await expect(work).rejects.toThrow(/at most 65536 bytes of UTF-8 but found 80000; store a larger one with put$/);
});

it('a note is one sync, and notes that come while the disk is busy share one', async () => {
  const disk = new RecordingDisk();
  const store = await openOn(disk, 'write', {});
  const before = disk.syncs;
  await store.putNote(noteOf('n', 'text'));
  expect(disk.syncs - before).toBe(1);
  await Promise.all(Array.from({ length: 20 }, (_, i) => store.putNote(noteOf('n', `${i}`))));
  expect(disk.syncs - before).toBeLessThanOrEqual(3);
  expect(await store.note('s', 'n')).toBe('19');
  await store.close();
});

it('notes that were replaced leave the disk by themselves', async () => {
  const store = await openOn(new RecordingDisk());
  for (let i = 0; i < 50; i++) await store.putNote(noteOf(`n${i % 5}`, `${i} `.repeat(1000)));
  const {
    diskBytes = 0,
    deadBytes = 0,
    notes,
  } = await statsCompacted(store, ({ diskBytes }) => Number(diskBytes) < 40_000);
  expect(notes).toBe(5);
  expect(deadBytes).toBeLessThan(Math.max(RESTLESS.leastDead ?? 0, diskBytes / 4) + 3100);
  expect(diskBytes).toBeLessThan(40_000);
  for (let i = 45; i < 50; i++) expect(await store.note('s', `n${i % 5}`)).toBe(`${i} `.repeat(1000));
  expect(await store.verify()).toEqual([]);
  await store.close();
});

it('a reader beside the writer has each note when it was acknowledged, also over compactions', async () => {
  const disk = new RecordingDisk();
  const writer = await openOn(disk);
  const reader = await openOn(disk, 'read');
  for (let i = 0; i < 60; i++) {
    await writer.putNote(noteOf('n', `${i}`));
    expect(await reader.note('s', 'n')).toBe(`${i}`);
    if (i % 20 === 9) await writer.gc({ force: true });
    if (i % 20 !== 19) continue;
    await writer.delete('s');
    expect(await reader.note('s', 'n')).toBe(undefined);
    expect((await reader.stats()).notes).toBe(0);
  }
  expect(await reader.verify()).toEqual([]);
});

describe('a note that is damaged', () => {
  const flipped = (files: Files, { position }: LogRecord): Files => {
    const bytes = Buffer.from(files.get(LOG) as Buffer);
    bytes[position + 40] = (bytes[position + 40] as number) ^ 1;
    return new Map(files).set(LOG, bytes);
  };

  /** The first note of two is damaged. */
  async function damaged(): Promise<RecordingDisk> {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('text', { session: 's' });
    for (const name of ['bad', 'good']) await store.putNote(noteOf(name, `the ${name} one`));
    await store.close();
    const record = recordsOf(disk.files).find(({ type }) => type === NOTE) as LogRecord;
    return diskOf(flipped(disk.files, record));
  }

  it('is told as such until it is put again, hides no other, and is reported by verify', async () => {
    const store = await openOn(await damaged(), 'write', CALM);
    await expect(store.note('s', 'bad')).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(await store.note('s', 'good')).toBe('the good one');
    expect((await collect(store.list('s'))).map(({ text }) => text)).toEqual(['text']);
    expect((await store.verify()).length).toBe(1);
    await store.putNote(noteOf('bad', 'again'));
    expect(await store.note('s', 'bad')).toBe('again');
    expect((await store.stats()).notes).toBe(2);
  });

  it('is given up by gc with repair', async () => {
    const store = await openOn(await damaged(), 'write', CALM);
    expect((await store.gc({ repair: true })).repaired).toBe(1);
    expect(await store.verify()).toEqual([]);
    expect([await store.note('s', 'bad'), await store.note('s', 'good')]).toEqual([undefined, 'the good one']);
    expect((await store.stats()).notes).toBe(1);
  });

  it('by a writer that put another text into its record is reported by verify', async () => {
    const disk = new RecordingDisk();
    await (await openOn(disk, 'write', CALM)).put('text', { session: 's' });
    const log = disk.open(LOG, 'write');
    const body = textBody('another', { digest: digestOf('one'), before: 0, about: { session: 's', tool: 'n' } });
    const position = aligned(usedSize(log));
    log.write(writeRecord(body, { type: NOTE, position, id: readStart(log)?.id ?? 0 }), position);
    const store = await openOn(disk, 'write', CALM);
    expect((await store.verify()).map(({ what }) => what)).toEqual(['note n of session s holds another text']);
  });

  it('is gone with its session', async () => {
    const disk = await damaged();
    const store = await openOn(disk, 'write', CALM);
    await store.delete('s');
    for (const one of [store, await openOn(disk, 'read', CALM)])
      expect([await one.note('s', 'bad'), await one.note('s', 'good')]).toEqual([undefined, undefined]);
  });
});

describe('a store of format 4', () => {
  /** As the version before left it: no notes in the log, and none counted. */
  async function oldFiles(state: 'closed' | 'crashed'): Promise<Files> {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('text', { session: 's' });
    await store.putTurn(turn);
    if (state === 'closed') await store.close();
    const files = new Map(disk.files);
    const log = Buffer.from(files.get(LOG) as Buffer);
    log.writeUInt32LE(4, 4);
    log.writeUInt32LE(crc32(log.subarray(0, 12)), 12);
    const { counts, ...meta } = JSON.parse((files.get(META) as Buffer).toString('utf8', 4));
    const { notes: _, ...older } = counts;
    const json = Buffer.from(JSON.stringify({ ...meta, version: 4, counts: older }));
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32(json));
    return files.set(LOG, log).set(META, Buffer.concat([checksum, json]));
  }

  it.each(['closed', 'crashed'] as const)(
    'that was %s opens with all that is in it, and takes notes',
    async (state) => {
      const disk = diskOf(await oldFiles(state));
      const store = await openOn(disk, 'write', CALM);
      expect(await store.verify()).toEqual([]);
      expect([await store.note('s', 'n'), (await store.stats()).notes]).toEqual([undefined, 0]);
      await store.putNote(noteOf('n', 'new'));
      await store.close();
      const again = await openOn(disk, 'write', CALM);
      expect(await again.note('s', 'n')).toBe('new');
      expect((await again.get(handleOf('text')))?.text).toBe('text');
      expect(await again.turn('s', 1)).toEqual(turn);
      const { texts, turns, notes, sessions } = await again.stats();
      expect([texts, turns, notes, sessions]).toEqual([1, 1, 1, 1]);
      expect(await again.verify()).toEqual([]);
      await again.delete('s', { purge: true });
      expect(await collect(again.export())).toEqual([]);
    },
  );

  it('is read as it is, without a change', async () => {
    const disk = diskOf(await oldFiles('closed'));
    const reader = await openOn(disk, 'read', CALM);
    expect((await reader.get(handleOf('text')))?.text).toBe('text');
    expect([await reader.note('s', 'n'), (await reader.stats()).notes]).toEqual([undefined, 0]);
    expect(await reader.verify()).toEqual([]);
    expect(disk.operations).toEqual([]);
  });

  it('is raised before the first note can be on the disk, whenever the power goes', async () => {
    const disk = diskOf(await oldFiles('crashed'));
    const store = await openOn(disk, 'write', CALM);
    await store.putNote(noteOf('n', 'new'));
    let withNote = 0;
    for (let length = 0; length <= disk.operations.length; length++)
      for (let seed = 0; seed < 10; seed++) {
        const files = disk.afterPowerLoss(length, { choose: randomFrom(length * 100 + seed) });
        const log = diskOf(files).open(LOG, 'read');
        const format = readStart(log)?.format;
        expect([4, FORMAT]).toContain(format);
        if (!recordsOf(files).some(({ type }) => type === NOTE)) continue;
        withNote += 1;
        expect(format).toBe(FORMAT);
      }
    expect(withNote).toBeGreaterThan(0);
  });
});

function recordsOf(files: Files): LogRecord[] {
  const log = diskOf(files).open(LOG, 'read');
  return [...scanLog(log, readStart(log)?.id ?? 0, START)].filter((found) => !isGap(found)) as LogRecord[];
}
