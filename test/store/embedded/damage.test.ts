import { describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import {
  aligned,
  isGap,
  type LogRecord,
  REFERENCE,
  readStart,
  START,
  scanLog,
  TEXT,
  usedSize,
  writeRecord,
} from '../../../src/store/embedded/log.ts';
import { textBody } from '../../../src/store/embedded/records.ts';
import { digestOf, handleOf } from '../../../src/store/handle.ts';
import { type Files, RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';
import { collect, diskOf, FOLDER, openOn, outcome, textOf } from '../../support/store/stores.ts';

const CALM = { checkpointBytes: 1e9, checkpointPages: 1e9 };
const TEXTS = Array.from({ length: 40 }, (_, i) => textOf(i, [0, 20, 100, 700, 3000][i % 5] as number));
const SHARED = TEXTS[7] as string;
const DELETED = 'of the session that was deleted';
const NOTE_TEXT = 'the text of a note';
const turn = { session: 's1', turn: 1, reasoning: 'r', action: 'a', observation: 'o'.repeat(300), masked: false };

/** Three sessions, a text that two of them share, a turn, a note, and one session that was deleted. */
async function fill(store: EmbeddedStore): Promise<void> {
  for (const [i, text] of TEXTS.entries()) await store.put(text, { session: `s${i % 3}`, turn: i });
  await store.put(SHARED, { session: 's0', turn: 99 });
  await store.putTurn(turn);
  await store.putNote({ session: 's1', name: 'n', text: NOTE_TEXT });
  await store.putNote({ session: 'gone', name: 'n', text: DELETED });
  await store.put(DELETED, { session: 'gone' });
  await store.delete('gone');
}

/** Closed, so that all stands in the index, or as a crash leaves it, so that the log is read again. */
async function filesOf(state: 'closed' | 'crashed'): Promise<Files> {
  const disk = new RecordingDisk();
  const store = await openOn(disk, 'write', CALM);
  await fill(store);
  if (state === 'closed') await store.close();
  return disk.files;
}

const nameOf = (kind: string): string => `${FOLDER}/${kind}`;

function recordsOf(files: Files): LogRecord[] {
  const log = diskOf(files).open(nameOf('1.log'), 'read');
  return [...scanLog(log, readStart(log)?.id ?? 0, START)].filter((found) => !isGap(found)) as LogRecord[];
}

/** Those of texts and references. */
const textsOf = (files: Files): LogRecord[] => recordsOf(files).filter(({ type }) => type <= REFERENCE);

/** The files with some of them changed, or, where it answers nothing, gone. */
function changed(files: Files, kind: string, change: (bytes: Buffer) => Buffer | undefined): Files {
  const copy = new Map(files);
  const bytes = change(Buffer.from(copy.get(nameOf(kind)) ?? Buffer.alloc(0)));
  if (bytes) copy.set(nameOf(kind), bytes);
  else copy.delete(nameOf(kind));
  return copy;
}

const flipped = (bytes: Buffer, at: number, bit = 1): Buffer => {
  bytes[at] = (bytes[at] as number) ^ (1 << bit);
  return bytes;
};

/** Looks at all texts but those that may be lost: they must come back, and the lost ones must not come back wrong. */
async function checkTexts(store: EmbeddedStore, mayBeLost: (text: string) => boolean): Promise<void> {
  for (const text of TEXTS) {
    const found = await outcome(() => store.get(handleOf(text)));
    if (found !== `text: ${text}`) expect([mayBeLost(text), found ?? 'STORE_DAMAGED']).toEqual([true, 'STORE_DAMAGED']);
  }
  const listed = (await Promise.all(['s0', 's1', 's2'].map((session) => collect(store.list(session))))).flat();
  const sound = TEXTS.filter((text) => !mayBeLost(text));
  expect(sound.filter((text) => !listed.some((stored) => stored.text === text))).toEqual([]);
  expect(listed.filter(({ text }) => !TEXTS.includes(text))).toEqual([]);
  const exported = (await collect(store.export())) as { type: string; text?: string }[];
  expect(sound.filter((text) => !exported.some((line) => line.text === text))).toEqual([]);
  // Where bytes behind the last checkpoint are unreadable, nobody knows what they held.
  expect([undefined, 'STORE_DAMAGED']).toContain(await outcome(() => store.get(handleOf(DELETED))));
  const found = await noteOf(store, 's1');
  if (found !== NOTE_TEXT) expect([mayBeLost(NOTE_TEXT), found ?? 'STORE_DAMAGED']).toEqual([true, 'STORE_DAMAGED']);
  expect(await noteOf(store, 'gone')).toBe(undefined);
}

const noteOf = (store: EmbeddedStore, session: string): Promise<unknown> =>
  store.note(session, 'n').catch((error) => error.code);

/** Damage is found by a reader and by the writer, stays reported over reopening and compaction, and ends with a repair. */
async function checkDamage(files: Files, mayBeLost: (text: string) => boolean, isTail = false): Promise<void> {
  const reader = await openOn(diskOf(files), 'read', CALM);
  await checkTexts(reader, mayBeLost);
  if (!isTail) expect((await reader.verify()).length).toBeGreaterThan(0);
  const disk = diskOf(files);
  let store = await openOn(disk, 'write', CALM);
  await checkTexts(store, mayBeLost);
  expect((await store.verify()).length).toBeGreaterThan(0);
  const more = await store.put('put after the damage', { session: 'after' });
  await store.close();
  store = await openOn(disk, 'write', CALM);
  await checkTexts(store, mayBeLost);
  await store.gc({ force: true });
  expect((await store.verify()).length).toBeGreaterThan(0);
  await checkTexts(store, mayBeLost);
  expect((await store.gc({ repair: true })).repaired).toBeGreaterThan(0);
  expect(await store.verify()).toEqual([]);
  await checkTexts(store, mayBeLost);
  expect(await outcome(() => store.get(handleOf(DELETED)))).toBe(undefined);
  expect((await store.get(more))?.text).toBe('put after the damage');
  for (const text of TEXTS) await store.put(text, { session: 'again' });
  expect((await store.getMany(TEXTS.map(handleOf))).map((stored) => stored?.text)).toEqual(TEXTS);
}

const textIn = ({ body }: LogRecord) => {
  const holds = body.toString('latin1');
  return (text: string): boolean => holds.includes(text);
};

describe.each(['closed', 'crashed'] as const)('in a store that was %s', (state) => {
  it('a bit that flips in the header or the body of any record costs that record alone', async () => {
    const files = await filesOf(state);
    const random = randomFrom(5);
    for (const record of recordsOf(files)) {
      // The body, and the header: magic, type, length, checksums, position, id.
      const inBody = record.position + 32 + Math.floor(random() * record.body.length);
      const inHeader = record.position + Math.floor(random() * 32);
      for (const at of record.body.length > 0 ? [inBody, inHeader] : [inHeader]) {
        const damaged = changed(files, '1.log', (bytes) => flipped(bytes, at, Math.floor(random() * 8)));
        await checkDamage(damaged, textIn(record), state === 'crashed');
      }
    }
  });

  it('a text that is damaged is told to be damaged, not to be missing, until it is given up', async () => {
    const files = await filesOf(state);
    for (const record of recordsOf(files).filter(({ type }) => type === TEXT)) {
      const text = TEXTS.find((one) => one.length > 10 && textIn(record)(one));
      if (text === undefined) continue;
      // In its digest, in its text, in its type and in its time.
      const { position, body } = record;
      for (const at of [position + 32 + 3, position + 32 + body.length - 2, position + 4, position + 5]) {
        const disk = diskOf(changed(files, '1.log', (bytes) => flipped(bytes, at)));
        const readers = [await openOn(diskOf(disk.files), 'read', CALM), await openOn(disk, 'write', CALM)];
        for (const one of readers) expect(await outcome(() => one.get(handleOf(text)))).toBe('STORE_DAMAGED');
        await readers[1]?.close();
        const store = await openOn(disk, 'write', CALM);
        expect(await outcome(() => store.get(handleOf(text)))).toBe('STORE_DAMAGED');
        await store.gc({ force: true });
        expect(await outcome(() => store.get(handleOf(text)))).toBe('STORE_DAMAGED');
        await store.gc({ repair: true });
        expect(await outcome(() => store.get(handleOf(text)))).toBe(undefined);
        expect(await outcome(() => store.get(handleOf('never stored')))).toBe(undefined);
        await store.put(text, { session: 'again' });
        expect(await outcome(() => store.get(handleOf(text)))).toBe(`text: ${text}`);
      }
    }
  });

  it('a stretch of zeros or of noise costs what stood there alone', async () => {
    const files = await filesOf(state);
    const records = recordsOf(files);
    const random = randomFrom(6);
    const end = records.at(-1)?.position ?? 0;
    for (let n = 0; n < 20; n++) {
      const from = START + Math.floor(random() * (end - START - 6000));
      const to = from + 1 + Math.floor(random() * 5000);
      const hit = records.filter(({ position, body }) => position < to && position + 32 + body.length > from);
      const noise = Buffer.from(Array.from({ length: to - from }, () => (n % 2 ? 0 : random() * 256)));
      const damaged = changed(files, '1.log', (bytes) =>
        Buffer.concat([bytes.subarray(0, from), noise, bytes.subarray(to)]),
      );
      const isDeletion = hit.some(({ type }) => type === 4);
      if (hit.length > 0 && !isDeletion)
        await checkDamage(damaged, (text) => hit.some((record) => textIn(record)(text)), state === 'crashed');
    }
  });

  it.each(['start of the log', 'all of the log', 'no log at all', 'another log'])(
    '%s: told, and all else saved',
    async (what) => {
      const files = await filesOf(state);
      const other = new RecordingDisk();
      const foreign = await openOn(other, 'write', CALM);
      await foreign.put('of another store', { session: 'elsewhere' });
      await foreign.close();
      const damaged = changed(files, '1.log', (bytes) => {
        if (what === 'start of the log') return flipped(bytes, 9);
        if (what === 'all of the log') return Buffer.from('#!/bin/sh\necho this is no log\n'.repeat(500));
        return what === 'another log' ? other.files.get(nameOf('1.log')) : undefined;
      });
      const isLost = what !== 'start of the log';
      const disk = diskOf(damaged);
      const store = await openOn(disk, 'write', CALM);
      for (const text of TEXTS) {
        const found = await outcome(() => store.get(handleOf(text)));
        expect(found === undefined || found === 'STORE_DAMAGED' ? 'gone' : found).toBe(
          isLost ? 'gone' : `text: ${text}`,
        );
      }
      expect((await store.verify()).length).toBeGreaterThan(0);
      for (const text of TEXTS) await store.put(text, { session: 's0' });
      await store.putNote({ session: 's1', name: 'n', text: NOTE_TEXT });
      await checkTexts(store, () => false);
      expect((await store.verify()).length).toBeGreaterThan(0);
      await store.gc({ repair: true });
      expect(await store.verify()).toEqual([]);
      await checkTexts(store, () => false);
      await store.close();
      await checkTexts(await openOn(disk, 'read'), () => false);
    },
  );

  it('a bit that flips anywhere in the index, its meta data or current costs nothing', async () => {
    const files = await filesOf(state);
    const random = randomFrom(8);
    for (const kind of ['1.index', '1.meta', 'current']) {
      const size = files.get(nameOf(kind))?.length ?? 0;
      // Page 0 of the index is not used.
      const from = kind === '1.index' ? 4096 : 0;
      for (let n = 0; n < 25; n++) {
        const at = from + Math.floor(random() * (size - from));
        const damaged = changed(files, kind, (bytes) => flipped(bytes, at, Math.floor(random() * 8)));
        await checkDamage(damaged, () => false);
      }
    }
  });

  it('current may be missing where a store without texts was compacted', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk);
    await store.gc({ force: true });
    await store.close();
    disk.remove(`${FOLDER}/current`);
    for (const mode of ['read', 'write'] as const) {
      const again = await openOn(disk, mode);
      expect((await again.verify()).map(({ what }) => what)).toEqual([
        'the file current was missing or damaged; generation 2 was taken',
      ]);
    }
  });

  it.each(['1.index', '1.meta', 'current'])('%s may be missing, empty, cut off, zeroed or foreign', async (kind) => {
    const files = await filesOf(state);
    const size = files.get(nameOf(kind))?.length ?? 0;
    await checkDamage(
      changed(files, kind, () => undefined),
      () => false,
    );
    for (const cut of [0, 1, 4, 5, Math.floor(size / 2), size - 1])
      await checkDamage(
        changed(files, kind, (bytes) => bytes.subarray(0, cut)),
        () => false,
      );
    await checkDamage(
      changed(files, kind, (bytes) => Buffer.alloc(bytes.length)),
      () => false,
    );
    await checkDamage(
      changed(files, kind, () => Buffer.from('foreign\n'.repeat(2000))),
      () => false,
    );
  });

  it('an index and meta data of another store cost nothing', async () => {
    const files = await filesOf(state);
    const other = await filesOf('closed');
    await checkDamage(
      changed(files, '1.index', () => other.get(nameOf('1.index'))),
      () => false,
    );
    await checkDamage(
      changed(files, '1.meta', () => other.get(nameOf('1.meta'))),
      () => false,
    );
    const both = changed(files, '1.index', () => other.get(nameOf('1.index')));
    await checkDamage(
      changed(both, '1.meta', () => other.get(nameOf('1.meta'))),
      () => false,
    );
  });
});

