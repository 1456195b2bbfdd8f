import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ChatMessage } from '../../message.ts';
import { openSession } from '../open-session.ts';
import type { ToolResult } from '../tool-call.ts';
import type { Session, SessionEvent, SessionOptions } from './session.ts';

/** Folders of this test file, gone when it ends. */
export function temporaryFolders(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'palimpsest-sessions-'));
  let folders = 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return () => join(root, `folder-${folders++}`);
}

export const user = (content: string): ChatMessage => ({ role: 'user', content });
export const reply = (content: string): ChatMessage => ({ role: 'assistant', content });
export const call = (id: string, name = 'read_file', args: object = { path: `src/${id}.ts` }): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: JSON.stringify(args) }],
});
export const result = (id: string, content: string, name = 'read_file'): ChatMessage => ({
  role: 'tool',
  content,
  name,
  toolCallId: id,
});

/** What a tool answered, for `session.answer`. */
export const toolResult = (id: string, text: string, name = 'read_file'): ToolResult => ({
  call: { id, name, arguments: {} },
  text,
  isError: false,
});

/** A call and its result, so many times. */
export const turns = (count: number, { from = 0, lines = 40 } = {}): ChatMessage[] =>
  Array.from({ length: count }, (_, i) => i + from).flatMap((i) => [
    call(`c${i}`),
    result(`c${i}`, `line of result ${i}\n`.repeat(lines)),
  ]);

export const openChat = (options: SessionOptions<ChatMessage>): Promise<Session<ChatMessage>> =>
  openSession<ChatMessage>(options);

export async function eventsOf<M>(session: Session<M>): Promise<SessionEvent<M>[]> {
  const events: SessionEvent<M>[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}
