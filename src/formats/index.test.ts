import { describe, expect, it } from 'vitest';
import { deepFreeze } from '../../test/support/deep-freeze.ts';
import { formatOf, type Sample, samples } from '../../test/support/format-samples.ts';
import { EMPTY_PLAN, type Plan, type Segment } from '../message.ts';
import { detectFormat } from './detect-format.ts';

describe.each(samples)('$name', (sample) => {
  const format = formatOf(sample);
  const messages = deepFreeze(sample.messages);
  const segments = format.view(messages);
  const aNote = format.note(format.noteRole, 'A note.', messages);

  it('views every piece with its kind, turn, call and tool', () => {
    expect(segments.map(briefly)).toEqual(sample.view);
  });

  it('is recognised', () => {
    expect(detectFormat(messages)).toBe(sample.name);
    expect(detectFormat([...messages, ...messages])).toBe(sample.name);
  });

  it('accepts a list that ends with an open call', () => {
    expect(format.check(messages)).toEqual([]);
  });

  it('gives back the same messages for an empty plan', () => {
    const result = format.apply(messages, EMPTY_PLAN);
    expect(result).not.toBe(messages);
    expect(result).toEqual(messages);
    expect(result.every((message, i) => message === messages[i])).toBe(true);
  });

  it('shares with the original all that an edit does not name', () => {
    for (const segment of results(segments)) {
      const edited = format.apply(messages, replacing(segments, segment));
      expectSharedBeside(messages, edited, [segment.message, ...segment.path]);
    }
  });

  it('changes nothing in a view but the text and media of what was edited', () => {
    const edited = format.apply(messages, replacing(segments, ...results(segments)));
    const expected = segments.map((segment) => {
      if (segment.kind !== 'observation') return segment;
      const { media: _media, ...rest } = segment;
      return { ...rest, text: '[masked]' };
    });
    expect(format.view(edited)).toEqual(expected);
  });

  it('edits into a list that its provider accepts', () => {
    expect(format.check(format.apply(messages, replacing(segments, ...results(segments))))).toEqual([]);
  });

  it('keeps a string a string and makes of a list one text with the last cache marker', () => {
    for (const segment of results(segments)) {
      const before = contentAt(messages, segment);
      const after = contentAt(format.apply(messages, replacing(segments, segment)), segment);
      expect(typeof after).toBe(typeof before);
      if (partsOf(before)) expect(partsOf(after)).toHaveLength(1);
      expect(markersIn(after)).toEqual(markersIn(before));
    }
  });

  it.skipIf(!sample.hasErrorFlag)('keeps the flag of a failed result (the chats have none)', () => {
    const failed = results(segments).filter((segment) => segment.isError);
    expect(failed.map((segment) => segment.callId)).toEqual(['c2']);
    const edited = format.view(format.apply(messages, replacing(segments, ...failed)));
    expect(edited.filter((segment) => segment.isError).map((segment) => segment.callId)).toEqual(['c2']);
  });

  it('stores a text as itself and anything richer as its JSON', () => {
    for (const segment of results(segments)) {
      const stored = format.original(messages[segment.message], segment) as string;
      const content = contentAt(messages, segment);
      if (typeof content === 'string') expect(stored).toBe(content);
      else if (stored !== segment.text) expect(JSON.parse(stored)).toEqual(content);
    }
  });

  it('inserts a note in a role its provider allows, and drops what it is told to', () => {
    const slot = (segments.find((segment) => segment.kind === 'user')?.message ?? 0) + 1;
    const insert = { kind: 'insert', before: slot, role: format.noteRole, text: 'A note.' } as const;
    const result = format.apply(messages, { version: 1, edits: [insert] });
    expect(result).toHaveLength(messages.length + 1);
    const note = format.view(result).find((segment) => segment.message === slot);
    expect(note).toMatchObject({ kind: format.noteRole, turn: 0, text: 'A note.' });
    expect(format.check(result)).toEqual([]);
    expect(detectFormat(result)).toBe(sample.name);

    const drop = { kind: 'drop', from: slot, to: messages.length } as const;
    expect(format.apply(messages, { version: 1, edits: [drop] })).toEqual(messages.slice(0, slot));
  });

  it('refuses a plan that was made for a longer list', () => {
    const plan: Plan = { version: 1, edits: [{ kind: 'replace', segment: 99, text: 'x', why: 'mask' }] };
    expect(() => format.apply(messages, plan)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });

  it('finds no call for a result that comes twice', () => {
    const first = results(segments)[0] as Segment;
    const again = [...messages.slice(0, -1), aNote, messages[first.message]];
    const repeated = results(format.view(again)).filter((segment) => segment.message === again.length - 1);
    expect(repeated.map((segment) => segment.callId)).toEqual(repeated.map(() => undefined));
    expect(format.check(again).map((violation) => violation.about)).toContain(nameOfOrphan(sample, first));
  });

  it('pairs a second call of the same id with a second result', () => {
    const from = segments.find((segment) => segment.turn === 1)?.message as number;
    const to = segments.findLast((segment) => segment.kind === 'observation')?.message as number;
    const again = [...messages.slice(0, to + 1), ...messages.slice(from, to + 1)];
    const ids = results(format.view(again)).map((segment) => segment.callId);
    expect(ids).toEqual(['c1', 'c2', 'c1', 'c2']);
  });

  it('names the calls of an earlier reply that were never answered', () => {
    const isResult = (i: number): boolean => results(segments).some((segment) => segment.message === i);
    const unanswered = messages.map((message, i) => (isResult(i) ? aNote : message));
    expect(format.check(unanswered).map((violation) => violation.law)).toContain('pairs');
  });

  it('reads anything without a throw, and loses nothing of it', () => {
    const odd = oddMessages(messages);
    expect(() => format.check(odd)).not.toThrow();
    expect(format.view(odd).every((segment) => typeof segment.text === 'string')).toBe(true);
    expect(format.apply(odd, EMPTY_PLAN).every((message, i) => message === odd[i])).toBe(true);
    expect(() => detectFormat(odd)).not.toThrow();
  });
});

describe('detectFormat', () => {
  it.each([[[]], [[1]], [[{ foo: 1 }]], [[null]], [['text']], [[{}]], [[{ role: 'user' }]]])(
    'does not name %j',
    (list) => {
      expect(detectFormat(list)).toBeUndefined();
    },
  );

  it('does not take the messages of a chat page for Gemini', () => {
    const page = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
    expect(detectFormat(page)).toBeUndefined();
  });

  it('takes plain text for openai-chat, and a reply made of blocks for anthropic', () => {
    const user = { role: 'user', content: 'Hi' };
    expect(detectFormat([user, { role: 'assistant', content: 'Hello' }])).toBe('openai-chat');
    expect(detectFormat([user, { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] }])).toBe('anthropic');
    const list = [
      { role: 'system', content: 'S' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ];
    expect(detectFormat(list)).toBe('openai-chat');
  });

  it('waits for the first telling message behind plain ones', () => {
    const plain = [
      { role: 'developer', content: 'S' },
      { role: 'user', content: 'Hi' },
    ];
    for (const { name, messages } of samples) {
      const telling = messages.filter((message) => typeof (message as { content?: unknown }).content !== 'string');
      if (name !== 'chat' && name !== 'langchain' && name !== 'gemini')
        expect(detectFormat([...plain, ...telling])).toBe(name);
    }
  });
});

const briefly = ({ kind, turn, callId, tool }: Segment): string =>
  [kind, turn, callId, kind === 'action' || kind === 'observation' ? tool : undefined]
    .filter((word) => word !== undefined)
    .join(' ');

const results = (segments: readonly Segment[]): Segment[] =>
  segments.filter((segment) => segment.kind === 'observation');

function replacing(segments: readonly Segment[], ...replaced: readonly Segment[]): Plan {
  const edits = replaced.map((segment) => {
    return { kind: 'replace', segment: segments.indexOf(segment), text: '[masked]', why: 'mask' } as const;
  });
  return { version: 1, edits };
}

/** Gemini names what it rejects by all the ids of a message. */
const nameOfOrphan = ({ name }: Sample, { callId }: Segment): string =>
  name === 'gemini' ? 'c1, c2' : (callId as string);

function contentAt(messages: readonly unknown[], segment: Segment): unknown {
  return segment.path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], messages[segment.message]);
}

