import type { RequestRecord } from '../report/request-record.ts';
import { handleOf } from '../store/handle.ts';
import type { Match, RecordRange, Reference, SessionNote, Store, Stored, TurnRecord } from '../store/store.ts';

/** The part of an assertion library that the suite needs: `expect` of vitest and Jest have it. */
export type Expect = (actual: unknown) => {
  toBe(expected: unknown): unknown;
  toEqual(expected: unknown): unknown;
};

/** The test runner's own functions, so that the suite runs under any of them. */
export interface TestFunctions {
  /** Groups tests under a name. */
  describe(name: string, body: () => void): unknown;
  /** Declares a test. */
  it(name: string, body: () => Promise<void>): unknown;
  /** Checks a value. */
  readonly expect: Expect;
}

/** The store to test. */
export interface ConformanceOptions {
  /** The store, as the names of the tests show it. */
  readonly name: string;
  /** Opens the store of a tenant. Every test uses its own tenants, all in one place, and closes the stores that it opened. */
  open(tenant?: string): Promise<Store>;
  /** Closes the store and opens it again. Without this function, durability is not tested. @default none */
  readonly reopen?: (store: Store, tenant: string) => Promise<Store>;
  /** The largest text that is stored. @default 5000000 */
  readonly largestBytes?: number;
  /** The store has `putRecords` and `records`. If false, the suite skips records of requests. @default false */
  readonly keepsRecords?: boolean;
}

/**
 * The tests that every store passes: `storeConformance({ describe, it, expect }, { name: 'mine', open })`.
 *
 * @example
 * ```ts
 * import { createMemoryStore } from 'palimpsest/store';
 * import { storeConformance } from 'palimpsest/testing';
 * import { describe, expect, it } from 'vitest';
 *
 * storeConformance({ describe, it, expect }, { name: 'mine', open: async (tenant = 'default') => createMemoryStore({ tenant }) });
 * ```
 */
