import { chat } from '../../formats/chat.ts';
import type { Session } from '../../manager/session/session.ts';
import type { ChatMessage } from '../../message.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import { never } from '../../plan/policies/never.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import type { Policy } from '../../plan/policy.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { call, reply, type SessionSuite, toolResult, user } from './session-suite.ts';

/** Random conversations, killed and opened again. */
export function recoveryFacts({ describe, test, expect, begin, options }: SessionSuite): void {
  for (const name of Object.keys(policies))
    describe(`a session under ${name} that is killed`, () => {
      test('is the same from its snapshot and from its events alone, and what it shows may be sent', async () => {
        for (let seed = 1; seed <= (options.runs ?? 2); seed++) {
          const random = randomFrom(seed * 7);
          const store = seed % 2 === 0 ? createMemoryStore() : undefined;
          const { place, session, crash } = await begin({
            policy: (policies[name] ?? never)(),
            maxToolResultTokens: 150,
            maxInputTokens: 1000,
            snapshotEvery: 1 + Math.floor(random() * 60),
            compactAfterBytes: 3000,
            ...(store ? { store } : {}),
          });
          await converse(session, random);
          const again = await crash();
          expect(stateOf(again)).toEqual(stateOf(session));
          const rendered = await again.render({ window: 50_000 });
          if (store)
            for (const handle of JSON.stringify(rendered.messages).match(/p_[a-z2-7]{26}/g) ?? [])
              expect(await store.get(handle)).toBeDefined();
          await options.removeSnapshot(place, 'chat');
          const alone = await crash();
          expect(alone.recovery).toMatchObject({ from: 'events', missing: [], damagedLines: 0 });
          expect(stateOf(alone)).toEqual(stateOf(again));
          expect(chat.check([...alone.view(), user('next')])).toEqual([]);
        }
      });
    });
}

/** The same numbers every time. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Policies to try, each new for each conversation. */
export const policies: Readonly<Record<string, () => Policy>> = {
  'sliding-window': () => slidingWindow({ turns: 3 }),
  'break-even': () => breakEven({ window: 3 }),
  'oldest-batch': () => oldestBatch({ count: 2, window: 2 }),
  never,
};

/** A random conversation: turns with one or more calls, user messages between and inside them, masks, restarts, compactions. */
export async function converse(session: Session<ChatMessage>, random: () => number): Promise<void> {
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

/** The whole state of a session. */
export const stateOf = (session: Session<ChatMessage>): object => ({
  messages: session.messages(),
  view: session.view(),
  number: session.number,
  turns: session.turns,
  status: session.status,
  promptTokens: session.manager.promptTokens,
  completionTokens: session.manager.completionTokens,
  maskedTotal: session.manager.maskedTotal,
});