describe('a log that was cut', () => {
  it.each([
    ['closed', 'cut'],
    ['closed', 'zeroed'],
    ['crashed', 'cut'],
    ['crashed', 'zeroed'],
  ] as const)('has all before the cut, at every boundary, after it was %s and %s', async (state, how) => {
    const files = await filesOf(state);
    const records = recordsOf(files);
    for (const record of records.filter((_, i) => i % 6 === 0)) {
      for (const cut of [0, 1, 16, 31, 32, 33, record.body.length + 31].map((more) => record.position + more)) {
        // Zeros are what a process that was killed had prepared.
        const cutOff = (bytes: Buffer): Buffer => (how === 'cut' ? bytes.subarray(0, cut) : bytes.fill(0, cut));
        const store = await openOn(diskOf(changed(files, '1.log', cutOff)), 'write', CALM);
        const isBehind = (text: string): boolean =>
          records.some((one) => one.position + 32 + one.body.length > cut && textIn(one)(text));
        for (const text of TEXTS) {
          const found = await outcome(() => store.get(handleOf(text)));
          if (!isBehind(text)) expect(found).toBe(`text: ${text}`);
          else if (found !== undefined) expect(found).toBe(`text: ${text}`);
        }
        // What a crash cut off was never acknowledged; what a checkpoint knew of was.
        expect((await store.verify()).length > 0).toBe(state === 'closed');
        for (const text of TEXTS) await store.put(text, { session: 's0' });
        for (const text of TEXTS) expect((await store.get(handleOf(text)))?.text).toBe(text);
      }
    }
  });

  it('keeps a text that ends in zeros, though a crash left zeros behind it', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const text = `zeros ${'\0'.repeat(5000)}`;
    await store.put(text, { session: 's' });
    const crashed = disk.afterCrash();
    expect(crashed.get(nameOf('1.log'))?.subarray(-100_000)).toEqual(Buffer.alloc(100_000));
    for (const mode of ['read', 'write'] as const) {
      const again = await openOn(diskOf(crashed), mode, CALM);
      expect((await again.get(handleOf(text)))?.text).toBe(text);
      expect(await again.verify()).toEqual([]);
    }
  });

  it('ends with its last record after it was closed', async () => {
    const files = await filesOf('closed');
    const last = recordsOf(files).at(-1) as LogRecord;
    expect(files.get(nameOf('1.log'))?.length).toBe(last.position + last.bytes);
  });

  it('does not bring old positions of the index back to life when it is written again', async () => {
    const files = await filesOf('closed');
    const cut = recordsOf(files)[10]?.position ?? 0;
    const disk = diskOf(changed(files, '1.log', (bytes) => bytes.subarray(0, cut)));
    const store = await openOn(disk, 'write', CALM);
    const texts = Array.from({ length: 100 }, (_, i) => `new ${textOf(i, 900)}`);
    await store.putMany(texts.map((text) => ({ text, about: { session: 'new' } })));
    const again = await openOn(diskOf(disk.afterCrash()), 'write', CALM);
    expect((await again.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
  });
});

describe('a checkpoint that was cut off', () => {
  /** Every state of the files in which there is a journal. */
  async function statesOf(): Promise<Files[]> {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await fill(store);
    const from = disk.operations.length;
    await store.close();
    const lengths = Array.from({ length: disk.operations.length - from }, (_, i) => from + i);
    return lengths.map((length) => disk.afterCrash(length)).filter((files) => files.has(nameOf('1.journal')));
  }

  it('is finished by the next writer, and read as finished by a reader', async () => {
    const states = await statesOf();
    expect(states.length).toBeGreaterThan(5);
    for (const files of states) {
      for (const mode of ['read', 'write'] as const) {
        const store = await openOn(diskOf(files), mode, CALM);
        await checkTexts(store, () => false);
        expect(await store.verify()).toEqual([]);
      }
    }
  });

  it('costs nothing, but is told, where its journal is damaged', async () => {
    const random = randomFrom(9);
    for (const files of await statesOf()) {
      const size = files.get(nameOf('1.journal'))?.length ?? 0;
      for (const at of [0, 4, 9, Math.floor(random() * size), size - 1]) {
        const damaged = changed(files, '1.journal', (bytes) => flipped(bytes, at));
        await checkTexts(await openOn(diskOf(damaged), 'read', CALM), () => false);
        const store = await openOn(diskOf(damaged), 'write', CALM);
        await checkTexts(store, () => false);
        expect((await store.verify()).length).toBeGreaterThan(0);
        await store.gc({ repair: true });
        expect(await store.verify()).toEqual([]);
      }
    }
  });
});

describe('what a text holds', () => {
  it('is never taken for a record, not even where it is one and its own record is damaged', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('first', { session: 'ss' });
    // A record as it would stand there, down to its id and its position, in a text whose bytes are as they are given.
    const file = disk.open(nameOf('1.log'), 'read');
    const position = aligned(usedSize(file)) + 512;
    const body = textBody('forged', { digest: digestOf('forged'), before: 0, about: { session: 'ss' } });
    const forged = writeRecord(body, { type: TEXT, position, id: readStart(file)?.id ?? 0 });
    const before = '\ud800'.padEnd((512 - 32 - 56 - 'ss'.length) / 2, 'x');
    await store.put(before + forged.toString('utf16le'), { session: 'ss' });
    await store.put('last', { session: 'ss' });
    expect(disk.files.get(nameOf('1.log'))?.subarray(position, position + 32)).toEqual(forged.subarray(0, 32));
    const record = textsOf(disk.files)[1] as LogRecord;
    const damaged = changed(disk.files, '1.log', (bytes) => flipped(bytes, record.position + 32 + 100));
    const again = await openOn(diskOf(damaged), 'write', CALM);
    expect((await collect(again.list('ss'))).map(({ text }) => text)).toEqual(['first', 'last']);
    expect((await again.verify()).length).toBe(1);
  });
});

