import { chat } from '../../formats/chat.ts';
import { readSessionEvents } from '../../manager/session/read-session-events.ts';
import { never } from '../../plan/policies/never.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import { handleOf } from '../../store/handle.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { call, eventsOf, reply, result, type SessionSuite, turns, user } from './session-suite.ts';

/** Tests of opening, showing and rendering a session. */
export function openingFacts({ describe, test, expect, open, begin, options }: SessionSuite): void {
  describe('a session', () => {
    test('has its messages again when it is opened again', async () => {
      const place = await options.newPlace();
      const session = await open({ ...place, id: 'chat' });
      expect(session.recovery.from).toBe('nothing');
      await session.add(user('the task'), reply('on it'));
      await session.add(user('and this'));
      await session.close();
      const again = await open({ ...place, id: 'chat' });
      expect(again.messages()).toEqual([user('the task'), reply('on it'), user('and this')]);
      expect(again.view()).toEqual(again.messages());
      expect(again.recovery).toMatchObject({ from: 'snapshot', events: 0, tornBytes: 0, damagedLines: 0, missing: [] });
      await again.close();
    });

    test('shows results cut and masked, and has them whole in its messages and its log', async () => {
      const place = await options.newPlace();
      const session = await open({
        ...place,
        id: 'chat',
        policy: slidingWindow({ turns: 2 }),
        maxToolResultTokens: 500,
      });
      const large = 'a line of a large result\n'.repeat(2000);
      await session.add(user('the task'), ...turns(4), call('big'), result('big', large));
      expect(session.messages().at(-1)).toEqual(result('big', large));
      expect(session.view().at(-1)?.content).toMatch(/\[truncated: kept first ~500 of ~\d+ tokens \(head\)\]$/);
      expect(session.view()[2]?.content).toMatch(/^\[Observation omitted for brevity\]$/);
      expect(chat.check(session.view())).toEqual([]);
      const logged = (await eventsOf(session))
        .filter((event) => event.type === 'message')
        .map(({ message }) => message);
      expect(logged).toEqual(session.messages());
      await session.close();
    });

    test('keeps what it shows when it is opened again', async () => {
      const place = await options.newPlace();
      const settings = { ...place, id: 'chat', policy: slidingWindow({ turns: 2 }), maxToolResultTokens: 100 };
      const session = await open(settings);
      await session.add(user('the task'), ...turns(7));
      const shown = session.view();
      await session.close();
      const again = await open(settings);
      expect(again.recovery.from).toBe('snapshot');
      expect(again.view()).toEqual(shown);
      await again.close();
    });

    test('of one process cannot be opened by another until it is closed', async () => {
      const { session, place } = await begin();
      await session.add(user('the task'));
      await expect(open({ ...place, id: 'chat' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await session.add(user('more'));
      await session.close();
      const again = await open({ ...place, id: 'chat' });
      expect(again.messages()).toEqual([user('the task'), user('more')]);
    });

    test('that was taken over takes nothing more from the one before, and has all that was acknowledged', async () => {
      const { session, crash, place } = await begin();
      await session.add(user('acknowledged'));
      const next = await crash();
      await expect(session.add(user('too late'))).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await expect(session.log({ type: 'error', message: 'too late' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await next.add(user('goes on'));
      await expect(session.close()).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await next.close();
      const again = await open({ ...place, id: 'chat' });
      expect(again.messages()).toEqual([user('acknowledged'), user('goes on')]);
      expect(again.recovery).toMatchObject({ missing: [], damagedLines: 0 });
    });

    test('with many writes at once has them all, each once and in order', async () => {
      const { session, crash } = await begin({ snapshotEvery: 7 });
      const messages = Array.from({ length: 100 }, (_, i) => user(`message ${i}`));
      await Promise.all(messages.map((message) => session.add(message)));
      session.record({ type: 'x_last' });
      await session.add(user('last'));
      const again = await crash();
      expect(again.messages()).toEqual([...messages, user('last')]);
      expect((await eventsOf(again)).map(({ seq }) => seq)).toEqual(Array.from({ length: 103 }, (_, i) => i + 1));
    });

    test('keeps any text: NUL, lone surrogates, other scripts, a large result', async () => {
      const { session, crash } = await begin({ policy: never() });
      const texts = ['\0 \u0001', '\ud800 \udc00', '日本語 🦊 é', '"\\\n\u2028', 'x'.repeat(3_000_000)];
      await session.add(...texts.map(user));
      expect((await crash()).messages()).toEqual(texts.map(user));
    });

    test('waits for a person: the call stays open after a crash, and is known', async () => {
      const { session, crash } = await begin();
      await session.add(user('the task'), call('c1', 'bash', { command: 'rm' }));
      await session.log({ type: 'approval_required', call_id: 'c1', tool: 'bash', arguments: { command: 'rm' } });
      const again = await crash();
      expect(again.pendingApprovals()).toEqual([{ callId: 'c1', tool: 'bash', arguments: { command: 'rm' } }]);
      expect([again.messages().length, again.recovery.answeredCalls]).toEqual([2, 0]);
      await again.log({ type: 'approval_decision', call_id: 'c1', decision: 'denied' });
      const third = await crash();
      expect(third.pendingApprovals()).toEqual([]);
      expect(third.recovery.answeredCalls).toBe(1);
    });

    test('with one decision of two keeps it until both are there', async () => {
      const { session, crash } = await begin();
      await session.add(user('the task'), call('c1', 'bash', { command: 'rm' }), call('c2', 'bash', { command: 'mv' }));
      for (const call_id of ['c1', 'c2'])
        await session.log({ type: 'approval_required', call_id, tool: 'bash', arguments: {} });
      await session.log({ type: 'approval_decision', call_id: 'c1', decision: 'denied', reason: 'not here' });
      const decided = [{ callId: 'c1', approved: false, reason: 'not here' }];
      const again = await crash();
      expect([again.decidedApprovals(), again.pendingApprovals().length]).toEqual([decided, 1]);
      await again.compact();
      await again.close();
      const third = await crash();
      expect([third.decidedApprovals(), third.pendingApprovals().length]).toEqual([decided, 1]);
    });

    test('whose event was damaged has all others, and says so at every open until it is acknowledged', async () => {
      const { session, crash, place } = await begin();
      for (let i = 0; i < 5; i++) await session.add(user(`message ${i}`));
      await session.close();
      await options.damageEvent(place, 'chat', 4);
      const snapshot =
        place.database === undefined ? 'state\\.yaml' : 'the column snapshot of its row in the table sessions';
      const remedy = expect.stringMatching(new RegExp(`remove the snapshot \\(${snapshot}\\), or call`));
      const others = [0, 1, 3, 4].map((i) => user(`message ${i}`));
      for (const isAlone of [false, true]) {
        if (isAlone) await options.removeSnapshot(place, 'chat');
        const problems: Error[] = [];
        const again = await crash({ onProblem: (problem) => void problems.push(problem) });
        expect(again.messages()).toEqual(others);
        expect(again.recovery).toMatchObject({ damagedLines: 1, missing: [4] });
        expect(problems).toMatchObject([{ code: 'STORE_DAMAGED', message: remedy }]);
      }
      const told: Error[] = [];
      const onProblem = (problem: Error): void => void told.push(problem);
      for await (const _event of readSessionEvents({ ...place, id: 'chat', onProblem }));
      expect(told).toMatchObject([{ code: 'STORE_DAMAGED', message: remedy }]);
      const last = await crash();
      await last.acknowledgeDamage();
      await last.add(user('goes on'));
      const quiet = await crash();
      expect(quiet.recovery).toMatchObject({ damagedLines: 0, missing: [] });
      expect(quiet.messages()).toEqual([...others, user('goes on')]);
    });

    test('refuses another format than the one the session began with', async () => {
      const place = await options.newPlace();
      await (await open({ ...place, id: 'chat' })).close();
      await expect(open({ ...place, id: 'chat', format: 'anthropic' })).rejects.toMatchObject({
        code: 'BAD_OPTION',
      });
      await (await open({ ...place, id: 'chat' })).close();
    });
  });

  describe('render', () => {
    test('stores what it hides before it resolves, and shows the handle', async () => {
      const store = createMemoryStore();
      const session = await open({
        ...(await options.newPlace()),
        id: 'chat',
        store,
        policy: slidingWindow({ turns: 1 }),
        maxToolResultTokens: 200,
      });
      const large = 'a line of a large result\n'.repeat(2000);
      await session.add(user('the task'), call('big'), result('big', large), ...turns(3, { lines: 20 }));
      const { messages } = await session.render({ window: 100_000 });
      const shown = JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? [];
      expect(shown.length).toBe(3);
      for (const handle of shown) expect(await store.get(handle)).toMatchObject({ refs: [{ session: 'chat' }] });
      expect((await store.get(handleOf(large)))?.text).toBe(large);
      await session.close();
    });

    test('finds in the store what a snapshot says is hidden, though nothing was rendered before the crash', async () => {
      const store = createMemoryStore();
      const { session, crash } = await begin({ store, policy: slidingWindow({ turns: 1 }), snapshotEvery: 2 });
      await session.add(user('the task'), ...turns(4));
      await session.log({ type: 'error', message: 'so that the snapshot is written' });
      const again = await crash();
      expect(again.recovery.from).toBe('snapshot');
      const { messages } = await again.render({ window: 100_000 });
      const shown = JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? [];
      expect(shown).toHaveLength(3);
      for (const handle of shown) expect(await store.get(handle)).toBeDefined();
    });

    test('finds in a store that is given later what was cut before there was one', async () => {
      const settings = { ...(await options.newPlace()), id: 'chat', policy: never() };
      const before = await open(settings);
      await before.add(user('the task'), call('a'), result('a', 'a line of it\n'.repeat(10_000)));
      await before.close();
      const store = createMemoryStore();
      const session = await open({ ...settings, store });
      const { messages } = await session.render({ window: 100_000 });
      const [handle = ''] = JSON.stringify(messages).match(/p_[a-z2-7]{26}/) ?? [];
      expect(await store.get(handle)).toMatchObject({ text: 'a line of it\n'.repeat(10_000) });
      await session.close();
    });

    test('holds its cut still, also after the session was opened again', async () => {
      const place = await options.newPlace();
      const settings = { ...place, id: 'chat', policy: never() };
      const budget = { window: 8000, maxOutputTokens: 500, maxHistoryTokens: 3000 };
      const session = await open(settings);
      await session.add(user('the task'));
      for (const message of turns(30)) await session.add(message);
      const first = await session.render(budget);
      expect(first.omitted).toBeGreaterThan(0);
      // It still fits, though it is above the target of a new cut.
      await session.add(...turns(2, { from: 30 }));
      const second = await session.render(budget);
      expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
      await session.close();
      const again = await open(settings);
      expect((await again.render(budget)).messages).toEqual(second.messages);
      await again.close();
    });

    test('fails where the store does, and sends nothing with a handle that is not there', async () => {
      const store = { ...createMemoryStore(), putMany: () => Promise.reject(new Error('the store is down')) };
      const session = await open({
        ...(await options.newPlace()),
        id: 'chat',
        store,
        policy: slidingWindow({ turns: 1 }),
        onProblem: () => {},
      });
      await session.add(user('the task'), ...turns(3));
      await expect(session.render()).rejects.toThrow('the store is down');
      await session.close();
    });
  });

  describe('memory', () => {
    test('holds at most the limit of messages, whole turns and the task, and says what it left out', async () => {
      const place = await options.newPlace();
      const store = createMemoryStore();
      const session = await open({ ...place, id: 'chat', maxInputTokens: 1000, store, policy: never() });
      await session.add({ role: 'system', content: 'you are' }, user('the task'));
      for (let i = 0; i < 150; i++) await session.add(...turns(1, { from: i, lines: 3 }));
      expect(session.messages().length).toBeLessThanOrEqual(100);
      expect(session.messages()[1]).toEqual(user('the task'));
      expect(session.messages().at(-1)).toEqual(turns(150, { lines: 3 }).at(-1));
      expect(chat.check(session.messages())).toEqual([]);
      const { messages } = await session.render({ window: 100_000, maxHistoryTokens: 0 });
      expect(chat.check(messages)).toEqual([]);
      const notice = messages.find(({ content }) => content.startsWith('[conversation truncated'))?.content ?? '';
      expect(notice).toMatch(/^\[conversation truncated — \d+ older messages omitted · p_[a-z2-7]{26}\]$/);
      expect(Number(/\d+/.exec(notice)?.[0]) + session.messages().length).toBe(302);
      const [handle = ''] = /p_[a-z2-7]{26}/.exec(notice) ?? [];
      expect(await store.get(handle)).toBeDefined();
      const logged = (await eventsOf(session)).filter(({ type }) => type === 'message');
      expect(logged).toHaveLength(302);
      await session.close();
      const again = await open({ ...place, id: 'chat', maxInputTokens: 1000, store, policy: never() });
      expect(again.messages()).toEqual(session.messages());
      expect(again.view()).toEqual(session.view());
      await again.close();
    });

    test('is bounded even if there is no reply', async () => {
      const session = await open({ ...(await options.newPlace()), id: 'chat', maxInputTokens: 1000 });
      for (let i = 0; i < 250; i++) await session.add(user(`message ${i}`));
      expect(session.messages().length).toBeLessThanOrEqual(100);
      expect(session.messages()[0]).toEqual(user('message 0'));
      expect(session.messages().at(-1)).toEqual(user('message 249'));
      await session.close();
    });
  });
}
