import { describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { type Files, RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';
import { diskOf, openOn, textOf } from '../../support/store/stores.ts';

const CALM = { checkpointBytes: 1e9, checkpointPages: 1e9 };
const turn = { session: 's', turn: 1, reasoning: '', action: '', observation: '', masked: false };
const seeds = Number(process.env.PALIMPSEST_RUNS ?? 3);

/** What was promised to the caller, and after how many operations of the disk. */
interface Promised {
  readonly at: number;
  readonly text?: string;
  readonly turn?: { readonly session: string; readonly turn: number };
  /** How often the note of a session was written, and how often that was acknowledged. */
  readonly note?: { readonly begun: number } | { readonly done: number };
  readonly session: string;
  /** `begun`: from here on it may be gone; `done`: from here on it must be. */
  readonly deletion?: 'begun' | 'done';
}

/** Puts, deletes and compacts on a disk, and writes down what was acknowledged when. */
class Diary {
  readonly disk: RecordingDisk;
  readonly promised: Promised[] = [];
  readonly #store: EmbeddedStore;
  readonly #first: number;
  #number: number;
  /** Sessions of a life before: a prune removes them too. */
  readonly #others: readonly string[];
  #notes = 0;

  constructor(disk: RecordingDisk, store: EmbeddedStore, first: number, others: readonly string[] = []) {
    this.#others = others;
    this.disk = disk;
    this.#store = store;
    this.#first = first;
    this.#number = first;
  }

  #note(promised: Omit<Promised, 'at'>): void {
    this.promised.push({ ...promised, at: this.disk.operations.length });
  }

  /** Sessions of its own: what one life deletes, the next must not have put again. */
  #own(session: string): string {
    return `${session}-${this.#first}`;
  }

  async put(name: string, bytes: number): Promise<void> {
    const session = this.#own(name);
    const text = textOf(this.#number++, bytes);
    await this.#store.put(text, { session });
    this.#note({ session, text });
  }

  /** Many in one write, some of them alike. */
  async putBatch(name: string, count: number): Promise<void> {
    const session = this.#own(name);
    const texts = Array.from({ length: count }, (_, i) => textOf(this.#number + i, 60 + 170 * i));
    this.#number += count;
    await this.#store.putMany(
      [...texts, ...texts.slice(0, 2)].map((text, turn) => ({ text, about: { session, turn } })),
    );
    for (const text of texts) this.#note({ session, text });
  }

  async share(name: string, other: string): Promise<void> {
    const session = this.#own(name);
    const text = textOf(this.#number++, 90);
    await this.#store.put(text, { session: this.#own(other) });
    await this.#store.put(text, { session });
    this.#note({ session, text });
  }

  async putTurn(name: string, turn: number): Promise<void> {
    const session = this.#own(name);
    const record = { session, turn, reasoning: 'r', action: 'a', observation: textOf(turn, 700), masked: false };
    await this.#store.putTurn(record);
    this.#note({ session, turn: { session, turn } });
  }

  async putNote(name: string): Promise<void> {
    const session = this.#own(name);
    const count = ++this.#notes;
    this.#note({ session, note: { begun: count } });
    await this.#store.putNote({ session, name: 'count', text: `${count} `.repeat(200) });
    this.#note({ session, note: { done: count } });
  }

  async delete(name: string, purge = false): Promise<void> {
    const session = this.#own(name);
    this.#note({ session, deletion: 'begun' });
    await this.#store.delete(session, { purge });
    this.#note({ session, deletion: 'done' });
  }

  /** Texts without a session, of which those of before are removed. */
  async pruneLoose(): Promise<void> {
    const texts = [0, 1, 2].map(() => textOf(this.#number++, 120));
    const session = this.#own('');
    for (const text of texts) {
      await this.#store.put(text, {});
      this.#note({ session, text });
    }
    const own = ['', 's0', 's1', 'many', 'batch', 'large'].map((name) => this.#own(name));
    const all = [...own, ...this.#others];
    for (const one of all) this.#note({ session: one, deletion: 'begun' });
    await this.#store.prune({ now: Date.now() + 1e9, maxAgeMs: 9e8 });
    for (const one of all) this.#note({ session: one, deletion: 'done' });
  }

  /** Puts, turns, notes and a deletion while a compaction copies. */
  async compactBesideWriters(): Promise<void> {
    for (let i = 0; i < 8; i++) await this.put(`c${i % 2}`, 900 + i);
    await this.putTurn('c0', this.#first + 50);
    await Promise.all([
      this.#store.gc({ force: true }),
      (async () => {
        for (let i = 0; i < 6; i++) {
          await this.put(`c${i % 3}`, 200 + i);
          await this.putTurn('c2', this.#first + 51 + i);
          await this.putNote('c2');
        }
        await this.share('c2', 'c1');
        await this.delete('c1');
        await this.put('c3', 70);
      })(),
    ]);
    await this.put('c3', 80);
  }

  async write(): Promise<void> {
    for (let i = 0; i < 12; i++) await this.put(`s${i % 2}`, [10, 100, 600, 1500][i % 4] as number);
    await Promise.all(Array.from({ length: 10 }, (_, i) => this.put('many', 50 + 130 * i)));
    await Promise.all([this.putBatch('batch', 9), this.put('s0', 200), this.putBatch('s1', 6)]);
    for (let turn = 0; turn < 3; turn++) await this.putTurn('s1', this.#first + turn);
    for (let n = 0; n < 3; n++) await this.putNote('s1');
    await Promise.all([this.putNote('s1'), this.put('s1', 70), this.putNote('s1'), this.putNote('gone')]);
    await this.share('s1', 'gone');
    await this.put('gone', 300);
    await this.delete('gone');
    await this.put('large', 20_000);
    await this.#store.gc({ force: true });
    await Promise.all([this.put('s0', 400), this.put('purged', 800), this.put('s1', 0)]);
    await this.putNote('purged');
    await this.delete('purged', true);
    await this.putNote('s1');
    await this.put('s0', 333);
    await this.pruneLoose();
    await this.compactBesideWriters();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/** What a store that was opened after the power came back must hold, and what it must not. */
async function check(files: Files, promised: readonly Promised[], length: number): Promise<RecordingDisk> {
  const disk = diskOf(files);
  const store = await openOn(disk);
  const known = promised.filter(({ at }) => at <= length);
  for (const { text, turn, session } of known) {
    const isMaybeDeleted = known.some((other) => other.deletion === 'begun' && other.session === session);
    const isDeleted = known.some((other) => other.deletion === 'done' && other.session === session);
    if (turn && !isMaybeDeleted) expect((await store.turn(turn.session, turn.turn))?.turn).toBe(turn.turn);
    if (text === undefined || (isMaybeDeleted && !isDeleted)) continue;
    // Not `get`: of a text that is not there it tells that unreadable bytes may have held it.
    expect((await store.getMany([handleOf(text)]))[0]?.text).toBe(isDeleted ? undefined : text);
  }
  for (const session of new Set(known.flatMap(({ note, session }) => (note ? [session] : []))))
    await checkNote(store, known, session);
  // Gaps in the log are what was never acknowledged. Nothing else may be wrong.
  const problems = await store.verify();
  expect(problems.filter(({ what }) => !/^\d+ unreadable bytes at \d+ of \d+\.log$/.test(what))).toEqual([]);
  return disk;
}

/** The note that was acknowledged last, or one that was begun since. */
async function checkNote(store: EmbeddedStore, known: readonly Promised[], session: string): Promise<void> {
  const own = known.filter((one) => one.session === session);
  const text = await store.note(session, 'count');
  if (own.some(({ deletion }) => deletion === 'done')) expect(text).toBe(undefined);
  if (own.some(({ deletion }) => deletion !== undefined)) return;
  const counts = own.flatMap(({ note }) => note ?? []);
  const done = Math.max(0, ...counts.map((note) => ('done' in note ? note.done : 0)));
  const begun = Math.max(0, ...counts.map((note) => ('begun' in note ? note.begun : 0)));
  const found = Number.parseInt(text ?? '0', 10);
  expect(text ?? '').toBe(`${found} `.repeat(found > 0 ? 200 : 0));
  expect([found >= done, found <= begun]).toEqual([true, true]);
}

describe('after a power loss', () => {
  it('everything that was acknowledged is there, whatever the disk had of the rest', async () => {
    const disk = new RecordingDisk();
    const diary = new Diary(disk, await openOn(disk), 0);
    await diary.write();
    await diary.close();
    expect(disk.operations.length).toBeGreaterThan(250);
    for (let length = 0; length <= disk.operations.length; length++) {
      for (let seed = 0; seed < seeds; seed++) {
        const choose = randomFrom(length * 1000 + seed);
        await check(disk.afterPowerLoss(length, { choose }), diary.promised, length);
      }
      await check(disk.afterPowerLoss(length, { choose: () => 0 }), diary.promised, length);
      await check(disk.afterCrash(length), diary.promised, length);
    }
  });

  it('and also when the power goes again while it is being repaired, or soon after', async () => {
    const disk = new RecordingDisk();
    const diary = new Diary(disk, await openOn(disk), 0);
    await diary.write();
    const random = randomFrom(7);
    for (let round = 0; round < 20 * seeds; round++) {
      const length = Math.floor(random() * disk.operations.length);
      const second = diskOf(disk.afterPowerLoss(length, { choose: random }));
      const sessions = [...new Set(diary.promised.map(({ session }) => session))];
      const next = new Diary(second, await openOn(second), 1000, sessions);
      await next.write();
      const before = diary.promised.filter(({ at }) => at <= length).map((one) => ({ ...one, at: 0 }));
      for (let n = 0; n < 8; n++) {
        const cut = Math.floor(random() ** 2 * second.operations.length);
        const files = second.afterPowerLoss(cut, { choose: random });
        await check(files, [...before, ...next.promised], cut);
      }
    }
  });

  it.each(['from the same process', 'from the next, after it was killed'])(
    'a put that is there behind a deletion that is not brings back nothing: %s',
    async (who) => {
      const disk = new RecordingDisk();
      const store = await openOn(disk, 'write', CALM);
      await store.put(textOf(1), { session: 's' });
      await store.put(textOf(2, 600), {});
      const from = disk.operations.length;
      if (who === 'from the same process')
        await Promise.all([store.putTurn(turn), store.delete('s'), store.put(textOf(3, 2000), { session: 's' })]);
      else {
        disk.onSync = (): void => {
          throw new Error('it was killed before the sync was done');
        };
        await expect(store.delete('s')).rejects.toThrow('killed');
        disk.onSync = undefined;
        await (await openOn(disk, 'write', CALM)).put(textOf(3, 2000), { session: 's' });
      }
      for (let length = from; length <= disk.operations.length; length++) {
        for (let seed = 0; seed < 60; seed++) {
          const files = disk.afterPowerLoss(length, { choose: randomFrom(length * 100 + seed) });
          const again = await openOn(diskOf(files), 'write', CALM);
          await again.delete('s');
          expect(await again.getMany([handleOf(textOf(1))])).toEqual([undefined]);
          expect((await again.stats()).texts).toBe(1);
        }
      }
    },
  );

  it('the double does lose what was not synced: a store that does not sync fails this test', async () => {
    const disk = new RecordingDisk();
    const file = disk.open('/store/default/file', 'create');
    file.write(Buffer.from('text'), 0);
    expect(disk.afterPowerLoss(9, { choose: () => 0 }).size).toBe(0);
    await disk.syncFolder('/store/default');
    expect(disk.afterPowerLoss(9, { choose: () => 0 }).get('/store/default/file')?.length).toBe(0);
    await file.sync();
    expect(
      disk
        .afterPowerLoss(9, { choose: () => 0 })
        .get('/store/default/file')
        ?.toString(),
    ).toBe('text');
    expect(disk.afterPowerLoss(2, { choose: () => 0 }).size).toBe(0);
  });
});

describe('the disk double', () => {
  it('tears a write at 512 bytes', () => {
    const disk = new RecordingDisk();
    disk.open('/f', 'create').write(Buffer.alloc(2000, 1), 100);
    const random = randomFrom(3);
    const pieces = new Set<number>();
    for (let n = 0; n < 200; n++) {
      const bytes = disk.afterPowerLoss(2, { choose: random }).get('/f');
      if (bytes) for (let at = 512; at < bytes.length; at += 512) if (bytes[at] !== bytes[at - 1]) pieces.add(at);
    }
    expect([...pieces].sort((a, b) => a - b)).toEqual([512, 1024, 1536, 2048]);
  });
});
