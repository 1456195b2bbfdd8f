import { describe, expect, it } from 'vitest';
import { chat } from '../../../src/formats/chat.ts';
import { never } from '../../../src/plan/policies/never.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { converse, policies, stateOf } from '../../../src/testing/session/recovery-facts.ts';
import { openChat, user } from '../../support/manager/sessions.ts';
import { RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 12);

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
