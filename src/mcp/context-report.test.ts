import { describe, expect, it } from 'vitest';
import { fit } from '../index.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { contextReport } from './context-report.ts';

describe('contextReport', () => {
  it('counts what is masked, by tool, with the largest texts', async () => {
    const store = createMemoryStore();
    const handle = await store.put('x'.repeat(1000), { session: 'mine', turn: 2, tool: 'read_file' });
    await store.put('y'.repeat(300), { session: 'mine', turn: 7, tool: 'read_file' });
    await store.put('z', { session: 'mine', turn: 5, tool: 'bash' });
    await store.put('not yours', { session: 'other', turn: 99, tool: 'cat' });
    const answer = await contextReport({ store, wholeStore: true, maxChars: 2000 }, { handle });
    expect(answer.split('\n').slice(0, 5)).toEqual([
      'context report: what is masked in your conversation',
      'session mine: 3 texts, 1,301 characters (about 326 tokens), turns 2–7',
      '  read_file: 2 texts, 1,300 characters',
      '  bash: 1 text, 1 character',
      `  largest: ${handle} turn 2, read_file: 1,000 characters`,
    ]);
    expect(answer).not.toMatch(/other|99|cat/);
  });

  it('tells what the last request did, where that is known', async () => {
    const store = createMemoryStore();
    const { report } = fit([{ role: 'user', content: 'x'.repeat(4000) }], { format: 'chat' });
    const context = {
      store,
      maxChars: 2000,
      session: 'mine',
      report: (name: string) => (name === 'mine' ? report : undefined),
    };
    const answer = await contextReport(context, {});
    expect(answer).toContain('session mine: 0 texts, 0 characters (about 0 tokens)');
    expect(answer).toMatch(
      /last request: [\d,]+ tokens before, [\d,]+ tokens after \(0 %\); 0 results masked in 0 steps/,
    );
    expect(answer).toContain(`decision: ${report.decision.act}: ${report.decision.because}`);
  });

  it('without a handle says what that means', async () => {
    const answer = await contextReport({ store: createMemoryStore(), wholeStore: true, maxChars: 2000 }, {});
    expect(answer).toContain('nothing that could be recalled is masked');
  });

  it('stays a summary, however many sessions hold the handle', async () => {
    const store = createMemoryStore();
    let handle = '';
    for (let i = 0; i < 100; i++) handle = await store.put('same', { session: `session-${i}`, tool: `tool-${i}` });
    expect((await contextReport({ store, wholeStore: true, maxChars: 2000 }, { handle })).length).toBeLessThanOrEqual(
      2000,
    );
  });
});