/** Walks to the edited place: on the way there, everything beside it is the caller's own object. */
function expectSharedBeside(before: unknown, after: unknown, [key, ...path]: readonly (string | number)[]): void {
  if (key === undefined) return;
  const [old, edited] = [before as Record<string, unknown>, after as Record<string, unknown>];
  expect(Object.keys(edited)).toEqual(Object.keys(old));
  for (const name of Object.keys(old)) if (name !== String(key)) expect(edited[name]).toBe(old[name]);
  expectSharedBeside(old[key], edited[key], path);
}

/** A list of parts, also inside an `output`. */
function partsOf(content: unknown): readonly unknown[] | undefined {
  const value = (content as { value?: unknown }).value ?? content;
  return Array.isArray(value) ? value : undefined;
}

/** Cache markers anywhere in a content. */
function markersIn(content: unknown): unknown[] {
  if (typeof content !== 'object' || content === null) return [];
  return Object.entries(content).flatMap(([key, value]) => (/cache/i.test(key) ? [value] : markersIn(value)));
}

/** Each message with each of its fields in turn replaced by something unexpected. */
function oddMessages(messages: readonly unknown[]): unknown[] {
  const cyclic: Record<string, unknown> = { type: 'new_block' };
  cyclic.self = cyclic;
  const odd = [
    undefined,
    null,
    7,
    10n,
    'text',
    Symbol('s'),
    [],
    [null, 'text', 7, [], cyclic],
    cyclic,
    () => 1,
    new Date(0),
  ];
  const changed = messages.flatMap((message) => odd.flatMap((value) => withEach(message, value, 4)));
  return [...odd, Object.create(null), new (class Message {})(), ...changed];
}

/** Copies of a value in which one field, down to some depth, is another. */
function withEach(node: unknown, value: unknown, depth: number): unknown[] {
  if (depth === 0 || typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, inner]) =>
    [value, ...withEach(inner, value, depth - 1)].map((changed) => {
      return Array.isArray(node) ? node.with(Number(key), changed) : { ...node, [key]: changed };
    }),
  );
}