describe('a text that is damaged', () => {
  it('is stored once more when it is put again, and a session that refers to it can be deleted', async () => {
    const files = await filesOf('closed');
    const record = textsOf(files)[7] as LogRecord;
    const disk = diskOf(changed(files, '1.log', (bytes) => flipped(bytes, record.position + 32 + 60)));
    const store = await openOn(disk, 'write', CALM);
    expect(await outcome(() => store.get(handleOf(SHARED)))).toBe('STORE_DAMAGED');
    await store.delete('s0');
    await store.put(SHARED, { session: 's2' });
    expect((await store.get(handleOf(SHARED)))?.text).toBe(SHARED);
    const again = await openOn(diskOf(disk.afterCrash()), 'write', CALM);
    expect((await again.get(handleOf(SHARED)))?.text).toBe(SHARED);
  });

  it.each([true, false])('has its references again when it is put again, index lost: %s', async (isIndexLost) => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    for (const session of ['a', 'b', 'c']) await store.put('shared', { session });
    await store.close();
    const record = textsOf(disk.files)[0] as LogRecord;
    const damaged = changed(disk.files, '1.log', (bytes) => flipped(bytes, record.position + 32 + 60));
    const files = isIndexLost ? changed(damaged, '1.index', () => undefined) : damaged;
    const again = await openOn(diskOf(files), 'write', CALM);
    expect((await outcome(() => again.get(handleOf('shared')))) ?? 'STORE_DAMAGED').toBe('STORE_DAMAGED');
    await again.put('shared', { session: 'd' });
    const sessionsOf = async (): Promise<unknown> =>
      (await again.get(handleOf('shared')))?.refs.map(({ session }) => session).sort();
    expect(await sessionsOf()).toEqual(['b', 'c', 'd']);
    for (const session of ['b', 'd']) await again.delete(session);
    expect(await sessionsOf()).toEqual(['c']);
    await again.delete('c');
    expect((await outcome(() => again.get(handleOf('shared')))) ?? 'STORE_DAMAGED').toBe('STORE_DAMAGED');
  });

  it('of a turn is told as such', async () => {
    const files = await filesOf('closed');
    const record = recordsOf(files).find(({ type }) => type === 3) as LogRecord;
    const store = await openOn(
      diskOf(changed(files, '1.log', (bytes) => flipped(bytes, record.position + 50))),
      'write',
    );
    await expect(store.turn('s1', 1)).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    await store.putTurn(turn);
    expect(await store.turn('s1', 1)).toEqual(turn);
    expect((await store.stats()).turns).toBe(1);
  });

  it('of a reference does not cost the other references', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    for (const session of ['a', 'b', 'c', 'd']) await store.put('shared', { session });
    await store.close();
    for (const n of [1, 2, 3]) {
      const record = textsOf(disk.files)[n] as LogRecord;
      const lostSession = ['a', 'b', 'c', 'd'][n];
      const damaged = changed(disk.files, '1.log', (bytes) => flipped(bytes, record.position + 40));
      const again = await openOn(diskOf(damaged), 'write', CALM);
      const left = ['a', 'b', 'c', 'd'].filter((session) => session !== lostSession);
      expect((await again.get(handleOf('shared')))?.refs.map(({ session }) => session)).toEqual(left);
      for (const session of left.slice(1)) await again.delete(session);
      expect((await again.get(handleOf('shared')))?.text).toBe('shared');
    }
  });
});

it.each(['closed', 'cut off in a checkpoint'])(
  'a store of a later format that was %s is refused, not repaired',
  async (how) => {
    const closed = await filesOf('closed');
    // As the other version wrote it: nothing that this one could read.
    const files = how === 'closed' ? closed : changed(closed, '1.journal', () => Buffer.from('of another format'));
    const later = changed(files, '1.log', (bytes) => {
      bytes.writeUInt32LE(99, 4);
      return bytes;
    });
    const disk = diskOf(later);
    // Its checksum is wrong as well, so that it is damage; with the right one it is a format.
    const { crc32 } = await import('node:zlib');
    const sealed = changed(later, '1.log', (bytes) => {
      bytes.writeUInt32LE(crc32(bytes.subarray(0, 12)), 12);
      return bytes;
    });
    expect((await (await openOn(disk)).verify()).length).toBeGreaterThan(0);
    const before = diskOf(sealed);
    await expect(openOn(before)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await expect(openOn(before, 'read')).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(before.operations).toEqual([]);
  },
);
