import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { RecordingDisk } from '../../../test/store/support/recording-disk.ts';
import { PalimpsestError } from '../../errors.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import { handleOf } from '../../store/handle.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { messageWriter } from '../message-writer.ts';
import { openCallsOf } from '../open-calls.ts';
import { renderWithBudget } from '../render-with-budget.ts';
import {
  call,
  eventsOf,
  openChat,
  reply,
  result,
  temporaryFolders,
  toolResult,
  turns,
  user,
} from './session.test-data.ts';
import type { Session } from './session.ts';

const freshFolder = temporaryFolders();
const RESTART =
  '[Session restarted. Session #2. Previous session context was full. Check your workspace files for progress state.]';

/** Opened on a disk in memory, and opened again as after a crash. */
async function openOnDisk(
  options: object = {},
): Promise<{ session: Session<ChatMessage>; crash: (more?: object) => Promise<Session<ChatMessage>> }> {
  const disk = new RecordingDisk();
  const all = { directory: '/s', id: 'chat', policy: oldestBatch({ count: 2, window: 1 }), ...options };
  const session = await openChat({ ...all, disk });
  return { session, crash: (more = {}) => openChat({ ...all, ...more, disk: new RecordingDisk(disk.afterCrash()) }) };
}

describe('restart', () => {
  it('goes on with the task and the last turns, says so, and counts', async () => {
    const { session, crash } = await openOnDisk({ carryoverTurns: 2, policy: never() });
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

  it('throws where maxRestarts is reached, also by restarts before a crash', async () => {
    const { session, crash } = await openOnDisk({ maxRestarts: 2 });
    await session.add(user('the task'));
    await session.restart();
    await session.restart();
    const again = await crash();
    await expect(again.restart()).rejects.toMatchObject({ code: 'RESTART_LIMIT' });
    expect(again.number).toBe(3);
  });

  it('that cannot be written has not happened', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk });
    await session.add(user('the task'), ...turns(2));
    disk.onWrite = () => {
      throw new Error('ENOSPC');
    };
    await expect(session.restart()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect([session.number, session.manager.sessionNumber, session.messages().length]).toEqual([1, 1, 5]);
    disk.onWrite = undefined;
    await session.restart();
    expect([session.number, session.manager.sessionNumber]).toEqual([2, 2]);
  });

  it('carries over what is being added at that moment', async () => {
    const { session } = await openOnDisk();
    await session.add(user('the task'), reply('on it'));
    const steering = session.add(user('wait, not that'));
    await Promise.all([steering, session.restart()]);
    expect(session.messages().map(({ content }) => content)).toContain('wait, not that');
  });

  it('answers calls that are still open first', async () => {
    const { session } = await openOnDisk();
    await session.add(user('the task'), call('c1'));
    await session.restart();
    expect(chat.check([...session.messages(), user('next')])).toEqual([]);
  });

  it('is not to be asked of the manager, who would not write it down', async () => {
    const { session } = await openOnDisk();
    expect(() => session.manager.restart()).toThrow('session.restart()');
  });
});

