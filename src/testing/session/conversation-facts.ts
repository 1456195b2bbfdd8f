import { PalimpsestError } from '../../errors.ts';
import { chat } from '../../formats/chat.ts';
import { renderWithBudget } from '../../manager/budget/render-with-budget.ts';
import { messageWriter } from '../../manager/message-writer.ts';
import { openCallsOf } from '../../manager/open-calls.ts';
import type { Session } from '../../manager/session/session.ts';
import type { ChatMessage } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import { handleOf } from '../../store/handle.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { call, eventsOf, reply, result, type SessionSuite, toolResult, turns, user } from './session-suite.ts';

const RESTART =
  '[Session restarted. Session #2. Previous session context was full. Check your workspace files for progress state.]';

/** Tests of everything that happens in a session, before and after a crash. */
export function conversationFacts({ describe, test, expect, begin, options }: SessionSuite): void {
  describe('restart', () => {
    test('goes on with the task and the last turns, says so, and counts', async () => {
      const { session, crash } = await begin({ carryoverTurns: 2, policy: never() });
      await session.add(user('the task'), ...turns(6));
      expect([session.number, session.continuity()]).toEqual([1, '']);
      await session.restart();
      expect(session.number).toBe(2);
      expect(session.manager.sessionNumber).toBe(2);
      expect(session.messages()).toEqual([
        user('the task'),
        ...turns(2, { from: 4 }),
        { role: 'system', content: RESTART },
      ]);
      expect(session.continuity()).toContain('session #2');
      expect(chat.check(session.messages())).toEqual([]);
      expect((await eventsOf(session)).at(-1)).toMatchObject({
        type: 'session_restart',
        session_number: 2,
        previous_turns: 6,
        carryover_messages: 5,
        reason: 'hard_threshold_exceeded',
      });
      const again = await crash();
      expect([again.number, again.messages(), again.manager.sessionNumber]).toEqual([2, session.messages(), 2]);
    });

    test('throws where maxRestarts is reached, also by restarts before a crash', async () => {
      const { session, crash } = await begin({ maxRestarts: 2 });
      await session.add(user('the task'));
      await session.restart();
      await session.restart();
      const again = await crash();
      await expect(again.restart()).rejects.toMatchObject({ code: 'RESTART_LIMIT' });
      expect(again.number).toBe(3);
    });

    test('carries over what is being added at that moment', async () => {
      const { session } = await begin();
      await session.add(user('the task'), reply('on it'));
      const steering = session.add(user('wait, not that'));
      await Promise.all([steering, session.restart()]);
      expect(session.messages().map(({ content }) => content)).toContain('wait, not that');
    });

    test('answers calls that are still open first', async () => {
      const { session } = await begin();
      await session.add(user('the task'), call('c1'));
      await session.restart();
      expect(chat.check([...session.messages(), user('next')])).toEqual([]);
    });

    test('is not to be asked of the manager, who would not write it down', async () => {
      const { session } = await begin();
      expect(() => session.manager.restart()).toThrow('session.restart()');
    });
  });

  describe('mask', () => {
    test('masks the oldest results, tells the model, and is still there after a crash', async () => {
      const { session, crash } = await begin({
        policy: oldestBatch({ count: 50, window: 1 }),
        contextLimit: 10_000,
      });
      await session.add(user('the task'), ...turns(5));
      const report = await session.mask(3);
      expect(report).toMatchObject({ masked: 3, total: 3 });
      expect(report.reclaimedPct).toBeGreaterThan(0);
      expect(report.notice).toMatch(
        /^\[Context compressed: 3 observations masked this round, 3 total, ~\d+% context reclaimed\]$/,
      );
      const masked = session.view().filter(({ content }) => content.includes('masked --'));
      expect(masked).toHaveLength(3);
      expect(session.messages().filter(({ content }) => content.includes('masked'))).toEqual([]);
      const again = await crash();
      expect(again.view()).toEqual(session.view());
      expect(again.manager.maskedTotal).toBe(3);
      const events = await eventsOf(again);
      expect(events.at(-1)).toMatchObject({ type: 'context_mask', observations_masked: 3, total_masked: 3 });
    });

    test('masks nothing twice, and says nothing where nothing was masked', async () => {
      const { session } = await begin({ policy: oldestBatch({ count: 50, window: 1 }) });
      await session.add(user('the task'), ...turns(3));
      await session.mask(2);
      const shown = session.view();
      expect(await session.mask(2)).toMatchObject({ masked: 0, notice: undefined });
      expect(session.view()).toEqual(shown);
      expect((await eventsOf(session)).filter(({ type }) => type === 'context_mask')).toHaveLength(1);
    });

    test('stores what it masked before it is rendered, with the handle in its placeholder', async () => {
      const store = createMemoryStore();
      const { session, crash } = await begin({ policy: oldestBatch({ count: 50, window: 1 }), store });
      await session.add(user('the task'), ...turns(3));
      await session.mask(2);
      const [handle = ''] = /p_[a-z2-7]{26}/.exec(JSON.stringify(session.view())) ?? [];
      // A crash before anything was rendered: rendering stores the text.
      const again = await crash();
      expect(await store.get(handle)).toBeUndefined();
      await again.render();
      expect((await store.get(handle))?.text).toBe(turns(1)[1]?.content);
    });
  });

  describe('usage', () => {
    test('is logged when the manager is told, and known after a crash', async () => {
      const { session, crash } = await begin({ contextLimit: 10_000 });
      await session.add(user('the task'));
      session.manager.recordUsage({
        prompt_tokens: 4000,
        completion_tokens: 100,
        prompt_tokens_details: { cached_tokens: 3000 },
      });
      session.manager.recordUsage({ prompt_tokens: 5000, completion_tokens: 100 });
      await session.add(reply('on it'));
      expect((await eventsOf(session)).filter(({ type }) => type === 'token_usage')).toMatchObject([
        { prompt_tokens: 4000, completion_tokens: 100, total_tokens: 4100, cached_tokens: 3000, context_used_pct: 0.4 },
        { prompt_tokens: 5000, completion_tokens: 100, total_tokens: 5100, context_used_pct: 0.5 },
      ]);
      const again = await crash();
      const known = ({ manager }: Session<ChatMessage>) => [
        manager.promptTokens,
        manager.completionTokens,
        manager.usagePct,
      ];
      expect(known(again)).toEqual(known(session));
      expect(again.manager.promptTokens).toBeGreaterThan(5000);
      await again.add(reply('and more of it '.repeat(100)));
      expect(again.manager.promptTokens).toBeGreaterThan(5200);
    });

    test('that was lowered by a mask stays low after a crash', async () => {
      const { session, crash } = await begin({
        contextLimit: 10_000,
        policy: oldestBatch({ count: 50, window: 1 }),
      });
      await session.add(user('the task'), ...turns(4));
      session.manager.recordUsage({ promptTokens: 8000, completionTokens: 1 });
      await session.mask(2);
      expect(session.manager.promptTokens).toBeLessThan(8000);
      expect((await crash()).manager.promptTokens).toBe(session.manager.promptTokens);
    });

    test('at the hard threshold restarts after a crash too, and does not wind down for ever', async () => {
      const { session, crash } = await begin({ contextLimit: 10_000 });
      await session.add(user('the task'));
      session.manager.recordUsage({ promptTokens: 9500, completionTokens: 1 });
      expect(session.manager.evaluate().type).toBe('wind-down');
      await session.add(reply('saved'));
      const again = await crash();
      again.manager.recordUsage({ promptTokens: 9600, completionTokens: 1 });
      expect(again.manager.evaluate().type).toBe('restart');
    });

    test('calls the hook of the caller when it winds down', async () => {
      const saved: string[] = [];
      const { session } = await begin({ onWindDown: async ({ id }: Session<ChatMessage>) => void saved.push(id) });
      await session.windDown();
      expect(saved).toEqual(['chat']);
    });
  });

  describe('a render during which the session is restarted', () => {
    test('leaves its cut to the conversation that it was made for', async () => {
      const inner = createMemoryStore();
      let restart: (() => Promise<void>) | undefined;
      const putMany: typeof inner.putMany = async (items) => {
        const begin = restart;
        restart = undefined;
        await begin?.();
        return inner.putMany(items);
      };
      const { session } = await begin({ policy: never(), store: { ...inner, putMany } });
      await session.add(user('the task'), ...turns(20));
      restart = () => session.restart();
      await session.render({ window: 50_000, maxHistoryTokens: 1000, maxOutputTokens: 100 });
      const cuts = (await eventsOf(session)).filter(({ type }) => type === 'context_cut');
      expect(cuts).toMatchObject([{ first: '2' }]);
    });
  });

  describe('a render with wrong options', () => {
    for (const wrong of [null, 5, 'all', { windw: 1000 }])
      test(`is refused: ${JSON.stringify(wrong)}`, async () => {
        const { session } = await begin();
        await session.add(user('the task'));
        await expect(session.render(wrong as never)).rejects.toMatchObject({ code: 'BAD_OPTION' });
        expect((await session.render()).messages).toEqual([user('the task')]);
      });
  });

  describe('a result that comes after a render', () => {
    test('lifts the cut that was made for messages that are now elsewhere, and no other', async () => {
      const budget = { window: 50_000, maxHistoryTokens: 1000, maxOutputTokens: 100 };
      const alone = (session: Session<ChatMessage>) => renderWithBudget(session.view(), { ...budget, format: chat });
      const { session } = await begin({ policy: never() });
      await session.add(user('the task'), ...turns(20));
      const held = await session.render(budget);
      await session.add(call('c'), user('short'));
      await session.answer(toolResult('c', 'done'));
      expect((await session.render(budget)).cut?.steps).toEqual(held.cut?.steps);
      await session.add(call('d'), user('a long message '.repeat(2000)));
      await session.render(budget);
      await session.answer(toolResult('d', 'a long result '.repeat(2000)));
      expect((await session.render(budget)).cut?.steps).toEqual(alone(session).cut?.steps);
    });
  });

  describe('a mask while messages are being added', () => {
    test('comes after them, as in the log', async () => {
      const { session, crash } = await begin();
      await session.add(user('the task'), ...turns(4));
      const added = session.add(...turns(4, { from: 4 }));
      await session.mask(1);
      await added;
      expect((await crash()).view()).toEqual(session.view());
    });

    const changes: readonly [string, (session: Session<ChatMessage>) => Promise<void>][] = [
      ['a message', (session) => session.add(...turns(8, { from: 4 }))],
      ['a restart', (session) => session.restart()],
      ['a reset', (session) => session.reset()],
    ];
    for (const [what, change] of changes)
      test(`is refused by the manager, who cannot wait until ${what} is in the log`, async () => {
        const { session, crash } = await begin();
        await session.add(user('the task'), ...turns(4));
        const changed = change(session);
        // Long enough for the write to begin, and too short for a sync to end.
        for (let i = 0; i < 20; i++) await undefined;
        expect(() => session.manager.maskOldest(1)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
        await changed;
        expect(session.manager.maskedTotal).toBe(0);
        session.manager.maskOldest(1);
        await session.log({ type: 'error', message: 'so that the mask is written' });
        const again = await crash();
        expect([again.view(), again.manager.maskedTotal]).toEqual([session.view(), session.manager.maskedTotal]);
      });
  });

  describe('reset', () => {
    test('begins an empty conversation and leaves the log', async () => {
      const { session, crash } = await begin();
      await session.add(user('the task'), ...turns(2));
      await session.restart();
      await session.reset();
      expect([session.messages(), session.view(), session.number, session.turns]).toEqual([[], [], 1, 0]);
      expect(session.manager.sessionNumber).toBe(1);
      await session.add(user('another task'));
      const again = await crash();
      expect(again.messages()).toEqual([user('another task')]);
      expect((await eventsOf(again)).filter(({ type }) => type === 'message')).toHaveLength(6);
    });
  });

  describe('a policy that throws', () => {
    test('ends the session with its error, and what was acknowledged is there', async () => {
      const broken = {
        ...never(),
        step: (state: unknown, { turns }: { turns: number }) => {
          if (turns > 1) throw new Error('the policy is broken');
          return never().step(state, {} as never);
        },
      };
      const { session, crash } = await begin({ policy: broken });
      await session.add(user('the task'), reply('one'));
      await expect(session.add(reply('two'))).rejects.toThrow('the policy is broken');
      await expect(session.add(reply('three'))).rejects.toThrow('the policy is broken');
      const again = await crash({ policy: never() });
      expect(again.messages()).toEqual([user('the task'), reply('one'), reply('two')]);
    });
  });

  describe('log', () => {
    test('takes events of one’s own, and none that only the session writes', async () => {
      const { session } = await begin();
      await session.log({ type: 'x_note', text: 'mine' });
      expect((await eventsOf(session)).at(-1)).toMatchObject({ type: 'x_note', text: 'mine' });
      for (const type of ['message', 'checkpoint', 'reset', 'anything', undefined])
        await expect(session.log({ type } as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    });

    for (const event of [
      { type: 'x_import', seq: 900 },
      { type: 'x_import', time: 5 },
      { type: 'x_import', batch: 7 },
      { type: 'tools_skipped', reason: 'no' },
      { type: 'tools_skipped', call_ids: 'c1', reason: 'no' },
      { type: 'token_usage', prompt_tokens: 'many' },
      { type: 'status_change', to: 'asleep' },
      { type: 'approval_required', tool: 'bash' },
    ])
      test(`refuses ${JSON.stringify(event)}, with which the session could not be opened again as it was`, async () => {
        const { session, crash } = await begin();
        await expect(session.log(event as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
        expect(() => session.record(event as never)).toThrow(PalimpsestError);
        await session.add(user('goes on'));
        expect((await crash()).messages()).toEqual([user('goes on')]);
      });
  });

  describe('close', () => {
    for (const moments of [0, 1, 2, 3, 4])
      test(`refuses what comes after it, also ${moments} moments later, and has all from before`, async () => {
        const { session, crash } = await begin();
        const added = session.add(user('before'));
        const closed = session.close();
        for (let i = 0; i < moments; i++) await new Promise((resolve) => setImmediate(resolve));
        await expect(session.add(user('after'))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
        await Promise.all([added, closed]);
        expect((await crash()).messages()).toEqual([user('before')]);
      });
  });

  describe('a message', () => {
    test('that is changed after it was added is not changed in the session', async () => {
      const { session } = await begin();
      const message = user('as it was');
      await session.add(message);
      message.content = 'changed';
      expect(session.messages()).toEqual([user('as it was')]);
    });

    for (const [what, wrong] of [
      ['undefined', undefined],
      ['null', null],
      ['a text', 'hello'],
      ['a number', 5],
      ['a list', [user('in a list')]],
    ])
      test(`that is ${what} is refused, and the others go on`, async () => {
        const { session, crash } = await begin();
        await expect(session.add(user('with it'), wrong as never)).rejects.toMatchObject({
          code: 'BAD_INPUT',
          message: expect.stringMatching(/^Expected a message to be an object but found /),
        });
        await session.add(user('alone'));
        expect((await crash()).messages()).toEqual([user('alone')]);
      });

    test('without a word, and one of another format, is kept as it is', async () => {
      const { session, crash } = await begin();
      const odd = [user(''), { role: 'user' }, { type: 'function_call_output', call_id: 'c', output: 'x' }, {}];
      await session.add(...(odd as never[]));
      expect((await crash()).messages()).toEqual(odd);
    });

    test('with bytes comes back with bytes', async () => {
      const message = {
        role: 'user',
        content: [{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }],
      };
      const { session, crash } = await begin({ format: 'ai-sdk' });
      await session.add(message as never);
      const again = await crash();
      expect(again.messages()).toEqual([message]);
    });
  });

  describe('every format', () => {
    for (const [format, open] of openCalls)
      test(`${format}: a call that a crash left open is answered so that the provider takes it, and a restart too`, async () => {
        const writer = messageWriter<ChatMessage>(format);
        const { session, crash } = await begin({ format });
        await session.add(writer.user('the task'), open as never);
        const again = await crash();
        expect(again.recovery.answeredCalls).toBe(1);
        const next = writer.user('next');
        expect(again.format.check([...again.messages(), next])).toEqual([]);
        await again.restart();
        expect(again.messages()[0]).toEqual(writer.user('the task'));
        expect(again.format.check([...again.view(), next])).toEqual([]);
        const texts = again.format.view(again.messages()).map(({ text }) => text);
        expect(texts.at(-1)).toBe(RESTART);
        expect(texts.some((text) => text.includes('interrupted by server restart'))).toBe(true);
      });

    for (const [format, open] of openCalls)
      test(`${format}: a call that is answered after the user said more is answered where the provider looks for it`, async () => {
        const writer = messageWriter<ChatMessage>(format);
        const [task, more] = [writer.user('the task'), writer.user('wait')];
        const crashed = await begin({ format });
        await crashed.session.add(task, open as never, more);
        const again = await crashed.crash();
        expect(again.recovery.answeredCalls).toBe(1);
        const { place, session, crash } = await begin({ format, compactAfterBytes: 1 });
        await session.add(task, open as never, more);
        const [call] = openCallsOf(session.format, session.messages());
        if (!call) throw new Error('no call');
        // Another one comes while it is answered.
        const last = writer.user('and hurry');
        await Promise.all([session.add(last), session.answer({ call, text: 'done', isError: false })]);
        expect(session.messages()).toHaveLength(5);
        expect([session.messages()[3], session.messages()[4]]).toEqual([more, last]);
        for (const one of [again, session]) {
          expect(one.messages().slice(0, 2)).toEqual([task, open]);
          expect(one.messages()[3]).toEqual(more);
          expect(one.view()).toEqual(one.messages());
          expect(one.format.check(one.messages())).toEqual([]);
        }
        await session.compact();
        for (const isAlone of [false, true]) {
          if (isAlone) await options.removeSnapshot(place, 'chat');
          const third = await crash();
          expect([third.messages(), third.view()]).toEqual([session.messages(), session.view()]);
          expect(third.recovery.damagedLines).toBe(0);
        }
      });

    test('an answer without its call or its text is refused, and nothing is added', async () => {
      const { session } = await begin();
      await session.add(user('the task'), call('c1'));
      for (const wrong of [undefined, {}, { call: {}, text: 'x' }, { call: { id: 'c1', name: 'read_file' } }])
        await expect(session.answer(wrong as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
      expect(session.messages()).toHaveLength(2);
    });

    for (const [format, open] of openCalls)
      test(`${format}: a second answer to a call is refused, and the first stays`, async () => {
        const writer = messageWriter<ChatMessage>(format);
        const { session, crash } = await begin({ format });
        await session.add(writer.user('the task'), open as never);
        const [call] = openCallsOf(session.format, session.messages());
        if (!call) throw new Error('no call');
        const once = { call, text: 'done', isError: false };
        const refused = {
          code: 'BAD_INPUT',
          message: expect.stringMatching(/which has a result; answer each call once/),
        };
        await expect(session.answer(once, once)).rejects.toMatchObject(refused);
        expect(session.messages()).toHaveLength(2);
        const both = await Promise.allSettled([session.answer(once), session.answer({ ...once, text: 'again' })]);
        expect(both).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: refused }]);
        const answered = session.messages();
        expect(session.format.check([...answered, writer.user('next')])).toEqual([]);
        await expect(session.answer(once)).rejects.toMatchObject(refused);
        await session.add(open as never);
        await session.answer({ ...once, text: 'the call with the same id' });
        expect((await crash()).messages()).toEqual(session.messages());
        expect(session.messages()).toHaveLength(5);
        expect(session.messages().slice(0, 3)).toEqual(answered);
      });

    test('a result that answers no call is kept as it is', async () => {
      const { session } = await begin();
      await session.add(user('the task'), result('nobody', 'x'));
      expect(session.view()).toEqual(session.messages());
    });
  });

  describe('old texts of edits', () => {
    const old = 'const total = compute("a", 1);\n'.repeat(20);
    const edited = [
      user('the task'),
      ...turns(1),
      call('e', 'edit', { path: 'src/a.ts', old_string: old, new_string: 'y' }),
      result('e', 'ok', 'edit'),
      ...turns(3, { from: 1 }),
    ];
    const argumentsOf = (messages: readonly ChatMessage[]): string | undefined =>
      messages.flatMap(({ toolCalls = [] }) => toolCalls).find(({ name }) => name === 'edit')?.arguments;

    test('are shortened with the masks of the policy, stored, and still so after a crash', async () => {
      const store = createMemoryStore();
      const { session, crash } = await begin({ policy: slidingWindow({ turns: 3, oldTexts: true }), store });
      await session.add(...edited);
      expect(argumentsOf(session.view())).toMatch(/"old_string":"const total = … \[\d+ chars of old text left out\]"/);
      expect(argumentsOf(session.messages())).toBe(argumentsOf(edited));
      const again = await crash();
      expect(again.view()).toEqual(session.view());
      await again.restart();
      expect((await store.get(handleOf(argumentsOf(edited) ?? '')))?.text).toBe(argumentsOf(edited));
    });

    test('are shortened with masks that are forced, and still so after a crash', async () => {
      const { session, crash } = await begin({
        policy: oldestBatch({ count: 50, window: 1, oldTexts: true }),
        contextLimit: 10_000,
      });
      await session.add(...edited);
      expect(argumentsOf(session.view())).toBe(argumentsOf(edited));
      await session.mask(1);
      expect(argumentsOf(session.view())).toContain('chars of old text left out');
      expect((await crash()).view()).toEqual(session.view());
    });
  });

  describe('compaction', () => {
    const settings = { carryoverTurns: 1, policy: never() };
    const fill = async (session: Session<ChatMessage>): Promise<void> => {
      await session.add(user('the task'), ...turns(10));
      await session.restart();
      await session.add(...turns(3, { from: 10 }));
    };
    const messagesIn = async (session: Session<ChatMessage>): Promise<number> =>
      (await eventsOf(session)).filter(({ type }) => type === 'message').length;

    test('archives: the log reads as before, and the session goes on', async () => {
      const { session, crash, place } = await begin(settings);
      await fill(session);
      const before = await eventsOf(session);
      await session.compact();
      expect(await eventsOf(session)).toEqual(before);
      await session.add(user('more'));
      expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([
        ...before.map(({ seq }) => seq),
        before.length + 2,
      ]);
      for (const isAlone of [false, true]) {
        if (isAlone) await options.removeSnapshot(place, 'chat');
        const again = await crash();
        expect(again.recovery).toMatchObject({ from: isAlone ? 'events' : 'snapshot', missing: [], damagedLines: 0 });
        expect([again.messages(), again.view(), again.number]).toEqual([session.messages(), session.view(), 2]);
        await again.compact();
        expect(await messagesIn(again)).toBe(28);
      }
    });

    test('discards what is no longer needed', async () => {
      const { session, crash, place } = await begin({ ...settings, compaction: 'discard' });
      await fill(session);
      await session.compact();
      expect(await messagesIn(session)).toBe(6);
      expect((await eventsOf(session))[0]).toMatchObject({ type: 'session_restart' });
      await options.removeSnapshot(place, 'chat');
      const again = await crash();
      expect(again.recovery).toMatchObject({ from: 'events', missing: [], damagedLines: 0 });
      expect(again.messages()).toEqual(session.messages());
    });

    test('off leaves the log as it is', async () => {
      const { session } = await begin({ ...settings, compaction: 'off', compactAfterBytes: 1 });
      await fill(session);
      const before = await eventsOf(session);
      await session.compact();
      await session.add(user('more'));
      expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([
        ...before.map(({ seq }) => seq),
        before.length + 1,
      ]);
    });

    test('comes by itself when half of the log is no longer needed, and not before', async () => {
      const { session } = await begin({ ...settings, compaction: 'discard', compactAfterBytes: 5000 });
      await session.add(user('the task'), ...turns(20));
      await session.log({ type: 'error', message: 'x' });
      expect(await messagesIn(session)).toBe(41);
      await session.restart();
      await session.log({ type: 'error', message: 'y' });
      expect(await messagesIn(session)).toBe(0);
    });
  });
}

/** A call in each format. */
const openCalls = [
  ['chat', { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }] }],
  [
    'openai-chat',
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
  ],
  ['openai-responses', { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
  ['anthropic', { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] }],
  ['gemini', { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] }],
  ['ai-sdk', { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }] }],
  ['langchain', { type: 'ai', content: '', tool_calls: [{ id: 'c', name: 'f', args: {} }] }],
  ['ollama', { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: {} } }] }],
  ['bedrock-converse', { role: 'assistant', content: [{ toolUse: { toolUseId: 'c', name: 'f', input: {} } }] }],
  ['pi', { role: 'assistant', content: [{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }] }],
  ['openai-agents', { type: 'function_call', callId: 'c', name: 'f', arguments: '{}', status: 'completed' }],
] as const;
