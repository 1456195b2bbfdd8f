import { describe, expect, it } from 'vitest';
import { chat } from '../../src/formats/chat.ts';
import { call, openChat, reply, toolResult, user } from '../../src/manager/session/session.test-data.ts';
import type { Session } from '../../src/manager/session/session.ts';
import type { ChatMessage } from '../../src/message.ts';
import { breakEven } from '../../src/plan/policies/break-even.ts';
import { never } from '../../src/plan/policies/never.ts';
import { oldestBatch } from '../../src/plan/policies/oldest-batch.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Policy } from '../../src/plan/policy.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { RecordingDisk, randomFrom } from '../store/support/recording-disk.ts';

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 12);

const policies: Readonly<Record<string, () => Policy>> = {
  'sliding-window': () => slidingWindow({ turns: 3 }),
  'break-even': () => breakEven({ window: 3 }),
  'oldest-batch': () => oldestBatch({ count: 2, window: 2 }),
  never,
};

/** A conversation at random: turns with one call or more, words of the user between and in the midst of them, masks, restarts, compactions. */
async function converse(session: Session<ChatMessage>, random: () => number): Promise<void> {
  let number = 0;
  const text = (): string => `${number++} ${'some words of it\n'.repeat(Math.floor(random() ** 2 * 120))}`;
  await session.add({ role: 'system', content: 'you are' }, user('the task'));
  for (let step = 0; step < 60; step++) {
    const dice = random();
    if (dice < 0.6) {
      const ids = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => `c${number}.${i}`);
      await session.add({ ...call(''), toolCalls: ids.flatMap((id) => call(id).toolCalls ?? []) });
      if (random() < 0.2) await session.add(user(text()));
      for (const id of ids) await session.answer(toolResult(id, text()));
      await session.render({ window: 50_000, maxHistoryTokens: 4000, maxOutputTokens: 100 });
    } else if (dice < 0.75) await session.add(user(text()), reply(text()));
    else if (dice < 0.82) await session.mask(1 + Math.floor(random() * 3));
    else if (dice < 0.88) session.manager.recordUsage({ promptTokens: 20_000 + number, completionTokens: 1 });
    else if (dice < 0.94) await session.compact();
    else if (dice < 0.97) await session.restart();
    else await session.add(reply(text()));
  }
  await session.log({ type: 'error', message: 'so that all is written' });
}

const stateOf = (session: Session<ChatMessage>): object => ({
  messages: session.messages(),
  view: session.view(),
  number: session.number,
  turns: session.turns,
  status: session.status,
  promptTokens: session.manager.promptTokens,
  completionTokens: session.manager.completionTokens,
  maskedTotal: session.manager.maskedTotal,
});

describe.each(Object.keys(policies))('a session under %s that is killed', (name) => {
  it('is the same from its snapshot and from its events alone, and what it shows may be sent', async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const random = randomFrom(seed * 7);
      const disk = new RecordingDisk();
      const store = seed % 2 === 0 ? createMemoryStore() : undefined;
      const options = {
        directory: '/s',
        id: 'chat',
        policy: (policies[name] ?? never)(),
        maxToolResultTokens: 150,
        maxInputTokens: 1000,
        snapshotEvery: 1 + Math.floor(random() * 60),
        compactAfterBytes: 3000,
        ...(store ? { store } : {}),
      };
      const session = await openChat({ ...options, disk });
      await converse(session, random);
      const files = disk.afterCrash();
      const again = await openChat({ ...options, disk: new RecordingDisk(files) });
      const alone = await openChat({
        ...options,
        disk: new RecordingDisk(new Map([...files].filter(([path]) => !path.endsWith('.yaml')))),
      });
      expect(alone.recovery.from).toBe('events');
      for (const one of [again, alone]) {
        expect(stateOf(one), `seed ${seed}, from ${one.recovery.from}`).toEqual(stateOf(session));
        expect(chat.check([...one.view(), user('next')])).toEqual([]);
      }
      if (!store) continue;
      const { messages } = await again.render({ window: 50_000 });
      for (const handle of JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? [])
        expect(await store.get(handle), `seed ${seed}, ${handle}`).toBeDefined();
    }
  }, 60_000);
});
