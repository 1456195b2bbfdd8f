import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openSession } from '../../../src/manager/session/open-session.ts';
import type { Session, SessionOptions } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';

export { call, eventsOf, reply, result, toolResult, turns, user } from '../../../src/testing/session/session-suite.ts';

/** Temporary folders of a test file. They are removed when it ends. */
export function temporaryFolders(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'palimpsest-sessions-'));
  let folders = 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return () => join(root, `folder-${folders++}`);
}

export const openChat = (options: SessionOptions<ChatMessage>): Promise<Session<ChatMessage>> =>
  openSession<ChatMessage>(options);
