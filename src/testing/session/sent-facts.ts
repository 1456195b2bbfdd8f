import type { ChatMessage } from '../../message.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import { hybrid } from '../../plan/policies/hybrid.ts';
import { never } from '../../plan/policies/never.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Store, TurnRecord } from '../../store/store.ts';
import { call, eventsOf, reply, result, type SessionSuite, turns, user } from './session-suite.ts';

const WINDOW = { window: 200_000, maxHistoryTokens: 0 };
const MINUTE = 60_000;

/** Tests of what is sent, and stays the same after a crash: results on arrival, cold caches, summaries, turns. */
export function sentFacts({ describe, test, expect, begin, options }: SessionSuite): void {
  describe('results on arrival', () => {
    const text = file('a');
    const early = [user('the task'), ...turn('a', text), ...turn('b', text), reply('Read twice.')];
    const off = { policy: breakEven(), arrival: { clean: false, references: false } };
    const on = { policy: breakEven(), arrival: {} };

    test('of a session that began without it stay as they were sent, and new ones are made smaller', async () => {
      const { session, crash, place } = await begin(off);
      await session.add(...early);
      const next = await crash(on);
      expect(next.view()).toEqual(early);
      await next.add(...turn('c', text));
      const sent = next.view();
      expect(sent.slice(0, early.length)).toEqual(early);
      expect(contentOf(sent, 'c')).toContain(': same as ');
      for (const isAlone of [false, true]) {
        if (isAlone) await options.removeSnapshot(place, 'chat');
        const again = await crash(on);
        expect(again.view()).toEqual(sent);
        expect((await eventsOf(again)).filter(({ type }) => type === 'arrival')).toHaveLength(1);
      }
    });

    test('go out whole again when they come after it was turned off', async () => {
      const { session, crash } = await begin(on);
      await session.add(...early);
      const sent = session.view();
      expect(contentOf(sent, 'b')).toContain(': same as ');
      const again = await crash(off);
      await again.add(...turn('c', text));
      expect(again.view()).toEqual([...sent, ...turn('c', text)]);
    });

    test('keep their cuts when the size is changed', async () => {
      const { session, crash } = await begin({ policy: breakEven(), arrival: { truncate: 800 } });
      await session.add(user('the task'), ...turn('a', file('a', 500)));
      const sent = session.view();
      const again = await crash({ arrival: { truncate: 300 } });
      await again.add(...turn('b', file('b', 500)));
      expect(again.view().slice(0, sent.length)).toEqual(sent);
      expect(contentOf(again.view(), 'b')).toContain('kept first ~300');
    });

    test('go out whole where the store fails, and stay whole', async () => {
      const messages = [user('the task'), ...turn('a', text), ...turn('b', text)];
      const problems: string[] = [];
      const onProblem = ({ message }: Error): void => void problems.push(message);
      const failing: Store = { ...createMemoryStore(), putMany: () => Promise.reject(new Error('disk full')) };
      const settings = { policy: breakEven(), recordTurns: false, onProblem };
      const { session, crash, place } = await begin({ ...settings, store: failing });
      await session.add(...messages);
      expect((await session.render(WINDOW)).messages).toEqual(messages);
      expect(problems).toContain('disk full');
      const skipped = (await eventsOf(session)).filter(({ type }) => type === 'arrival_skipped');
      expect(skipped).toMatchObject([
        { results: [{ message: '6', segment: 0 }], reason: expect.stringMatching(/disk full/) },
      ]);
      const store = createMemoryStore();
      for (const id of ['c', 'd']) {
        if (id === 'd') await options.removeSnapshot(place, 'chat');
        const again = await crash({ store });
        await again.add(reply('Read.'), ...turn(id, text));
        const sent = (await again.render(WINDOW)).messages;
        expect(sent.slice(0, messages.length)).toEqual(messages);
        expect(contentOf(sent, id)).toContain(': same as ');
      }
    });
  });

  describe('a request after the life of the cache', () => {
    /** Results that break-even may mask, though it would still wait. */
    const waiting = [user('the task'), ...Array.from({ length: 14 }, (_, i) => turn(`n${i}`, file(`n${i}`))).flat()];
    const masked = (messages: readonly ChatMessage[]): number =>
      messages.filter(({ role, content }) => role === 'tool' && !content.includes('compute')).length;

    test('masks all that waits, once, and for good', async () => {
      let time = Date.UTC(2026, 0, 2);
      const { session, crash, place } = await begin({ policy: breakEven(), now: () => time });
      await session.add(...waiting);
      const warm = masked((await session.render(WINDOW)).messages);
      time += 4 * MINUTE;
      expect(masked((await session.render(WINDOW)).messages)).toBe(warm);
      time += 6 * MINUTE;
      const cold = (await session.render(WINDOW)).messages;
      expect(masked(cold)).toBeGreaterThan(warm);
      expect((await session.render(WINDOW)).messages).toEqual(cold);
      const epochs = (await eventsOf(session)).filter(({ type }) => type === 'cold_epoch');
      expect(epochs).toMatchObject([{ idle_ms: 6 * MINUTE }]);
      for (const isAlone of [false, true]) {
        if (isAlone) await options.removeSnapshot(place, 'chat');
        expect((await crash()).view()).toEqual(cold);
      }
    });

    test('is known by the time of the last reply after the session was opened again', async () => {
      for (const [minutes, isCold] of [
        [4, false],
        [6, true],
      ] as const) {
        let time = Date.UTC(2026, 0, 2);
        const { session, crash } = await begin({ policy: breakEven(), now: () => time });
        await session.add(...waiting);
        const sent = masked((await session.render(WINDOW)).messages);
        time += minutes * MINUTE;
        expect(masked((await (await crash()).render(WINDOW)).messages) > sent).toBe(isCold);
      }
    });
  });

  describe('summaries', () => {
    test('are recorded, and not asked for again: from the events alone, and from the snapshot of close', async () => {
      let asked = 0;
      const summarize = async (): Promise<string> => `summary ${++asked} by a model`;
      const policy = hybrid({ window: 3, summarizeEvery: 6 });
      const { session, crash } = await begin({ policy, summarize, snapshotEvery: 10_000 });
      await session.add(user('the task'));
      for (let i = 0; i < 12; i++) {
        await session.add(...turns(1, { from: i }));
        await session.render();
      }
      const { messages } = await session.render();
      expect(JSON.stringify(messages)).toContain('by a model');
      const before = asked;
      for (const from of ['events', 'snapshot']) {
        const again = await crash();
        expect(again.recovery.from).toBe(from);
        expect((await again.render()).messages).toEqual(messages);
        await again.close();
      }
      expect(asked).toBe(before);
      const recorded = (await eventsOf(session)).filter(({ type }) => type === 'context_summary');
      expect(recorded).toHaveLength(before);
    });

    test('that were written after a snapshot stay, where the process was killed before the next', async () => {
      let asked = 0;
      const summarize = async (): Promise<string> => `summary ${++asked} by a model`;
      const policy = hybrid({ window: 3, summarizeEvery: 6 });
      for (const count of [10, 11, 12, 13, 16]) {
        const { session, crash } = await begin({ policy, summarize, snapshotEvery: 10 });
        await session.add(user('the task'));
        for (let i = 0; i < count; i++) {
          await session.add(...turns(1, { from: i }));
          await session.render();
        }
        const { messages } = await session.render();
        const before = asked;
        const again = await crash();
        expect((await again.render()).messages).toEqual(messages);
        expect(asked).toBe(before);
      }
      expect(asked).toBeGreaterThan(3);
    });
  });

  describe('the trajectory', () => {
    test('has the turns before and after a restart and a reset, each under a number of its own', async () => {
      const store = createMemoryStore();
      const { session, crash } = await begin({ store, policy: never(), carryoverTurns: 1 });
      await session.add(user('the task'), ...turns(3));
      await session.restart();
      await session.add(user('go on'), reply('done'));
      await session.compact();
      const again = await crash();
      await again.reset();
      await again.add(user('another task'), reply('at once'));
      await again.close();
      const records: TurnRecord[] = [];
      for await (const record of store.turns('chat')) records.push(record);
      expect(records.map(({ turn, reasoning, action, user: said }) => [turn, reasoning || action, said])).toEqual([
        [0, '', 'the task'],
        [1, 'read_file {"path":"src/c0.ts"}', undefined],
        [2, 'read_file {"path":"src/c1.ts"}', undefined],
        [3, 'read_file {"path":"src/c2.ts"}', undefined],
        // The next session begins with the carried-over turns.
        [4, '', 'the task'],
        [5, 'read_file {"path":"src/c2.ts"}', 'go on'],
        [6, 'done', undefined],
        [7, '', 'another task'],
        [8, 'at once', undefined],
      ]);
    });
  });
}

/** A file whose lines all differ. */
const file = (name: string, lines = 60): string =>
  Array.from({ length: lines }, (_, i) => `export const ${name}${i} = compute('${name}', ${i * 7919});`).join('\n');

/** A call of a tool and its result. */
const turn = (id: string, text: string, path = `src/${id}.ts`): ChatMessage[] => [
  call(id, 'read_file', { path }),
  result(id, text),
];

const contentOf = (messages: readonly ChatMessage[], id: string): string =>
  messages.find(({ toolCallId }) => toolCallId === id)?.content ?? '';
