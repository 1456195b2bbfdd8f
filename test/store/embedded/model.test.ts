import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Reference, SessionNote, Store, TurnRecord } from '../../../src/store/store.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { collect, openOn, textOf } from '../../support/store/stores.ts';

const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 150);

const TEXTS = [
  '',
  'a',
  'b',
  '\ud83d lone',
  '\ud83d',
  'ü'.repeat(300),
  ...[0, 15, 16, 17, 500, 4096].map((bytes, i) => textOf(i, bytes)),
  textOf(99, 70_000),
];
const SESSIONS = ['a', 'b', 'c', 'A', '__proto__'];

const anyText = fc.constantFrom(...TEXTS);
const anySession = fc.constantFrom(...SESSIONS);
const anyAbout: fc.Arbitrary<Reference> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  {
    weight: 12,
    arbitrary: fc.record(
      { session: anySession, turn: fc.nat({ max: 2 }), tool: fc.constantFrom('bash', '\ud800', 'x'.repeat(70_000)) },
      { requiredKeys: ['session'] },
    ),
  },
);
const anyItem = fc.record({ text: anyText, about: anyAbout });
const anyTurn: fc.Arbitrary<TurnRecord> = fc.record({
  session: anySession,
  turn: fc.nat({ max: 3 }),
  reasoning: fc.constantFrom('', 'because', '\udc00'),
  action: fc.constant('{}'),
  observation: anyText,
  masked: fc.boolean(),
});

const NAMES = ['n', 'N', '__proto__'];
const anyNote: fc.Arbitrary<SessionNote> = fc.record({
  session: anySession,
  name: fc.constantFrom(...NAMES),
  text: fc.constantFrom(...TEXTS.filter((text) => text.length < 65_536)),
});

type Step =
  | { readonly kind: 'putMany' | 'puts at once'; readonly items: readonly { text: string; about: Reference }[] }
  | { readonly kind: 'putTurn'; readonly record: TurnRecord }
  | { readonly kind: 'notes at once'; readonly notes: readonly SessionNote[] }
  | { readonly kind: 'delete' | 'purge'; readonly session: string }
  | { readonly kind: 'gc' | 'reopen' | 'crash' | 'new reader' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('putMany' as const, 'puts at once'),
      items: fc.array(anyItem, { maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('putTurn' as const), record: anyTurn }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('notes at once' as const), notes: fc.array(anyNote, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'purge'), session: anySession }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('gc' as const, 'reopen', 'crash', 'new reader') }) },
);

/** A store, a reader beside it, and a store made of Maps that says what must be in both. */
class Checked {
  #disk = new RecordingDisk();
  readonly #model = createMemoryStore();
  #store: EmbeddedStore | undefined;
  #reader: EmbeddedStore | undefined;

