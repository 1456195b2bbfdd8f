import { describe, expect, it } from 'vitest';
import { anthropic } from '../formats/anthropic.ts';
import { chat } from '../formats/chat.ts';
import type { AnyFormat, Segment, Violation } from '../message.ts';
import { roles } from './roles.ts';

const view = chat.view([
  { role: 'system', content: 'one' },
  { role: 'system', content: 'two' },
  { role: 'user', content: 'task' },
]);

function checkNotePlace(
  format: AnyFormat,
  segments: readonly Segment[],
  before: number,
  role: 'system' | 'user',
): Violation[] {
  const plan = { version: 1, edits: [{ kind: 'insert', before, role, text: 'note' }] } as const;
  return roles.check({ format: format as typeof chat, before: [], after: [], segments, plan });
}

describe('roles', () => {
  it('refuses a note before the end of the system prompt', () => {
    expect(checkNotePlace(chat, view, 0, 'system')).toMatchObject([{ law: 'roles' }]);
    expect(checkNotePlace(chat, view, 1, 'system')).toMatchObject([{ law: 'roles' }]);
    expect(checkNotePlace(chat, view, 2, 'system')).toEqual([]);
    expect(checkNotePlace(chat, view, 3, 'system')).toEqual([]);
  });
  it('refuses a role that the format does not give to notes', () => {
    expect(checkNotePlace(chat, view, 2, 'user')).toMatchObject([{ law: 'roles' }]);
    const messages = anthropic.view([{ role: 'user', content: 'task' }]);
    expect(checkNotePlace(anthropic, messages, 1, 'user')).toEqual([]);
    expect(checkNotePlace(anthropic, messages, 1, 'system')).toMatchObject([{ law: 'roles' }]);
  });
  it('lets a note come first if there is no system prompt', () => {
    expect(checkNotePlace(chat, chat.view([{ role: 'user', content: 'task' }]), 0, 'system')).toEqual([]);
    expect(checkNotePlace(chat, [], 0, 'system')).toEqual([]);
  });
  it('says which role may not come where', () => {
    expect(checkNotePlace(chat, view, 1, 'system')).toEqual([
      {
        law: 'roles',
        message: 1,
        text: 'A note with the role system may not come before message 1.',
        about: 'note',
      },
    ]);
  });
  it('refuses a note before a system prompt that an earlier note precedes', () => {
    const noted = chat.view([
      { role: 'system', content: '[conversation truncated — 2 older messages omitted]' },
      { role: 'system', content: 'prompt' },
      { role: 'user', content: 'task' },
    ]);
    expect(checkNotePlace(chat, noted, 1, 'system')).toMatchObject([{ law: 'roles' }]);
  });
  it('takes a system message behind a message that cannot be read for no part of the prompt', () => {
    const system = { role: 'system', content: 'prompt' } as const;
    const torn = chat.view([system, null as never, { role: 'system', content: 'later' }]);
    expect(checkNotePlace(chat, torn, 1, 'system')).toEqual([]);
  });
  it('does not take an earlier note for a part of the system prompt', () => {
    const earlier = chat.view([
      { role: 'system', content: 'prompt' },
      { role: 'system', content: '[conversation truncated — 2 older messages omitted]' },
      { role: 'user', content: 'task' },
    ]);
    expect(checkNotePlace(chat, earlier, 1, 'system')).toEqual([]);
  });
});
