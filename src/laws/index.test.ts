import { describe, expect, it } from 'vitest';
import { pair, prose, reply, system, user } from '../../test/seeds/support.ts';
import { chat } from '../formats/chat.ts';
import type { Edit, LawName, Plan } from '../message.ts';
import { laws as allLaws, brokenLaws } from './index.ts';

const pairs = [...pair('a', prose(400)), ...pair('b', prose(400))];
const before = [system('sys'), user('task'), ...pairs, reply('done'), user('next')];
const segments = chat.view(before);
const RESULT = segments.findIndex(({ kind }) => kind === 'observation');

function laws(edits: readonly Edit[], after = chat.apply(before, { version: 1, edits })): LawName[] {
  const plan: Plan = { version: 1, edits };
  return brokenLaws({ format: chat, before, after, segments, plan }).map(({ law }) => law);
}
const replace = (text: string, segment = RESULT): Edit => ({ kind: 'replace', segment, text, why: 'mask' });

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
  it('names idempotent where a placeholder is replaced', () => {
    const list = [user('task'), ...pair('a', '[observation masked — 400 chars]')];
    const plan: Plan = { version: 1, edits: [{ kind: 'replace', segment: 2, text: 'x', why: 'mask' }] };
    const applied = { format: chat, before: list, after: chat.apply(list, plan), segments: chat.view(list), plan };
    expect(brokenLaws(applied).map(({ law }) => law)).toEqual(['idempotent']);
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
