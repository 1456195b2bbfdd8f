import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession } from '../../../src/manager/session/open-session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { call, openChat, temporaryFolders, user } from '../../support/manager/sessions.ts';

const freshFolder = temporaryFolders();
const DESCRIPTORS = '/proc/self/fd';
const OPENS = 50;

/** A closed session whose last call is not answered, so that the next open writes to its log. */
async function closedSession(): Promise<string> {
  const directory = freshFolder();
  const session = await openChat({ directory, id: 'chat' });
  await session.add(user('hello'), call('c1'));
  await session.close();
  return directory;
}

const brokenClock = (): number => {
  throw new Error('the clock is broken');
};

interface Failing {
  readonly prepare?: (folder: string) => void;
  readonly options?: object;
}

const failing: Record<string, Failing> = {
  'its first event cannot be written': { options: { now: brokenClock } },
  'its format is another': { options: { format: 'anthropic' } },
  'a folder has the name of its mark': { prepare: (folder) => mkdirSync(join(folder, 'events.synced')) },
  'no line of its log can be read': {
    prepare: (folder) => {
      rmSync(join(folder, 'state.yaml'), { force: true });
      writeFileSync(join(folder, 'events.jsonl'), 'no event\n');
    },
  },
};

describe.skipIf(!existsSync(DESCRIPTORS))('file descriptors (without /proc they cannot be counted)', () => {
  it.each(Object.entries(failing))(
    `stay as many after ${OPENS} opens that fail because %s`,
    async (_, { prepare, options }) => {
      const directory = await closedSession();
      prepare?.(join(directory, 'chat'));
      const open = () => openSession<ChatMessage>({ directory, id: 'chat', onProblem: () => {}, ...options });
      // The first open loads what later ones use again.
      await expect(open()).rejects.toThrow();
      const before = readdirSync(DESCRIPTORS).length;
      for (let n = 0; n < OPENS; n++) await expect(open()).rejects.toThrow();
      expect(readdirSync(DESCRIPTORS).length).toBeLessThan(before + OPENS / 5);
    },
  );
});
