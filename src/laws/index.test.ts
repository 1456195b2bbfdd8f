import { describe, expect, it } from 'vitest';
import { pair, prose, reply, system, user } from '../../test/support/chat.ts';
import { chat } from '../formats/chat.ts';
import type { Edit, LawName, Plan, ReplaceEdit, Segment } from '../message.ts';
import { laws as allLaws, brokenLaws, brokenReplacement } from './index.ts';

const pairs = [...pair('a', prose(400)), ...pair('b', prose(400))];
const before = [system('sys'), user('task'), ...pairs, reply('done'), user('next')];
const segments = chat.view(before);
const RESULT = segments.findIndex(({ kind }) => kind === 'observation');

function laws(edits: readonly Edit[], after = chat.apply(before, { version: 1, edits })): LawName[] {
  const plan: Plan = { version: 1, edits };
  return brokenLaws({ format: chat, before, after, segments, plan }).map(({ law }) => law);
}
const replace = (text: string, segment = RESULT): ReplaceEdit => ({ kind: 'replace', segment, text, why: 'mask' });

describe('brokenLaws', () => {
  it('finds nothing wrong with a mask, a drop of whole turns or a note behind the system prompt', () => {
    expect(laws([])).toEqual([]);
    expect(laws([replace('short')])).toEqual([]);
    expect(
      laws([
        { kind: 'drop', from: 2, to: 4 },
        { kind: 'insert', before: 1, role: 'system', text: 'n' },
      ]),
    ).toEqual([]);
  });
  it.each<[LawName, Edit[]]>([
    ['monotone', [replace(prose(400))]],
    ['monotone', [replace(prose(401))]],
    ['text', [replace('')]],
    ['text', [replace('half \ud83d')]],
    ['bound-reasoning', [replace('x', 0)]],
    ['pairs', [{ kind: 'drop', from: 2, to: 3 }]],
    ['pairs', [{ kind: 'drop', from: 3, to: 4 }]],
    ['task', [{ kind: 'drop', from: 0, to: 1 }]],
    ['task', [{ kind: 'drop', from: 1, to: 2 }]],
    ['task', [{ kind: 'drop', from: 7, to: 8 }]],
    ['roles', [{ kind: 'insert', before: 0, role: 'system', text: 'n' }]],
    ['roles', [{ kind: 'insert', before: 1, role: 'user', text: 'n' }]],
  ])('names %s where %j breaks it', (law, edits) => {
    expect(laws(edits)).toContain(law);
  });
  it.each<[string, Edit[]]>([
    ['A replacement is not smaller than what it hides.', [replace(prose(400))]],
    ['A replacement is empty.', [replace('')]],
    ['A replacement splits a character.', [replace('half \ud83d')]],
    ['A replacement of system: only a result that answers a call may be replaced.', [replace('x', 0)]],
    ['The system message 0 must survive.', [{ kind: 'drop', from: 0, to: 1 }]],
    [
      'A note with the role user may not come before message 1.',
      [{ kind: 'insert', before: 1, role: 'user', text: 'n' }],
    ],
  ])('says "%s"', (text, edits) => {
    const plan: Plan = { version: 1, edits };
    const applied = { format: chat, before, after: chat.apply(before, plan), segments, plan };
    expect(brokenLaws(applied).map((violation) => violation.text)).toContain(text);
  });
  it('names idempotent where a placeholder is replaced', () => {
    const list = [user('task'), ...pair('a', '[observation masked — 400 chars]')];
    const plan: Plan = { version: 1, edits: [{ kind: 'replace', segment: 2, text: 'x', why: 'mask' }] };
    const applied = { format: chat, before: list, after: chat.apply(list, plan), segments: chat.view(list), plan };
    const text = 'A replacement of what is a placeholder already.';
    expect(brokenLaws(applied)).toEqual([{ law: 'idempotent', message: 2, text, about: 'a' }]);
  });
  it('names no-mutation where a message that no edit names is another object', () => {
    const after = chat.apply(before, { version: 1, edits: [replace('short')] });
    const copied = after.map((message, i) => (i === 1 ? { ...message } : message));
    expect(laws([replace('short')], copied)).toEqual(['no-mutation']);
  });
  it('has one law for each name but the stable prefix, which is about two plans', () => {
    const names: readonly LawName[] = [
      'pairs',
      'metadata',
      'bound-reasoning',
      'roles',
      'task',
      'monotone',
      'idempotent',
      'text',
      'no-mutation',
    ];
    expect(allLaws.map(({ name }) => name)).toEqual(names);
  });
  it('names metadata where more than the content of a result is another', () => {
    const after = chat.apply(before, { version: 1, edits: [replace('short')] });
    const changed = after.map((message, i) => (i === 3 ? { ...message, tags: ['new'] } : message));
    expect(laws([replace('short')], changed)).toEqual(['metadata']);
  });
});

describe('brokenReplacement', () => {
  const segment = segments[RESULT] as Segment;
  const old = before[segment.message];
  const broken = (text: string, edited: unknown = { ...old, content: text }): string | undefined =>
    brokenReplacement(replace(text), segment, [old, edited]);

  it('finds nothing wrong with a mask', () => {
    expect(broken('short')).toBeUndefined();
  });
  it('says how a replacement breaks a law', () => {
    expect(broken('')).toBe('A replacement is empty.');
    expect(broken(prose(400))).toBe('A replacement is not smaller than what it hides.');
    expect(broken('short', { ...old, content: 'short', role: 'user' })).toBe(
      `The edit of message ${segment.message} changes more than the content of its result.`,
    );
  });
});