export function storeConformance({ describe, it, expect }: TestFunctions, options: ConformanceOptions): void {
  const { name, open, reopen, largestBytes = 5_000_000, keepsRecords = false } = options;

  /** One test, with the store of a tenant that no other test uses. */
  const test = (fact: string, body: (store: Store, tenant: string) => Promise<void>): void => {
    it(fact, async () => {
      const tenant = freshTenant();
      const store = await open(tenant);
      try {
        await body(store, tenant);
      } finally {
        await store.close();
      }
    });
  };
  const testReopened = (fact: string, body: (store: Store, again: () => Promise<Store>) => Promise<void>): void => {
    it(fact, async () => {
      const tenant = freshTenant();
      let store = await open(tenant);
      try {
        await body(store, async () => {
          if (reopen) store = await reopen(store, tenant);
          return store;
        });
      } finally {
        await store.close();
      }
    });
  };
  const expectCode = async (work: () => Promise<unknown>, code: string): Promise<void> => {
    expect(await codeOf(work)).toBe(code);
  };

  const describeRecords = (): void => {
    const DAY = 86_400_000;
    /** Noon, so that a test may go a few hours either way. */
    const noon = Math.floor(Date.now() / DAY) * DAY + DAY / 2;
    const put = async (store: Store, ...records: RequestRecord[]): Promise<void> => store.putRecords?.(records);
    const read = async (store: Store, range?: RecordRange): Promise<RequestRecord[]> =>
      store.records ? (await collect(store.records(range))).sort((a, b) => a.at - b.at) : [];
    const idsOf = async (store: Store, range?: RecordRange): Promise<string[]> =>
      (await read(store, range)).map(({ id }) => id);

    testReopened('come back as they were put, also after it is opened again', async (store, again) => {
      const full = recordOf('full', noon, FULL_RECORD);
      const plain = recordOf('plain', noon + 1);
      await put(store, full);
      await put(store, plain, recordOf('old', noon - 40 * DAY));
      await put(store);
      expect((await read(store)).slice(1)).toEqual([full, plain]);
      expect((await read(await again())).slice(1)).toEqual([full, plain]);
    });

    testReopened('are read by the time of their start: from one on, and before another', async (store) => {
      const times = [-2 * DAY, -DAY, -1, 0, 1, DAY].map((offset) => noon + offset);
      await put(store, ...times.map((at, i) => recordOf(`r${i}`, at)));
      expect(await idsOf(store)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5']);
      expect(await idsOf(store, { since: noon })).toEqual(['r3', 'r4', 'r5']);
      expect(await idsOf(store, { until: noon })).toEqual(['r0', 'r1', 'r2']);
      expect(await idsOf(store, { since: noon - DAY, until: noon + 1 })).toEqual(['r1', 'r2', 'r3']);
      expect(await idsOf(store, { since: noon + 2 * DAY })).toEqual([]);
    });

    testReopened('are as many as were put, in batches large and small', async (store) => {
      const many = Array.from({ length: 2500 }, (_, i) => recordOf(`m${i}`, noon + i));
      await Promise.all([
        put(store, ...many),
        put(store, recordOf('one', noon - 1)),
        put(store, recordOf('two', noon - 2)),
      ]);
      expect(await idsOf(store)).toEqual(['two', 'one', ...many.map(({ id }) => id)]);
      expect((await store.stats()).records).toBe(2502);
    });

    testReopened('are no texts: no session, search or turn shows them', async (store) => {
      await put(store, recordOf('r', noon, { model: 'needle' }));
      expect(await collect(store.search('needle'))).toEqual([]);
      const { texts, turns, notes, sessions } = await store.stats();
      expect([texts, turns, notes, sessions, (await collect(store.sessions())).length]).toEqual([0, 0, 0, 0, 0]);
    });

    testReopened('are exported', async (store) => {
      const record = recordOf('r', noon, FULL_RECORD);
      await put(store, record);
      expect(await collect(store.export())).toEqual([{ type: 'record', ...record }]);
    });

    testReopened('go with their session, or with that of their conversation', async (store, again) => {
      await put(store, recordOf('agent', noon, { session: 'run-1' }));
      await put(store, recordOf('conversation', noon + 1, { session: 'run-2', conversation: 'c2' }));
      await put(store, recordOf('texts', noon + 1, { session: 'run-4' }));
      await put(store, recordOf('stays', noon + 2, { session: 'run-3', conversation: 'run-1' }));
      const planned = await store.delete('run-1', { dryRun: true });
      expect([planned.records, planned.bytes > 100, (await read(store)).length]).toEqual([1, true, 4]);
      expect(await store.delete('run-1')).toEqual(planned);
      expect((await store.delete('g-run-4')).records).toBe(1);
      expect((await store.delete('g-c2', { keepRecords: true })).records).toBe(undefined);
      expect((await store.delete('g-c2')).records).toBe(1);
      expect((await store.delete('g-c2')).records).toBe(undefined);
      expect(await idsOf(await again())).toEqual(['stays']);
    });

    testReopened('are pruned by age in whole days', async (store, again) => {
      await put(store, recordOf('old', noon - 10 * DAY), recordOf('edge', noon - 5 * DAY), recordOf('new', noon));
      const options = { maxAgeMs: 5 * DAY, now: noon };
      const planned = await store.prune({ ...options, dryRun: true });
      expect([planned.records, planned.sessions, (await read(store)).length]).toEqual([1, 0, 3]);
      expect(await store.prune(options)).toEqual(planned);
      expect((await store.prune(options)).records).toBe(undefined);
      expect(await idsOf(await again())).toEqual(['edge', 'new']);
    });

    testReopened('count towards the size, and the oldest day goes first', async (store) => {
      const empty = (await store.stats()).usedBytes ?? 0;
      await put(store, recordOf('first', noon - 2 * DAY), recordOf('second', noon - DAY), recordOf('third', noon));
      const { usedBytes = 0 } = await store.stats();
      expect(usedBytes > empty + 300).toBe(true);
      const report = await store.prune({ maxBytes: usedBytes - 1, now: noon });
      expect([report.records, report.bytes > 0]).toEqual([1, true]);
      expect((await store.stats()).usedBytes).toBe(report.usedBytes);
      expect(await idsOf(store)).toEqual(['second', 'third']);
    });

    testReopened('without an id, a time or a session are refused, and none of their batch is kept', async (store) => {
      const wrong = [{ id: '' }, { at: -1 }, { at: 1.5 }, { session: 'a/b' }, { conversation: '' }];
      for (const changes of wrong)
        await expectCode(() => put(store, recordOf('fine', noon), recordOf('wrong', noon, changes)), 'BAD_OPTION');
      await expectCode(() => read(store, { since: Number.NaN }), 'BAD_OPTION');
      expect(await read(store)).toEqual([]);
    });

    testReopened('of one tenant are not those of another', async (store) => {
      const other = await open(freshTenant());
      try {
        await put(store, recordOf('mine', noon, { session: 's' }));
        await other.delete('s');
        await other.prune({ maxBytes: 0 });
        expect([await idsOf(store), await idsOf(other)]).toEqual([['mine'], []]);
      } finally {
        await other.close();
      }
    });
  };
  if (keepsRecords) describe(`${name}: its records of requests`, describeRecords);

  describe(`${name}: its secret`, () => {
    testReopened('stays the same for all who open it, and is in no export', async (store, again) => {
      const secrets = await Promise.all([store.secret(), store.secret(), store.secret()]);
      const [secret = ''] = secrets;
      expect(secrets).toEqual([secret, secret, secret]);
      expect(secret.length >= 32).toBe(true);
      await store.put('x', { session: 's' });
      await store.delete('s');
      const reopened = await again();
      expect(await reopened.secret()).toBe(secret);
      expect(JSON.stringify(await collect(reopened.export())).includes(secret)).toBe(false);
    });

    test('is another one for every tenant', async (store) => {
      const other = await open(freshTenant());
      try {
        expect((await other.secret()) === (await store.secret())).toBe(false);
      } finally {
        await other.close();
      }
    });
  });

  describe(`${name}: texts`, () => {
    test('a text comes back by its handle, with its size and where it was hidden', async (store) => {
      const about = { session: 's1', turn: 3, tool: 'bash' };
      const handle = await store.put('größe 😀', about);
      expect(handle).toBe(handleOf('größe 😀'));
      expect(await store.get(handle)).toEqual({ handle, text: 'größe 😀', bytes: 12, refs: [about] });
    });

    test('the same text is stored once, and refers to each place once, oldest first', async (store) => {
      const places: Reference[] = [
        { session: 'b', turn: 2 },
        { session: 'a', turn: 1, tool: 'read' },
        { session: 'a' },
      ];
      for (const about of [...places, ...places]) await store.put('same', about);
      expect((await store.get(handleOf('same')))?.refs).toEqual(places);
      expect((await store.stats()).texts).toBe(1);
    });

    test('a text may be about nothing', async (store) => {
      const handle = await store.put('alone', {});
      expect(await store.get(handle)).toEqual({ handle, text: 'alone', bytes: 5, refs: [{}] });
    });

    test('fields that are undefined are not there', async (store) => {
      const about = { session: 's', turn: undefined, tool: undefined } as unknown as Reference;
      const handle = await store.put('text', about);
      expect(Object.keys((await store.get(handle))?.refs[0] ?? {})).toEqual(['session']);
    });

    test('every string comes back as it was', async (store) => {
      const handles = await store.putMany(ODD_TEXTS.map((text) => ({ text, about: { session: 's' } })));
      expect(handles).toEqual(ODD_TEXTS.map(handleOf));
      const found = await store.getMany(handles);
      expect(found.map((stored) => stored?.text)).toEqual(ODD_TEXTS);
      expect(found.map((stored) => stored?.bytes)).toEqual(ODD_TEXTS.map((text) => Buffer.byteLength(text)));
    });

    test('texts that UTF-8 would make one stay two', async (store) => {
      const [lone, replaced] = ['\ud800', '\ufffd'];
      await store.putMany([lone, replaced].map((text) => ({ text, about: {} })));
      expect((await store.get(handleOf(lone)))?.text).toBe(lone);
      expect((await store.get(handleOf(replaced)))?.text).toBe(replaced);
    });

    test('any tool name is kept, also one that a database would not take', async (store) => {
      const tools = ['', 'a\0b', '\ud83d', "x'; DROP TABLE texts; --", '\\x00', '😀', 'null'];
      for (const tool of tools) await store.put('text', { session: 's', turn: 1, tool });
      expect((await store.get(handleOf('text')))?.refs.map(({ tool }) => tool)).toEqual(tools);
    });

    test(`values from nothing to ${largestBytes} bytes`, async (store) => {
      const sizes = [...SIZES.filter((size) => size < largestBytes), largestBytes];
      for (const size of sizes) {
        const text = textOf(size);
        const stored = await store.get(await store.put(text, { session: 's' }));
        expect([size, stored?.bytes, stored?.text === text]).toEqual([size, size, true]);
      }
      expect((await store.stats()).textBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
    });

    test('10,000 small texts in one batch', async (store) => {
      const texts = Array.from({ length: 10_000 }, (_, i) => `text ${i}`);
      const handles = await store.putMany(texts.map((text, i) => ({ text, about: { session: `s${i % 7}`, turn: i } })));
      expect((await store.stats()).texts).toBe(10_000);
      const found = await store.getMany(handles);
      expect(found.every((stored, i) => stored?.text === texts[i] && stored?.refs[0]?.turn === i)).toBe(true);
      expect((await collect(store.list('s3'))).length).toBe(texts.filter((_, i) => i % 7 === 3).length);
    });

    test('a batch may hold a text many times, and its handles are in the order of its items', async (store) => {
      const texts = ['a', 'b', 'a', 'c', 'a'];
      const handles = await store.putMany(texts.map((text, turn) => ({ text, about: { session: 's', turn } })));
      expect(handles).toEqual(texts.map(handleOf));
      expect((await store.get(handleOf('a')))?.refs.map(({ turn }) => turn)).toEqual([0, 2, 4]);
      expect((await store.stats()).texts).toBe(3);
    });

    test('an empty batch is no work', async (store) => {
      expect(await store.putMany([])).toEqual([]);
      expect(await store.getMany([])).toEqual([]);
    });

    test('getMany answers in the order asked, undefined for what is missing, and twice for twice', async (store) => {
      await store.putMany(['a', 'b'].map((text) => ({ text, about: {} })));
      const asked = [handleOf('b'), handleOf('missing'), handleOf('a'), 'no handle', handleOf('b')];
      expect((await store.getMany(asked)).map((stored) => stored?.text)).toEqual(['b', undefined, 'a', undefined, 'b']);
    });

    test('what is no handle is undefined, not an error', async (store) => {
      const handle = await store.put('text', { session: 's' });
      for (const strange of strangeHandles(handle)) expect(await store.get(strange)).toBe(undefined);
      expect((await store.getMany(strangeHandles(handle))).every((found) => found === undefined)).toBe(true);
    });

    test('what is given back is the caller’s own: changing it changes nothing in the store', async (store) => {
      const about = { session: 's', turn: 1 };
      const handle = await store.put('text', about);
      about.turn = 2;
      const first = (await store.get(handle)) as unknown as { refs: Reference[] };
      try {
        first.refs.push({ session: 'other' });
      } catch {
        // A frozen object is fine too.
      }
      expect((await store.get(handle))?.refs).toEqual([{ session: 's', turn: 1 }]);
    });
  });

  describe(`${name}: what it refuses`, () => {
    test('options of gc that it does not have', async (store) => {
      for (const options of [{ foo: 1 }, { force: 'yes' }, { repair: 1 }, null, 5])
        await expectCode(() => store.gc(options as never), 'BAD_OPTION');
      await store.gc({ force: undefined } as never);
    });

    test('a session that is no id', async (store) => {
      for (const session of BAD_SESSIONS) {
        await expectCode(() => store.put('text', { session }), 'BAD_OPTION');
        await expectCode(() => store.putTurn(turnOf(session, 1)), 'BAD_OPTION');
        await expectCode(() => store.turn(session, 1), 'BAD_OPTION');
        await expectCode(() => collect(store.turns(session)), 'BAD_OPTION');
        await expectCode(() => store.putNote({ session, name: 'n', text: '' }), 'BAD_OPTION');
        await expectCode(() => store.note(session, 'n'), 'BAD_OPTION');
        await expectCode(() => collect(store.list(session)), 'BAD_OPTION');
        await expectCode(() => collect(store.search('x', { session })), 'BAD_OPTION');
        await expectCode(() => store.delete(session), 'BAD_OPTION');
      }
      expect((await store.stats()).texts).toBe(0);
    });

    test('a turn that is no number from 0', async (store) => {
      for (const turn of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1' as unknown as number]) {
        await expectCode(() => store.put('text', { session: 's', turn }), 'BAD_OPTION');
        await expectCode(() => store.putTurn(turnOf('s', turn)), 'BAD_OPTION');
      }
    });

    test('a text that is no string', async (store) => {
      for (const text of [undefined, null, 5, {}, Buffer.from('x')])
        await expectCode(() => store.put(text as string, { session: 's' }), 'BAD_INPUT');
    });

    test('a batch with one bad item, whole', async (store) => {
      const items = [
        { text: 'good', about: { session: 's' } },
        { text: 'bad', about: { session: '../s' } },
      ];
      await expectCode(() => store.putMany(items), 'BAD_OPTION');
      await expectCode(() => store.putMany([null as never]), 'BAD_OPTION');
      await expectCode(() => store.putTurns([null as never]), 'BAD_OPTION');
      expect(await store.get(handleOf('good'))).toBe(undefined);
      expect((await store.stats()).texts).toBe(0);
      await expectCode(() => store.putTurns([turnOf('s', 1), turnOf('s', -1)]), 'BAD_OPTION');
      await expectCode(() => store.putTurns([turnOf('s', 1), { ...turnOf('s', 2), user: 5 as never }]), 'BAD_INPUT');
      expect((await store.stats()).turns).toBe(0);
    });

    test('a note with a name that is none, with no text, or with too much of it', async (store) => {
      for (const name of BAD_NAMES) {
        await expectCode(() => store.putNote({ session: 's', name, text: '' }), 'BAD_OPTION');
        await expectCode(() => store.note('s', name), 'BAD_OPTION');
      }
      for (const text of ['x'.repeat(65_537), 'ü'.repeat(32_769), '\ud800'.repeat(21_846)])
        await expectCode(() => store.putNote({ session: 's', name: 'n', text }), 'BAD_OPTION');
      for (const text of [undefined, null, 5, {}])
        await expectCode(() => store.putNote({ session: 's', name: 'n', text: text as string }), 'BAD_INPUT');
      expect((await store.stats()).notes).toBe(0);
    });

    test('work after it was closed, and closing twice is fine', async (store) => {
      await store.put('text', { session: 's' });
      await store.close();
      await store.close();
      await expectCode(() => store.put('more', { session: 's' }), 'STORE_CLOSED');
      await expectCode(() => store.get(handleOf('text')), 'STORE_CLOSED');
      await expectCode(() => collect(store.list('s')), 'STORE_CLOSED');
      await expectCode(() => store.putTurns([turnOf('s', 1)]), 'STORE_CLOSED');
      await expectCode(() => collect(store.turns('s')), 'STORE_CLOSED');
      await expectCode(() => store.putNote({ session: 's', name: 'n', text: '' }), 'STORE_CLOSED');
      await expectCode(() => store.note('s', 'n'), 'STORE_CLOSED');
    });
  });

  describe(`${name}: turns`, () => {
    test('a turn comes back as it was put', async (store) => {
      const record: TurnRecord = {
        session: 's',
        turn: 4,
        reasoning: 'I think \ud800 so',
        action: '{"command":"ls\0"}',
        observation: textOf(100_000),
        user: 'and hurry \udc00',
        tools: ['bash', '\0'],
        masked: true,
        results: [{ callId: 'call_1', tool: 'bash', handle: handleOf('x') }],
      };
      await store.putTurn(record);
      await store.putTurn(turnOf('s', 0));
      expect(await store.turn('s', 4)).toEqual(record);
      expect(await store.turn('s', 0)).toEqual(turnOf('s', 0));
    });

    test('the last record of a turn wins', async (store) => {
      await store.putTurn(turnOf('s', 1));
      await store.putTurn({ ...turnOf('s', 1), observation: '[masked]', masked: true });
      expect(await store.turn('s', 1)).toEqual({ ...turnOf('s', 1), observation: '[masked]', masked: true });
      expect((await store.stats()).turns).toBe(1);
    });

    test('a turn or session that is unknown is undefined', async (store) => {
      await store.putTurn(turnOf('s', 1));
      expect(await store.turn('s', 2)).toBe(undefined);
      expect(await store.turn('t', 1)).toBe(undefined);
      expect(await collect(store.turns('t'))).toEqual([]);
    });

    test('turns gives those of a session in the order of their numbers, each once', async (store) => {
      for (const turn of [10, 2, 0, 9]) await store.putTurn(turnOf('s', turn));
      await store.putTurn(turnOf('other', 1));
      await store.put('text', { session: 's', turn: 3 });
      const masked = { ...turnOf('s', 2), observation: '[masked]', masked: true };
      await store.putTurn(masked);
      const expected = [turnOf('s', 0), masked, turnOf('s', 9), turnOf('s', 10)];
      expect(await collect(store.turns('s'))).toEqual(expected);
    });

    test('a batch of turns is stored as if they came one after the other', async (store) => {
      await store.putTurns([]);
      const last = { ...turnOf('a', 1), observation: 'the last record' };
      await store.putTurns([turnOf('b', 1), turnOf('a', 2), turnOf('a', 1), last]);
      expect(await collect(store.turns('a'))).toEqual([last, turnOf('a', 2)]);
      expect(await collect(store.turns('b'))).toEqual([turnOf('b', 1)]);
      expect((await store.stats()).turns).toBe(3);
    });

    test('a thousand large turns come back whole, and a reader may stop early', async (store) => {
      const records = Array.from({ length: 1000 }, (_, turn) => ({ ...turnOf('s', turn), observation: textOf(9000) }));
      await store.putTurns(records);
      let next = 0;
      for await (const record of store.turns('s'))
        if (record.turn !== next++ || record.observation !== records[0]?.observation) break;
      expect(next).toBe(1000);
      for await (const { turn } of store.turns('s')) {
        expect(turn).toBe(0);
        break;
      }
    });

    test('turns that are put at once are all stored', async (store) => {
      const numbers = Array.from({ length: 40 }, (_, turn) => turn);
      await Promise.all(numbers.map((turn) => store.putTurns([turnOf('s', turn), turnOf('s', 39 - turn)])));
      expect((await collect(store.turns('s'))).map(({ turn }) => turn)).toEqual(numbers);
    });
  });

  describe(`${name}: notes`, () => {
    test('a note comes back by session and name, whatever it holds', async (store) => {
      const texts = [...ODD_TEXTS, 'x'.repeat(65_536), 'ü'.repeat(32_768), `\ud800${textOf(60_000)}`];
      for (const [i, text] of texts.entries()) await store.putNote({ session: 's', name: `n${i}`, text });
      const found = await Promise.all(texts.map((_, i) => store.note('s', `n${i}`)));
      expect(found.every((text, i) => text === texts[i])).toBe(true);
      expect((await store.stats()).notes).toBe(texts.length);
    });

    test('any name of letters, digits, _, ., : and - is a note of its own', async (store) => {
      const names = ['n', 'N', 'summary:p_abc.1-2', '..', '__proto__', 'constructor', '0', 'x'.repeat(128)];
      for (const note of names) await store.putNote({ session: 's', name: note, text: `of ${note}` });
      for (const note of names) expect(await store.note('s', note)).toBe(`of ${note}`);
      expect(await store.note('s', 'toString')).toBe(undefined);
    });

    test('the last text of a note wins', async (store) => {
      for (const text of ['long '.repeat(500), '', 'last']) {
        await store.putNote({ session: 's', name: 'n', text });
        expect(await store.note('s', 'n')).toBe(text);
      }
      expect((await store.stats()).notes).toBe(1);
    });

    test('a note is of one session, and no text or turn', async (store) => {
      await store.putNote({ session: 'a', name: 'n', text: 'same' });
      await store.putNote({ session: 'b', name: 'n', text: 'other' });
      expect(await store.note('a', 'n')).toBe('same');
      expect(await store.note('b', 'n')).toBe('other');
      expect(await store.note('c', 'n')).toBe(undefined);
      expect(await store.note('a', 'm')).toBe(undefined);
      expect(await store.get(handleOf('same'))).toBe(undefined);
      expect(await collect(store.list('a'))).toEqual([]);
      expect(await collect(store.turns('a'))).toEqual([]);
      expect(await collect(store.search('same'))).toEqual([]);
      const { texts, turns, notes, sessions, textBytes } = await store.stats();
      expect([texts, turns, notes, sessions, textBytes]).toEqual([0, 0, 2, 2, 0]);
    });

    test('notes between texts and turns leave those as they are', async (store) => {
      for (let i = 0; i < 5; i++) {
        await store.put(`text ${i}`, { session: 's', turn: i });
        await store.putNote({ session: 's', name: `n${i % 2}`, text: `text ${i}` });
        await store.putTurn(turnOf('s', i));
      }
      expect((await collect(store.list('s'))).map(({ text }) => text)).toEqual([0, 1, 2, 3, 4].map((i) => `text ${i}`));
      expect(await collect(store.turns('s'))).toEqual([0, 1, 2, 3, 4].map((i) => turnOf('s', i)));
      expect([await store.note('s', 'n0'), await store.note('s', 'n1')]).toEqual(['text 4', 'text 3']);
    });

    for (const purge of [false, true])
      test(`${purge ? 'purge' : 'delete'} removes the notes of a session, and of no other`, async (store) => {
        for (const session of ['a', 'b']) await store.putNote({ session, name: 'n', text: `of ${session}` });
        await store.put('of a', { session: 'b' });
        await store.delete('a', { purge });
        expect(await store.note('a', 'n')).toBe(undefined);
        expect(await store.note('b', 'n')).toBe('of b');
        expect((await store.get(handleOf('of a')))?.refs).toEqual([{ session: 'b' }]);
        const { notes, sessions } = await store.stats();
        expect([notes, sessions]).toEqual([1, 1]);
        await store.putNote({ session: 'a', name: 'm', text: 'after' });
        expect([await store.note('a', 'n'), await store.note('a', 'm')]).toEqual([undefined, 'after']);
        expect(await store.verify()).toEqual([]);
      });

    test('notes that are put at once are all stored, and one of those with the same name', async (store) => {
      const numbers = Array.from({ length: 40 }, (_, i) => i);
      const put = (note: string, i: number) => store.putNote({ session: 's', name: note, text: `${i} `.repeat(1000) });
      await Promise.all(numbers.flatMap((i) => [put('same', i), put(`own${i}`, i)]));
      for (const i of numbers) expect(await store.note('s', `own${i}`)).toBe(`${i} `.repeat(1000));
      const same = await store.note('s', 'same');
      expect(numbers.some((i) => same === `${i} `.repeat(1000))).toBe(true);
      expect((await store.stats()).notes).toBe(41);
    });

    test('a note is taken as it was when it was put', async (store) => {
      const note = { session: 's', name: 'n', text: 'first' };
      const work = store.putNote(note);
      Object.assign(note, { session: '../s', name: 'm', text: 'second' });
      await work;
      expect(await store.note('s', 'n')).toBe('first');
    });
  });

  describe(`${name}: sessions`, () => {
    test('list gives the texts of a session, each once, oldest first', async (store) => {
      await store.put('shared', { session: 'other', turn: 1 });
      for (const [turn, text] of ['first', 'second', 'first', 'shared', 'third'].entries())
        await store.put(text, { session: 's', turn });
      const found = await collect(store.list('s'));
      expect(found.map(({ text }) => text)).toEqual(['first', 'second', 'shared', 'third']);
      expect(found[2]).toEqual(await store.get(handleOf('shared')));
    });

    test('an unknown session is empty', async (store) => {
      expect(await collect(store.list('nobody'))).toEqual([]);
      await store.delete('nobody');
      await store.delete('nobody', { purge: true });
    });

    test('a list can be left before its end', async (store) => {
      await store.putMany(Array.from({ length: 2000 }, (_, i) => ({ text: `t${i}`, about: { session: 's' } })));
      for await (const { text } of store.list('s')) {
        expect(text).toBe('t0');
        break;
      }
      expect((await collect(store.list('s'))).length).toBe(2000);
    });

    for (const purge of [false, true]) {
      const what = purge ? 'purge' : 'delete';
      test(`${what} removes the texts, references and turns of a session`, async (store) => {
        const handle = await store.put('gone', { session: 's', turn: 1 });
        await store.putTurn(turnOf('s', 1));
        await store.delete('s', { purge });
        expect(await store.get(handle)).toBe(undefined);
        expect(await store.getMany([handle])).toEqual([undefined]);
        expect(await store.turn('s', 1)).toBe(undefined);
        expect(await collect(store.turns('s'))).toEqual([]);
        expect(await collect(store.list('s'))).toEqual([]);
        expect(await collect(store.search('gone'))).toEqual([]);
        const { texts, turns, sessions, textBytes } = await store.stats();
        expect([texts, turns, sessions, textBytes]).toEqual([0, 0, 0, 0]);
        expect(await store.verify()).toEqual([]);
      });

      test(`${what} leaves whole what another session shares`, async (store) => {
        const [shared] = await store.putMany([
          { text: 'shared', about: { session: 'a', turn: 1 } },
          { text: 'shared', about: { session: 'b', turn: 9 } },
          { text: 'own', about: { session: 'a', turn: 2 } },
          { text: 'kept', about: { session: 'b', turn: 2 } },
        ]);
        await store.putTurn(turnOf('b', 9));
        await store.delete('a', { purge });
        expect(await store.get(shared ?? '')).toEqual(storedOf('shared', [{ session: 'b', turn: 9 }]));
        expect(await store.get(handleOf('own'))).toBe(undefined);
        expect((await collect(store.list('b'))).map(({ text }) => text)).toEqual(['shared', 'kept']);
        expect(await collect(store.turns('b'))).toEqual([turnOf('b', 9)]);
        // A session that continues after its deletion begins with its next turn.
        await store.putTurn(turnOf('a', 5));
        expect(await collect(store.turns('a'))).toEqual([turnOf('a', 5)]);
      });
    }

    test('what no session refers to outlives them all', async (store) => {
      const handle = await store.put('text', {});
      await store.put('text', { session: 's' });
      await store.delete('s', { purge: true });
      await store.gc({ force: true });
      expect(await store.get(handle)).toEqual(storedOf('text', [{}]));
    });

    test('a session whose name begins another is another', async (store) => {
      await store.putMany(['s', 's1', 's-1', 'S'].map((session) => ({ text: `of ${session}`, about: { session } })));
      await store.delete('s');
      expect((await collect(store.list('s1'))).map(({ text }) => text)).toEqual(['of s1']);
      expect((await collect(store.list('S'))).map(({ text }) => text)).toEqual(['of S']);
      expect((await collect(store.list('s-1'))).map(({ text }) => text)).toEqual(['of s-1']);
    });

    test('names that an object has anyway are sessions like others', async (store) => {
      for (const session of ['__proto__', 'constructor', 'toString']) {
        await store.put(`of ${session}`, { session });
        expect((await collect(store.list(session))).map(({ text }) => text)).toEqual([`of ${session}`]);
        expect(await store.turn(session, 0)).toBe(undefined);
      }
    });

    test('a deleted text can be put again', async (store) => {
      const handle = await store.put('again', { session: 's', turn: 1 });
      await store.delete('s', { purge: true });
      await store.put('again', { session: 's', turn: 2 });
      expect((await store.get(handle))?.refs).toEqual([{ session: 's', turn: 2 }]);
      expect((await collect(store.list('s'))).length).toBe(1);
    });
  });

  describe(`${name}: search`, () => {
    const fill = async (store: Store): Promise<void> => {
      await store.put('alpha\nError: one\nomega', { session: 'a', turn: 1, tool: 'bash' });
      await store.put('error: two\r\nError: three\n', { session: 'a', turn: 2 });
      await store.put('Error: four', { session: 'b', turn: 1 });
    };
    const found = (matches: readonly Match[]) => matches.map(({ line, text }) => `${line}:${text}`);

    test('finds lines by text, oldest text first, with handle, line and references', async (store) => {
      await fill(store);
      const matches = await collect(store.search('Error: '));
      expect(found(matches)).toEqual(['2:Error: one', '2:Error: three', '1:Error: four']);
      expect(matches[0]).toEqual({
        handle: handleOf('alpha\nError: one\nomega'),
        line: 2,
        text: 'Error: one',
        refs: [{ session: 'a', turn: 1, tool: 'bash' }],
      });
    });

    test('keeps to a session, and to a limit', async (store) => {
      await fill(store);
      expect(found(await collect(store.search('Error', { session: 'b' })))).toEqual(['1:Error: four']);
      expect(found(await collect(store.search('Error', { session: 'nobody' })))).toEqual([]);
      expect(found(await collect(store.search('Error', { limit: 2 })))).toEqual(['2:Error: one', '2:Error: three']);
      expect(found(await collect(store.search('Error', { limit: 0 })))).toEqual([]);
    });

    test('takes a text as it is, whatever it holds', async (store) => {
      const odd = ['a.c', '100%', 'a_b', 'back\\slash', "quote'", '(?:', 'nul\0nul', '\ud83d', '😀'];
      await store.put(['abc', 'axb', '100', ...odd].join('\n'), { session: 's' });
      for (const query of odd) expect((await collect(store.search(query))).map(({ text }) => text)[0]).toBe(query);
      expect((await collect(store.search('a.c'))).length).toBe(1);
      expect((await collect(store.search('a_b'))).length).toBe(1);
    });

    test('takes a regular expression, by lines', async (store) => {
      await fill(store);
      expect(found(await collect(store.search('^error', { regex: true })))).toEqual(['1:error: two']);
      expect(found(await collect(store.search('e$', { regex: true, limit: 2 })))).toEqual([
        '2:Error: one',
        '2:Error: three',
      ]);
      await expectCode(() => collect(store.search('(', { regex: true })), 'BAD_OPTION');
    });

    test('takes no notice of case when told so', async (store) => {
      await fill(store);
      expect((await collect(store.search('ERROR', { ignoreCase: true }))).length).toBe(4);
      expect((await collect(store.search('^ERR', { ignoreCase: true, regex: true }))).length).toBe(4);
      expect((await collect(store.search('ERROR'))).length).toBe(0);
    });

    test('ends a pattern that would not end, with what it had found, and says so', async (store) => {
      await store.put('ab', { session: 's' });
      await store.put(`${'a'.repeat(60)}!`, { session: 's' });
      const seen: string[] = [];
      const work = async () => {
        for await (const { text } of store.search('^(a+)+b?$|^ab$', { regex: true })) seen.push(text);
      };
      await expectCode(work, 'TIMED_OUT');
      expect(seen).toEqual(['ab']);
      expect((await store.get(handleOf('ab')))?.text).toBe('ab');
    });

    test('refuses what is no limit', async (store) => {
      for (const limit of [-1, 1.5, Number.NaN])
        await expectCode(() => collect(store.search('x', { limit })), 'BAD_OPTION');
    });
  });

  describe(`${name}: tenants`, () => {
    test('a tenant cannot have another’s text, also with its handle', async (mine, tenant) => {
      const theirs = await open(`${tenant}-other`);
      try {
        const handle = await mine.put('secret', { session: 's', turn: 1 });
        await mine.putTurn(turnOf('s', 1));
        await mine.putNote({ session: 's', name: 'n', text: 'secret' });
        expect(await theirs.note('s', 'n')).toBe(undefined);
        expect(await theirs.get(handle)).toBe(undefined);
        expect(await theirs.getMany([handle])).toEqual([undefined]);
        expect(await theirs.turn('s', 1)).toBe(undefined);
        expect(await collect(theirs.list('s'))).toEqual([]);
        expect(await collect(theirs.search('secret'))).toEqual([]);
        expect(await collect(theirs.search('s.cret', { regex: true, session: 's' }))).toEqual([]);
        expect(await collect(theirs.export())).toEqual([]);
        expect((await theirs.stats()).texts).toBe(0);
      } finally {
        await theirs.close();
      }
    });

    test('tenants who have a note of the same name overwrite and delete only their own', async (mine, tenant) => {
      const theirs = await open(`${tenant}-other`);
      try {
        for (const store of [mine, theirs]) await store.putNote({ session: 's', name: 'n', text: 'first' });
        await theirs.putNote({ session: 's', name: 'n', text: 'second' });
        expect([await mine.note('s', 'n'), await theirs.note('s', 'n')]).toEqual(['first', 'second']);
        await theirs.delete('s', { purge: true });
        expect([await mine.note('s', 'n'), await theirs.note('s', 'n')]).toEqual(['first', undefined]);
      } finally {
        await theirs.close();
      }
    });

    test('tenants who have the same text delete only their own', async (mine, tenant) => {
      const theirs = await open(`${tenant}-other`);
      try {
        const handle = await mine.put('common', { session: 's' });
        await theirs.put('common', { session: 's' });
        await theirs.delete('s', { purge: true });
        await theirs.gc({ force: true });
        expect(await theirs.get(handle)).toBe(undefined);
        expect(await mine.get(handle)).toEqual(storedOf('common', [{ session: 's' }]));
      } finally {
        await theirs.close();
      }
    });
  });

  describe(`${name}: at once`, () => {
    test('puts at the same time all succeed, and the same text is stored once', async (store) => {
      const work = Array.from({ length: 400 }, (_, i) => store.put(`text ${i % 100}`, { session: 's', turn: i }));
      const handles = await Promise.all(work);
      expect(handles).toEqual(handles.map((_, i) => handleOf(`text ${i % 100}`)));
      expect((await store.stats()).texts).toBe(100);
      const turns = (await store.get(handleOf('text 7')))?.refs.map(({ turn }) => turn ?? -1);
      expect(turns?.sort((a, b) => a - b)).toEqual([7, 107, 207, 307]);
    });

    test('batches that share texts in opposite order do not wait for each other for ever', async (store) => {
      const items = Array.from({ length: 200 }, (_, i) => ({ text: `text ${i}`, about: { session: 's' } }));
      await Promise.all(Array.from({ length: 10 }, (_, i) => store.putMany(i % 2 ? items : items.toReversed())));
      expect((await store.stats()).texts).toBe(200);
    });

    test('a text that one session deletes while another puts it is there', async (store) => {
      for (let round = 0; round < 25; round++) {
        const text = `shared ${round}`;
        await store.put(text, { session: 'a' });
        await Promise.all([store.delete('a', { purge: round % 5 === 0 }), store.put(text, { session: 'b' })]);
        expect(await store.get(handleOf(text))).toEqual(storedOf(text, [{ session: 'b' }]));
      }
    });

    test('a text can be had as soon as its put has resolved, while others go on', async (store) => {
      const later: Promise<unknown>[] = [];
      for (let i = 0; i < 50; i++) {
        later.push(store.put(`later ${i}`, { session: 's' }));
        const handle = await store.put(`now ${i}`, { session: 's' });
        expect((await store.get(handle))?.text).toBe(`now ${i}`);
      }
      await Promise.all(later);
    });
  });

  describe(`${name}: upkeep`, () => {
    const fill = async (store: Store): Promise<void> => {
      await store.putMany(
        ODD_TEXTS.map((text, turn) => ({ text, about: { session: `s${turn % 3}`, turn, tool: 'bash' } })),
      );
      await store.put(ODD_TEXTS[2] ?? '', { session: 'again', turn: 7 });
      await store.put('about nothing', {});
      await store.putTurn(turnOf('s0', 1));
      await store.putTurn({ ...turnOf('s1', 2), masked: true, results: [{ callId: 'c', tool: 't', handle: 'p_x' }] });
      await store.putNote({ session: 's1', name: 'n', text: 'before' });
      for (const [i, text] of ODD_TEXTS.entries())
        await store.putNote({ session: `s${i % 3}`, name: i % 2 ? 'n' : 'm', text });
      await store.putNote({ session: 'only', name: 'n', text: 'alone' });
    };

    test('stats count texts, turns, notes, sessions and bytes', async (store) => {
      await store.put('1234', { session: 'a' });
      await store.put('1234', { session: 'b' });
      await store.put('ü', { session: 'b' });
      await store.putTurn(turnOf('c', 1));
      await store.putNote({ session: 'd', name: 'n', text: 'not a text' });
      const { texts, turns, notes, sessions, textBytes } = await store.stats();
      expect([texts, turns, notes, sessions, textBytes]).toEqual([2, 1, 1, 4, 6]);
    });

    test('a store that names its kind names that of its stats', async (store) => {
      const { kind } = await store.stats();
      expect(store.kind ?? kind).toBe(kind);
    });

    test('a sound store verifies clean, and gc frees only what is dead', async (store) => {
      await fill(store);
      const before = await exportOf(store);
      expect(await store.verify()).toEqual([]);
      const { repaired } = await store.gc({ force: true });
      expect(repaired).toBe(0);
      await store.gc({ repair: true });
      expect(await exportOf(store)).toEqual(before);
      expect(await store.verify()).toEqual([]);
    });

    test('what is exported, as lines of JSON, makes the same store again', async (store, tenant) => {
      await fill(store);
      const exported = await exportOf(store);
      const copy = await open(`${tenant}-copy`);
      try {
        for (const line of exported.map((json) => JSON.parse(json) as ExportedLine)) {
          if (line.type === 'turn') await copy.putTurn(withoutType(line));
          else if (line.type === 'note') await copy.putNote(line);
          else for (const about of line.refs) await copy.put(line.text, about);
        }
        expect((await exportOf(copy)).sort()).toEqual(exported.sort());
        expect(await copy.getMany(ODD_TEXTS.map(handleOf))).toEqual(await store.getMany(ODD_TEXTS.map(handleOf)));
      } finally {
        await copy.close();
      }
    });

    test('exported notes are those that are kept', async (store) => {
      for (const text of ['first', 'last']) await store.putNote({ session: 's', name: 'n', text });
      await store.putNote({ session: 'gone', name: 'n', text: 'gone' });
      await store.delete('gone');
      expect(await collect(store.export())).toEqual([{ type: 'note', session: 's', name: 'n', text: 'last' }]);
    });

    test('exported texts say what get says', async (store) => {
      const handle = await store.put('text', { session: 's', turn: 1 });
      expect(await collect(store.export())).toEqual([{ type: 'text', ...(await store.get(handle)) }]);
    });
  });

  describe(`${name}: retention`, () => {
    const DAY = 86_400_000;
    const later = { now: Date.now() + 10 * DAY, maxAgeMs: 5 * DAY };
    /** Three sessions and a text without one, the first session sharing a text with the last. */
    const fillAges = async (store: Store): Promise<void> => {
      await store.put(textOf(9000), { session: 'first', turn: 1 });
      await store.put('shared', { session: 'first', turn: 2 });
      await store.putTurn(turnOf('first', 1));
      await store.putNote({ session: 'first', name: 'n', text: 'note' });
      await store.put(textOf(9001), { session: 'second' });
      await store.put(textOf(9002), { session: 'third' });
      await store.put('shared', { session: 'third' });
      await store.put('alone', {});
    };
    /** Changes by another process may be noticed a little later. */
    const changedFrom = async (store: Store, before: number): Promise<number> => {
      for (let n = 0; n < 100; n++) {
        const now = await store.deletions();
        if (now !== before) return now;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return before;
    };
    const namesOf = async (store: Store): Promise<string[]> =>
      (await collect(store.sessions())).map(({ session }) => session);

    test('sessions gives each with its times and sizes, the least recently used first', async (store) => {
      const began = Date.now();
      await fillAges(store);
      const found = await collect(store.sessions());
      expect(found.map(({ session, texts, textBytes, turns }) => [session, texts, textBytes, turns])).toEqual([
        ['first', 2, 9006, 1],
        ['second', 1, 9001, 0],
        ['third', 2, 9008, 0],
      ]);
      // Times are rounded to seconds, and may come from the clock of a server.
      const isNow = (time: number): boolean => Math.abs(time - began) < 600_000;
      expect(found.every(({ firstAt, lastAt }) => isNow(firstAt) && isNow(lastAt) && firstAt <= lastAt)).toBe(true);
    });

    test('stats tell how old a store is, and what was added in a week', async (store) => {
      expect([(await store.stats()).oldestAt, (await store.stats()).newestAt]).toEqual([undefined, undefined]);
      await fillAges(store);
      const { oldestAt = 0, newestAt = 0, weekBytes = 0, usedBytes = 0 } = await store.stats();
      expect([oldestAt > Date.now() - 600_000, newestAt >= oldestAt]).toEqual([true, true]);
      // A database compresses.
      expect([weekBytes > 1000, usedBytes > 1000]).toEqual([true, true]);
    });

    test('delete answers what it removed, and what it would remove', async (store) => {
      await fillAges(store);
      const planned = await store.delete('first', { dryRun: true });
      expect([planned.sessions, planned.texts, planned.turns, planned.bytes > 1000]).toEqual([1, 1, 1, true]);
      expect((await store.list('first')[Symbol.asyncIterator]().next()).done).toBe(false);
      expect(await store.delete('first')).toEqual(planned);
      expect((await store.get(handleOf('shared')))?.refs).toEqual([{ session: 'third' }]);
      expect(await store.delete('first')).toEqual({ sessions: 0, texts: 0, turns: 0, bytes: 0 });
    });

    test('prune by age removes what was not used for so long, also texts without a session', async (store) => {
      await fillAges(store);
      const kept = await store.prune({ maxAgeMs: 5 * DAY });
      expect([kept.sessions, kept.texts, (await store.stats()).texts]).toEqual([0, 0, 5]);
      const planned = await store.prune({ ...later, dryRun: true });
      expect([planned.sessions, planned.texts, planned.turns, planned.inUse]).toEqual([3, 5, 1, 0]);
      expect((await store.stats()).texts).toBe(5);
      const { usedBytes: _, ...removed } = await store.prune(later);
      const { usedBytes: __, ...expected } = planned;
      expect(removed).toEqual(expected);
      const { texts, turns, notes, sessions } = await store.stats();
      expect([texts, turns, notes, sessions, await namesOf(store)]).toEqual([0, 0, 0, 0, []]);
      expect(await store.verify()).toEqual([]);
    });

    test('prune by size removes the least recently used first, and no more than it must', async (store) => {
      await fillAges(store);
      const { usedBytes = 0 } = await store.stats();
      const options = { maxBytes: usedBytes - 1 };
      const planned = await store.prune({ ...options, dryRun: true });
      expect([planned.sessions, planned.texts, planned.inUse]).toEqual([1, 1, 1]);
      const report = await store.prune(options);
      expect([report.sessions, report.texts, report.bytes]).toEqual([1, 1, planned.bytes]);
      expect(await namesOf(store)).toEqual(['second', 'third']);
      expect((await store.get(handleOf('shared')))?.text).toBe('shared');
      expect((await store.prune({ maxBytes: 0 })).sessions).toBe(2);
      expect((await store.stats()).texts).toBe(0);
    });

    test('a text without a session that a session also hid outlives its own age', async (store) => {
      await store.put('both', {});
      await store.put('both', { session: 's' });
      await store.prune({ ...later, maxBytes: 0, dryRun: true });
      await store.put('alone', {});
      expect((await store.get(handleOf('both')))?.refs).toEqual([{}, { session: 's' }]);
      await store.delete('s');
      expect((await store.get(handleOf('both')))?.refs).toEqual([{}]);
      await store.prune(later);
      expect([await store.get(handleOf('both')), await store.get(handleOf('alone'))]).toEqual([undefined, undefined]);
      await store.put('both', {});
      expect((await store.get(handleOf('both')))?.refs).toEqual([{}]);
    });

    test('prune refuses to work without a limit, and with one that is none', async (store) => {
      await expectCode(() => store.prune({}), 'BAD_OPTION');
      await expectCode(() => store.prune({ maxAgeMs: -1 }), 'BAD_OPTION');
      await expectCode(() => store.prune({ maxBytes: Number.NaN }), 'BAD_OPTION');
    });

    test('touch brings nothing back, and makes no session', async (store) => {
      await store.put('text', { session: 's' });
      await store.touch('s');
      await store.delete('s');
      await store.touch('s');
      await store.touch('never');
      expect([await namesOf(store), (await store.stats()).sessions]).toEqual([[], 0]);
      await expectCode(() => store.touch('a/b'), 'BAD_OPTION');
    });

    test('deletions changes when something was deleted, and not when something was put', async (store) => {
      await store.put('text', { session: 's' });
      const before = await store.deletions();
      await store.put('more', { session: 's' });
      await store.prune({ maxAgeMs: DAY });
      expect(await store.deletions()).toBe(before);
      await store.delete('s');
      const between = await changedFrom(store, before);
      await store.put('text', { session: 's' });
      await store.prune(later);
      expect([between === before, (await changedFrom(store, between)) === between]).toEqual([false, false]);
    });

    test('what is put while a prune runs is there', async (store) => {
      for (let i = 0; i < 20; i++) await store.put(textOf(500 + i), { session: `s${i}` });
      const { usedBytes = 0 } = await store.stats();
      const pruned = store.prune({ maxBytes: usedBytes / 2 });
      const texts = Array.from({ length: 30 }, (_, i) => `put meanwhile ${i}`);
      await Promise.all([pruned, ...texts.map((text) => store.put(text, { session: 'new' }))]);
      expect((await store.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    });
  });

  if (!reopen) return;
  describe(`${name}: after it was closed and opened`, () => {
    testReopened('everything is there', async (store, again) => {
      await store.putMany(ODD_TEXTS.map((text, turn) => ({ text, about: { session: 's', turn } })));
      await store.putTurn(turnOf('s', 1));
      for (const text of ['first', '\ud800 last']) await store.putNote({ session: 's', name: 'n', text });
      const before = await exportOf(store);
      const opened = await again();
      expect(await exportOf(opened)).toEqual(before);
      expect((await collect(opened.list('s'))).map(({ text }) => text)).toEqual(ODD_TEXTS);
      expect(await collect(opened.turns('s'))).toEqual([turnOf('s', 1)]);
      expect(await opened.note('s', 'n')).toBe('\ud800 last');
      await opened.putNote({ session: 's', name: 'n', text: 'later' });
      expect(await opened.note('s', 'n')).toBe('later');
      expect((await opened.stats()).notes).toBe(1);
      expect(await opened.verify()).toEqual([]);
    });

    testReopened('sessions have the times they had', async (store, again) => {
      for (const session of ['a', 'b']) await store.put(`of ${session}`, { session });
      const before = await collect(store.sessions());
      expect(await collect((await again()).sessions())).toEqual(before);
    });

    testReopened('what was pruned is still gone, and what was put since is there', async (store, again) => {
      const later = { now: Date.now() + 10 * 86_400_000, maxAgeMs: 86_400_000 };
      await store.put('of a session', { session: 's' });
      await store.put('of none', {});
      await store.prune(later);
      await store.put('since', {});
      const reopened = await again();
      const found = await reopened.getMany(['of a session', 'of none', 'since'].map(handleOf));
      expect(found.map((stored) => stored?.text)).toEqual([undefined, undefined, 'since']);
      expect((await reopened.stats()).sessions).toBe(0);
    });

    testReopened('what was deleted is still gone', async (store, again) => {
      await store.putMany(['a', 'b'].map((session) => ({ text: `of ${session}`, about: { session } })));
      await store.putTurn(turnOf('a', 1));
      await store.putNote({ session: 'a', name: 'n', text: 'gone' });
      await store.delete('a');
      const opened = await again();
      expect(await opened.get(handleOf('of a'))).toBe(undefined);
      expect(await collect(opened.turns('a'))).toEqual([]);
      expect(await opened.note('a', 'n')).toBe(undefined);
      expect((await opened.get(handleOf('of b')))?.text).toBe('of b');
      expect((await opened.stats()).sessions).toBe(1);
    });

    testReopened('a text refers to places of before and after', async (store, again) => {
      await store.put('text', { session: 's', turn: 1 });
      const opened = await again();
      await opened.put('text', { session: 's', turn: 1 });
      await opened.put('text', { session: 's', turn: 2 });
      expect((await opened.get(handleOf('text')))?.refs.map(({ turn }) => turn)).toEqual([1, 2]);
    });
  });
}

/** The output of `export`, one object per line. */
type ExportedLine =
  | (Stored & { readonly type: 'text' })
  | (TurnRecord & { readonly type: 'turn' })
  | (SessionNote & { readonly type: 'note' });

function withoutType({ type: _, ...record }: TurnRecord & { readonly type: 'turn' }): TurnRecord {
  return record;
}

const exportOf = async (store: Store): Promise<string[]> =>
  (await collect(store.export())).map((line) => JSON.stringify(line));

const SIZES = [0, 1, 2, 63, 64, 65, 4000, 4095, 4096, 4097, 8192, 65_535, 65_536, 65_537, 300_000, 1_048_576];

const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  '\n',
  '\0',
  'a\0b\0',
  '\ufeffwith a mark',
  'é and e\u0301',
  '😀👩‍👩‍👧‍👦🇪🇺',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  'x\udfff\n\ud800y',
  '\ufffd\uffff\ufffe',
  '\u2028\u2029\u0085',
  'line\r\nline\rline',
  '{"json":"\\u0000"}',
  "'; DROP TABLE texts; --",
  '\\x00\\\\',
  'p_aaaaaaaaaaaaaaaaaaaaaaaaaa',
  '中文'.repeat(3000),
];

const BAD_SESSIONS = ['', '../s', 'a/b', 'a b', 'ä', 'a\0', 'a\n', 'x'.repeat(129), 5 as unknown as string];

const BAD_NAMES = ['', 'a/b', 'a b', 'ä', 'a\0', 'a\n', '\ud800', 'x'.repeat(129), 5 as unknown as string];

const strangeHandles = (handle: string): string[] => [
  '',
  'p_',
  handle.slice(0, -1),
  `${handle}a`,
  `${handle}\n`,
  ` ${handle}`,
  handle.toUpperCase(),
  handle.slice(2),
  `p_${'1'.repeat(26)}`,
  `p_${'a'.repeat(26)}`,
  '../../../etc/passwd',
  `p_${'../'.repeat(9).slice(0, 26)}`,
  '__proto__',
  '\0',
  '\ud800',
  "' OR 1=1 --",
  'p_'.repeat(100_000),
  undefined as unknown as string,
];

const turnOf = (session: string, turn: number): TurnRecord => ({
  session,
  turn,
  reasoning: 'because',
  action: '{"command":"ls"}',
  observation: 'a b c',
  masked: false,
});

const storedOf = (text: string, refs: readonly Reference[]): Stored => ({
  handle: handleOf(text),
  text,
  bytes: Buffer.byteLength(text),
  refs,
});

/** A text of this many bytes. No other size begins with it, and it does not compress to nothing. */
function textOf(bytes: number): string {
  let seed = bytes + 1;
  const line = (): string => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return `${seed.toString(36)} of ${bytes}\n`;
  };
  const lines: string[] = [];
  for (let length = 0; length < bytes; length += lines.at(-1)?.length ?? 0) lines.push(line());
  return lines.join('').slice(0, bytes);
}

let tenants = 0;

const freshTenant = (): string => `conformance-${process.pid}-${Date.now().toString(36)}-${tenants++}`;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The code of the error with which some work ends, whether it is thrown at once or later. */
async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'no error';
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
}

function recordOf(id: string, at: number, changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    ...{ id, at, session: 'session', conversation: 'conversation', arm: 'treated', api: 'anthropic' },
    prices: { name: 'anthropic-5m', read: 0.1, write: 1.25 },
    ...{ status: 200, act: 'wait', masked: 0, newMasks: 0 },
    expected: { sent: { cached: 10, written: 5 }, without: { cached: 10, written: 5 } },
    without: { cached: 10, written: 5 },
    signs: { results: 0, failed: 0, repeated: 0, recalls: 0 },
    ...changes,
  };
}

/** Every field that may be left out, and a name with characters that are hard to write down. */
const FULL_RECORD: Partial<RequestRecord> = {
  model: 'model "\n\u0000\u2028\ud800 ä 🜂',
  billed: { cached: 1, written: 2, output: 3 },
  refused: 400,
  signs: { results: 4, failed: 3, repeated: 2, recalls: 1, isFinal: true },
};
