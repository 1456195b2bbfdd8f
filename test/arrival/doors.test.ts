import { describe, expect, it } from 'vitest';
import { type ChatMessage, fit, HistoryReducer, parsePolicy } from '../../src/index.ts';
import { policies } from '../../src/plan/policies/index.ts';
import { createMemoryStore, fitAndStore, type Store } from '../../src/store/index.ts';

/** Each line is unlike the others. */
const lines = Array.from({ length: 60 }, (_, i) => `row ${i} has the value ${i * 7919}`).join('\n');
const progress = `${'waiting for the server\n'.repeat(80)}done`;

const turn = (id: string, content = lines): ChatMessage[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 'bash', arguments: `{"command":"list ${id}"}` }] },
  { role: 'tool', content, name: 'bash', toolCallId: id },
];
const messages: ChatMessage[] = [{ role: 'user', content: 'task' }, ...turn('a'), ...turn('b'), ...turn('c', progress)];

describe('results that go out for the first time', () => {
  it('are made smaller by break-even, and by no other policy unless it is told to', () => {
    const shapes = Object.keys(policies).map((name) => {
      const spec = name === 'graduated' ? 'graduated:max-input-chars=900000' : name;
      return [name, fit(messages, { policy: parsePolicy(spec) }).report.edits.shape];
    });
    expect(Object.fromEntries(shapes)).toEqual({
      ...Object.fromEntries(Object.keys(policies).map((name) => [name, 0])),
      'break-even': 2,
    });
    expect(fit(messages, { policy: parsePolicy('never:clean=true,references=true') }).report.edits.shape).toBe(2);
    expect(fit(messages, { policy: parsePolicy('never'), arrival: { clean: true } }).report.edits.shape).toBe(1);
  });

  it('stay as they are in HistoryReducer', () => {
    const { messages: kept, reduced } = new HistoryReducer().reduce(messages, { maxInputChars: 1_000_000 });
    expect([kept, reduced]).toEqual([messages, false]);
  });
});

describe('fitAndStore', () => {
  it('has stored the originals of results that it made smaller when it resolves', async () => {
    const store = createMemoryStore();
    const { messages: sent, report } = await fitAndStore(messages, { store, session: 'one' });
    expect(report.edits).toMatchObject({ shape: 2, mask: 0 });
    const handles = sent.flatMap(({ content }) => content.match(/p_[a-z2-7]{26}/g) ?? []);
    const stored = await Promise.all(handles.map((handle) => store.get(handle)));
    expect(stored.map((text) => text?.text)).toEqual([lines, progress]);
  });

  it('fails where they cannot be stored, and gives the same bytes when they can', async () => {
    const store = createMemoryStore();
    const expected = await fitAndStore(messages, { store: createMemoryStore() });
    let isFull = true;
    const putMany: Store['putMany'] = (items) =>
      isFull ? Promise.reject(new Error('disk full')) : store.putMany(items);
    await expect(fitAndStore(messages, { store: { putMany } })).rejects.toThrow('disk full');
    isFull = false;
    expect((await fitAndStore(messages, { store: { putMany } })).messages).toEqual(expected.messages);
  });
});