describe('mask', () => {
  it('masks the oldest results, tells the model, and is still there after a crash', async () => {
    const { session, crash } = await openOnDisk({
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

  it('masks nothing twice, and says nothing where nothing was masked', async () => {
    const { session } = await openOnDisk({ policy: oldestBatch({ count: 50, window: 1 }) });
    await session.add(user('the task'), ...turns(3));
    await session.mask(2);
    const shown = session.view();
    expect(await session.mask(2)).toMatchObject({ masked: 0, notice: undefined });
    expect(session.view()).toEqual(shown);
    expect((await eventsOf(session)).filter(({ type }) => type === 'context_mask')).toHaveLength(1);
  });

  it('stores what it masked before it is rendered, with the handle in its placeholder', async () => {
    const store = createMemoryStore();
    const { session, crash } = await openOnDisk({ policy: oldestBatch({ count: 50, window: 1 }), store });
    await session.add(user('the task'), ...turns(3));
    await session.mask(2);
    const [handle = ''] = /p_[a-z2-7]{26}/.exec(JSON.stringify(session.view())) ?? [];
    // A crash before anything was rendered: the text is stored by who renders.
    const again = await crash();
    expect(await store.get(handle)).toBeUndefined();
    await again.render();
    expect((await store.get(handle))?.text).toBe(turns(1)[1]?.content);
  });
});

describe('usage', () => {
  it('is logged when the manager is told, and known after a crash', async () => {
    const { session, crash } = await openOnDisk({ contextLimit: 10_000 });
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

  it('that was lowered by a mask stays low after a crash', async () => {
    const { session, crash } = await openOnDisk({
      contextLimit: 10_000,
      policy: oldestBatch({ count: 50, window: 1 }),
    });
    await session.add(user('the task'), ...turns(4));
    session.manager.recordUsage({ promptTokens: 8000, completionTokens: 1 });
    await session.mask(2);
    expect(session.manager.promptTokens).toBeLessThan(8000);
    expect((await crash()).manager.promptTokens).toBe(session.manager.promptTokens);
  });

  it('at the hard threshold restarts after a crash too, and does not wind down for ever', async () => {
    const { session, crash } = await openOnDisk({ contextLimit: 10_000 });
    await session.add(user('the task'));
    session.manager.recordUsage({ promptTokens: 9500, completionTokens: 1 });
    expect(session.manager.evaluate().type).toBe('wind-down');
    await session.add(reply('saved'));
    const again = await crash();
    again.manager.recordUsage({ promptTokens: 9600, completionTokens: 1 });
    expect(again.manager.evaluate().type).toBe('restart');
  });

  it('calls the hook of the caller when it winds down', async () => {
    const saved: string[] = [];
    const { session } = await openOnDisk({ onWindDown: async ({ id }: Session<ChatMessage>) => void saved.push(id) });
    await session.windDown();
    expect(saved).toEqual(['chat']);
  });
});

describe('compaction', () => {
  const fill = async (session: Session<ChatMessage>): Promise<void> => {
    await session.add(user('the task'), ...turns(10));
    await session.restart();
    await session.add(...turns(3, { from: 10 }));
  };

  it('archives first: what leaves events.jsonl is in the archive, and the log reads as before', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat', carryoverTurns: 1, policy: never() });
    await fill(session);
    const before = await eventsOf(session);
    const size = statSync(join(directory, 'chat/events.jsonl')).size;
    await session.compact();
    expect(statSync(join(directory, 'chat/events.jsonl')).size).toBeLessThan(size);
    expect(await eventsOf(session)).toEqual(before);
    await session.add(user('more'));
    expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([
      ...before.map(({ seq }) => seq),
      before.length + 2,
    ]);
    const messages = session.messages();
    await session.close();
    const again = await openChat({ directory, id: 'chat', carryoverTurns: 1, policy: never() });
    expect(again.messages()).toEqual(messages);
    await again.compact();
    expect((await eventsOf(again)).filter(({ type }) => type === 'message')).toHaveLength(28);
    await again.close();
  });

  it('discards what is no longer needed, and keeps no archive', async () => {
    const directory = freshFolder();
    const session = await openChat({
      directory,
      id: 'chat',
      carryoverTurns: 1,
      compaction: 'discard',
      policy: never(),
    });
    await fill(session);
    await session.compact();
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(false);
    expect((await eventsOf(session)).filter(({ type }) => type === 'message')).toHaveLength(6);
    expect((await eventsOf(session))[0]).toMatchObject({ type: 'session_restart' });
    await session.close();
  });

  it('off leaves the log as it is', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat', compaction: 'off', compactAfterBytes: 1 });
    await fill(session);
    const before = readFileSync(join(directory, 'chat/events.jsonl'), 'utf8');
    await session.compact();
    await session.close();
    expect(readFileSync(join(directory, 'chat/events.jsonl'), 'utf8')).toBe(before);
  });

  it('comes by itself when half of the log is no longer needed, and not before', async () => {
    const directory = freshFolder();
    const session = await openChat({
      directory,
      id: 'chat',
      compactAfterBytes: 5000,
      carryoverTurns: 1,
      policy: never(),
    });
    await session.add(user('the task'), ...turns(20));
    await session.log({ type: 'error', message: 'x' });
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(false);
    await session.restart();
    await session.log({ type: 'error', message: 'y' });
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(true);
    await session.close();
  });
});

describe('a compaction whose rename', () => {
  const compactedWith = async (fail: (disk: RecordingDisk) => void) => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, compaction: 'discard', onProblem: () => {} });
    await session.add(user('message 0'), user('message 1'));
    fail(disk);
    await expect(session.compact()).rejects.toThrow(/EIO|sync failed/);
    disk.onSync = undefined;
    return { disk, session };
  };

  it('did not happen goes on in the old log', async () => {
    const { disk, session } = await compactedWith((disk) => {
      disk.rename = () => Promise.reject(new Error('EIO'));
    });
    await session.add(user('message 2'));
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.messages()).toHaveLength(3);
  });

  it('may not be durable ends the session, since two logs could have the name', async () => {
    const { disk, session } = await compactedWith((disk) => {
      disk.onSync = (path) => {
        if (path === '/s/chat' && !disk.files.has('/s/chat/events.jsonl.new')) throw new Error('EIO');
      };
    });
    await expect(session.add(user('message 2'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    for (const choose of [() => 0, () => 0.99]) {
      const files = disk.afterPowerLoss(disk.operations.length, { choose });
      const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(files) });
      expect(again.messages()).toHaveLength(2);
    }
  });
});

describe('a power cut after a kill', () => {
  it('loses nothing that was acknowledged in between, though the one that was killed had not synced a new name', async () => {
    const disk = new RecordingDisk();
    const options = { directory: '/s', id: 'chat', disk, compaction: 'discard' } as const;
    const killed = await openChat(options);
    await killed.add(user('message 0'));
    disk.onSync = (path) =>
      path === '/s/chat' && !disk.files.has('/s/chat/events.jsonl.new') ? new Promise(() => {}) : undefined;
    killed.compact();
    await vi.waitUntil(() =>
      disk.operations.some((done) => done.kind === 'bound' && done.path.endsWith('.new') && !done.inode),
    );
    disk.onSync = undefined;
    const session = await openChat(options);
    await session.add(user('message 1'));
    const files = disk.afterPowerLoss(disk.operations.length, { choose: () => 0 });
    const again = await openChat({ ...options, disk: new RecordingDisk(files) });
    expect(again.messages()).toEqual([user('message 0'), user('message 1')]);
  });

  it('nor the folder of a session that had not begun', async () => {
    const disk = new RecordingDisk(new Map([['/s/chat/events.jsonl', Buffer.alloc(0)]]));
    const synced: string[] = [];
    disk.onSync = (path) => {
      synced.push(path);
    };
    await openChat({ directory: '/s', id: 'chat', disk });
    expect(synced).toEqual(['/s', '/s/chat', '/s/chat/events.jsonl']);
  });
});

describe('a render during which the session is restarted', () => {
  it('leaves its cut to the conversation that it was made for', async () => {
    const inner = createMemoryStore();
    let restart: (() => Promise<void>) | undefined;
    const putMany: typeof inner.putMany = async (items) => {
      const begin = restart;
      restart = undefined;
      await begin?.();
      return inner.putMany(items);
    };
    const { session } = await openOnDisk({ policy: never(), store: { ...inner, putMany } });
    await session.add(user('the task'), ...turns(20));
    restart = () => session.restart();
    await session.render({ window: 50_000, maxHistoryTokens: 1000, maxOutputTokens: 100 });
    const cuts = (await eventsOf(session)).filter(({ type }) => type === 'context_cut');
    expect(cuts).toMatchObject([{ first: '2' }]);
  });
});

describe('a result that comes after a render', () => {
  it('lifts the cut that was made for messages that now stand elsewhere, and no other', async () => {
    const budget = { window: 50_000, maxHistoryTokens: 1000, maxOutputTokens: 100 };
    const alone = (session: Session<ChatMessage>) => renderWithBudget(session.view(), { ...budget, format: chat });
    const { session } = await openOnDisk({ policy: never() });
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
  it('comes after them, as in the log', async () => {
    const { session, crash } = await openOnDisk();
    await session.add(user('the task'), ...turns(4));
    const added = session.add(...turns(4, { from: 4 }));
    await session.mask(1);
    await added;
    expect((await crash()).view()).toEqual(session.view());
  });

  it.each([
    ['a message', (session: Session<ChatMessage>) => session.add(...turns(8, { from: 4 }))],
    ['a restart', (session: Session<ChatMessage>) => session.restart()],
    ['a reset', (session: Session<ChatMessage>) => session.reset()],
  ])('is refused by the manager, who cannot wait until %s is in the log', async (_what, change) => {
    const { session, crash } = await openOnDisk();
    await session.add(user('the task'), ...turns(4));
    const changed = change(session);
    // Long enough for it to begin, and not for a sync to end.
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
  it('begins an empty conversation and leaves the log', async () => {
    const { session, crash } = await openOnDisk();
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
  it('ends the session with its error, and what was acknowledged is there', async () => {
    const disk = new RecordingDisk();
    const broken = {
      ...never(),
      step: (state: unknown, { turns }: { turns: number }) => {
        if (turns > 1) throw new Error('the policy is broken');
        return never().step(state, {} as never);
      },
    };
    const session = await openChat({ directory: '/s', id: 'chat', disk, policy: broken });
    await session.add(user('the task'), reply('one'));
    await expect(session.add(reply('two'))).rejects.toThrow('the policy is broken');
    await expect(session.add(reply('three'))).rejects.toThrow('the policy is broken');
    const again = await openChat({
      directory: '/s',
      id: 'chat',
      disk: new RecordingDisk(disk.afterCrash()),
      policy: never(),
    });
    expect(again.messages()).toEqual([user('the task'), reply('one'), reply('two')]);
  });
});

describe('log', () => {
  it('takes events of one’s own, and none that only the session writes', async () => {
    const { session } = await openOnDisk();
    await session.log({ type: 'x_note', text: 'mine' });
    expect((await eventsOf(session)).at(-1)).toMatchObject({ type: 'x_note', text: 'mine' });
    for (const type of ['message', 'checkpoint', 'reset', 'anything', undefined])
      await expect(session.log({ type } as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
  });

  it.each([
    { type: 'x_import', seq: 900 },
    { type: 'x_import', time: 5 },
    { type: 'x_import', batch: 7 },
    { type: 'tools_skipped', reason: 'no' },
    { type: 'tools_skipped', call_ids: 'c1', reason: 'no' },
    { type: 'token_usage', prompt_tokens: 'many' },
    { type: 'status_change', to: 'asleep' },
    { type: 'approval_required', tool: 'bash' },
  ])('refuses %j, with which the session could not be opened again as it was', async (event) => {
    const { session, crash } = await openOnDisk();
    await expect(session.log(event as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(() => session.record(event as never)).toThrow(PalimpsestError);
    await session.add(user('goes on'));
    expect((await crash()).messages()).toEqual([user('goes on')]);
  });
});

describe('close', () => {
  it.each([0, 1, 2, 3, 4])(
    'refuses what comes after it, also %i moments later, and has all from before',
    async (moments) => {
      const { session, crash } = await openOnDisk();
      const added = session.add(user('before'));
      const closed = session.close();
      for (let i = 0; i < moments; i++) await new Promise((resolve) => setImmediate(resolve));
      await expect(session.add(user('after'))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      await Promise.all([added, closed]);
      expect((await crash()).messages()).toEqual([user('before')]);
    },
  );
});

describe('a message', () => {
  it('that is changed after it was added is not changed in the session', async () => {
    const { session } = await openOnDisk();
    const message = user('as it was');
    await session.add(message);
    message.content = 'changed';
    expect(session.messages()).toEqual([user('as it was')]);
  });

  it.each([undefined, null])('that is %s is refused, and the others go on', async (nothing) => {
    const { session, crash } = await openOnDisk();
    await expect(session.add(user('with it'), nothing as never)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await session.add(user('alone'));
    expect((await crash()).messages()).toEqual([user('alone')]);
  });

  it('with bytes comes back with bytes', async () => {
    const disk = new RecordingDisk();
    const message = {
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }],
    };
    const session = await openChat({ directory: '/s', id: 'chat', format: 'ai-sdk', disk });
    await session.add(message as never);
    const again = await openChat({
      directory: '/s',
      id: 'chat',
      format: 'ai-sdk',
      disk: new RecordingDisk(disk.afterCrash()),
    });
    expect(again.messages()).toEqual([message]);
  });
});

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

describe('every format', () => {
  it.each(openCalls)(
    '%s: a call that a crash left open is answered so that the provider takes it, and a restart too',
    async (format, open) => {
      const writer = messageWriter<ChatMessage>(format);
      const disk = new RecordingDisk();
      const session = await openChat({ directory: '/s', id: 'chat', format, disk });
      await session.add(writer.user('the task'), open as never);
      const again = await openChat({
        directory: '/s',
        id: 'chat',
        format,
        disk: new RecordingDisk(disk.afterCrash()),
      });
      expect(again.recovery.answeredCalls).toBe(1);
      const next = writer.user('next');
      expect(again.format.check([...again.messages(), next])).toEqual([]);
      await again.restart();
      expect(again.messages()[0]).toEqual(writer.user('the task'));
      expect(again.format.check([...again.view(), next])).toEqual([]);
      const texts = again.format.view(again.messages()).map(({ text }) => text);
      expect(texts.at(-1)).toBe(RESTART);
      expect(texts.some((text) => text.includes('interrupted by server restart'))).toBe(true);
    },
  );

  it.each(openCalls)(
    '%s: a call that is answered after the user said more is answered where the provider looks for it',
    async (format, open) => {
      const writer = messageWriter<ChatMessage>(format);
      const disk = new RecordingDisk();
      const session = await openChat({ directory: '/s', id: 'chat', format, disk, compactAfterBytes: 1 });
      const [task, more] = [writer.user('the task'), writer.user('wait')];
      await session.add(task, open as never, more);
      const again = await openChat({
        directory: '/s',
        id: 'chat',
        format,
        disk: new RecordingDisk(disk.afterCrash()),
      });
      expect(again.recovery.answeredCalls).toBe(1);
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
      const files = disk.afterCrash();
      for (const name of ['state.yaml', 'nothing']) {
        const left = new Map([...files].filter(([path]) => !path.endsWith(name)));
        const third = await openChat({ directory: '/s', id: 'chat', format, disk: new RecordingDisk(left) });
        expect([third.messages(), third.view()]).toEqual([session.messages(), session.view()]);
        expect(third.recovery.damagedLines).toBe(0);
      }
    },
  );

  it('a result that answers nobody is kept as it is', async () => {
    const { session } = await openOnDisk();
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

  it('are shortened with the masks of the policy, stored, and still so after a crash', async () => {
    const store = createMemoryStore();
    const { session, crash } = await openOnDisk({ policy: slidingWindow({ turns: 3, oldTexts: true }), store });
    await session.add(...edited);
    expect(argumentsOf(session.view())).toMatch(/"old_string":"const total = … \[\d+ chars of old text left out\]"/);
    expect(argumentsOf(session.messages())).toBe(argumentsOf(edited));
    const again = await crash();
    expect(again.view()).toEqual(session.view());
    await again.restart();
    expect((await store.get(handleOf(argumentsOf(edited) ?? '')))?.text).toBe(argumentsOf(edited));
  });

  it('are shortened with masks that are forced, and still so after a crash', async () => {
    const { session, crash } = await openOnDisk({
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