  async take(step: Step): Promise<void> {
    this.#store ??= await openOn(this.#disk);
    this.#reader ??= await openOn(this.#disk, 'read');
    if (step.kind === 'reopen') await this.#close();
    else if (step.kind === 'crash') {
      this.#disk = new RecordingDisk(this.#disk.afterCrash());
      this.#store = undefined;
      this.#reader = undefined;
    } else if (step.kind === 'new reader') {
      await this.#reader.close();
      this.#reader = undefined;
    } else if (step.kind === 'gc') await this.#store.gc({ force: true });
    else {
      const store = this.#store;
      // One after the other in the model: the order within what is done at once is the order of the calls.
      await Promise.all([change(store, step), change(this.#model, step)]);
    }
    await this.check();
  }

  async check(): Promise<void> {
    this.#store ??= await openOn(this.#disk);
    this.#reader ??= await openOn(this.#disk, 'read');
    const expected = await contentOf(this.#model);
    expect(await contentOf(this.#reader)).toEqual(expected);
    expect(await contentOf(this.#store)).toEqual(expected);
    expect(await this.#store.verify()).toEqual([]);
    expect(await this.#reader.verify()).toEqual([]);
  }

  async #close(): Promise<void> {
    await this.#store?.close();
    this.#store = undefined;
  }
}

async function change(store: Store, step: Step): Promise<unknown> {
  if (step.kind === 'putMany') return store.putMany(step.items);
  if (step.kind === 'puts at once') return Promise.all(step.items.map(({ text, about }) => store.put(text, about)));
  if (step.kind === 'putTurn') return store.putTurn(step.record);
  if (step.kind === 'notes at once') return Promise.all(step.notes.map((note) => store.putNote(note)));
  if (step.kind === 'delete' || step.kind === 'purge')
    return store.delete(step.session, { purge: step.kind === 'purge' });
  return undefined;
}

/** All that can be asked of a store. */
async function contentOf(store: Store): Promise<object> {
  const { texts, turns, notes, sessions, textBytes } = await store.stats();
  const lists: Record<string, unknown> = {};
  for (const session of SESSIONS) lists[`${session} `] = (await collect(store.list(session))).map(({ text }) => text);
  return {
    stats: { texts, turns, notes, sessions, textBytes },
    lists,
    texts: (await store.getMany(TEXTS.map(handleOf))).map(
      (stored) => stored && { ...stored, refs: sorted(stored.refs) },
    ),
    turns: await Promise.all(SESSIONS.flatMap((session) => [0, 1, 2, 3].map((turn) => store.turn(session, turn)))),
    trajectories: await Promise.all(SESSIONS.map((session) => collect(store.turns(session)))),
    notes: await Promise.all(SESSIONS.flatMap((session) => NAMES.map((name) => store.note(session, name)))),
    exported: (await collect(store.export())).length,
  };
}

const sorted = (refs: readonly Reference[]): string[] => refs.map((about) => JSON.stringify(about)).sort();

describe('the embedded store', () => {
  it('is a Map, also for a reader beside it, after a crash, and when it is opened again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
        const checked = new Checked();
        for (const step of steps) await checked.take(step);
        await checked.check();
      }),
      { numRuns },
    );
  });

  it('keeps a text of 50 MB, and one of 50 MB that UTF-8 cannot hold', async () => {
    const disk = new RecordingDisk();
    const texts = [`${textOf(1, 50_000_000)}`, `\ud800${'x'.repeat(25_000_000)}`];
    const store = await openOn(disk);
    await store.putMany([...texts, 'small'].map((text) => ({ text, about: { session: 's' } })));
    for (const text of texts) expect((await store.get(handleOf(text)))?.text === text).toBe(true);
    await store.gc({ force: true });
    await store.close();
    const again = await openOn(disk);
    for (const text of texts) expect((await again.get(handleOf(text)))?.text === text).toBe(true);
    expect((await again.get(handleOf('small')))?.text).toBe('small');
    expect(await again.verify()).toEqual([]);
  });

  it('knows a handle by all its letters', async () => {
    const store = await openOn(new RecordingDisk());
    const handle = await store.put('text', {});
    const others = [...'abcdefghijklmnopqrstuvwxyz234567'].map((letter) => handle.slice(0, -1) + letter);
    const found = await store.getMany(others);
    expect(found.filter((stored) => stored !== undefined).map((stored) => stored?.handle)).toEqual([handle]);
  });

  it('tells each reference to a text once, however many there are', async () => {
    const store = await openOn(new RecordingDisk());
    const items = Array.from({ length: 400 }, (_, turn) => ({ text: 'ok', about: { session: 's', turn } }));
    await store.putMany([...items, ...items]);
    expect((await store.get(handleOf('ok')))?.refs).toEqual(items.map(({ about }) => about));
    await store.delete('s');
    expect(await store.get(handleOf('ok'))).toBe(undefined);
  });

  it('goes on telling what it holds while it is compacted', async () => {
    const store = await openOn(new RecordingDisk());
    const texts = Array.from({ length: 50 }, (_, i) => textOf(i, 300));
    await store.putMany(texts.map((text) => ({ text, about: { session: 's' } })));
    const exported: unknown[] = [];
    for await (const line of store.export()) {
      if (exported.push(line) % 10 === 0) await store.gc({ force: true });
    }
    expect(exported.map((line) => (line as { text: string }).text)).toEqual(texts);
  });

  it('loses nothing that is put while it is checkpointed and compacted again and again', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk);
    const texts = Array.from({ length: 300 }, (_, i) => textOf(i, 200));
    const work = texts.map(async (text, i) => {
      for (let n = 0; n < i % 17; n++) await new Promise((resolve) => setImmediate(resolve));
      if (i % 20 === 0) void store.gc({ force: true });
      await store.put(text, { session: 's' });
    });
    await Promise.all(work);
    expect((await store.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    const again = await openOn(new RecordingDisk(disk.afterCrash()));
    expect((await again.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
  });

  it('finishes what was begun when it is closed', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk);
    const puts = Array.from({ length: 100 }, (_, i) => store.put(textOf(i, 100), { session: 's' }));
    const gc = store.gc({ force: true });
    await Promise.all([store.close(), store.close()]);
    await Promise.all([...puts, gc]);
    const again = await openOn(disk);
    expect((await again.stats()).texts).toBe(100);
    await expect(store.put('late', {})).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});
