import { describe, expect, it } from 'vitest';
import type { CachedHistory } from './cached-history.ts';
import { ConversationMemory } from './conversation-memory.ts';

const COLD = { kind: 'cold-cache', prefix: 'p', order: 1, model: 'm' } as const;
const history = (size: number): CachedHistory => ({ size }) as CachedHistory;

describe('the memory of conversations', () => {
  it('forgets the histories used least recently, and keeps events', () => {
    const memory = new ConversationMemory(100);
    memory.learnEvents('a', [COLD]);
    const [first, second, third] = [history(40), history(40), history(40)];
    memory.keep('a', first);
    memory.keep('b', second);
    memory.forget(first);
    memory.keep('a', first);
    memory.keep('c', third);
    expect(memory.histories('a')).toEqual([first]);
    expect(memory.histories('b')).toEqual([]);
    expect(memory.holds(second)).toBe(false);
    expect(memory.conversation('a').eventsAt('p')).toEqual([COLD]);
  });

  it('keeps no history that is larger than all it may hold', () => {
    const memory = new ConversationMemory(100);
    memory.keep('a', history(1000));
    expect(memory.histories('a')).toEqual([]);
  });

  it('keeps 16 histories of one conversation', () => {
    const memory = new ConversationMemory();
    const histories = Array.from({ length: 40 }, () => history(1));
    for (const one of histories) memory.keep('a', one);
    expect(memory.histories('a')).toEqual(histories.slice(-16).reverse());
  });

  it('keeps 10,000 conversations', () => {
    const memory = new ConversationMemory();
    for (let i = 0; i < 10_050; i++) memory.keep(`c${i}`, history(1));
    expect(memory.histories('c0')).toEqual([]);
    expect(memory.histories('c10049')).toHaveLength(1);
  });

  it('keeps no more of those that never have a history, such as counts', () => {
    const memory = new ConversationMemory();
    for (let i = 0; i < 10_050; i++) memory.learnEvents(`c${i}`, []);
    expect([memory.hasEvents('c0'), memory.hasEvents('c10049')]).toEqual([false, true]);
  });

  it('learns the same event once', () => {
    const memory = new ConversationMemory();
    expect(memory.hasEvents('a')).toBe(false);
    memory.learnEvents('a', [COLD]);
    memory.learnEvents('a', [{ ...COLD }]);
    expect(memory.hasEvents('a')).toBe(true);
    expect(memory.conversation('a').eventsAt('p')).toEqual([COLD]);
  });

  it('learns how many tokens a provider counts, and not from one odd answer', () => {
    const memory = new ConversationMemory();
    for (let i = 0; i < 50; i++) memory.calibrate('m', { counted: 1200, estimated: 1000 });
    expect(memory.ratio('m')).toBeCloseTo(1.2);
    memory.calibrate('m', { counted: 1e9, estimated: 1000 });
    expect(memory.ratio('m')).toBeLessThan(1.6);
    memory.calibrate('m', { counted: 0, estimated: 0 });
    memory.calibrate('tiny', { counted: 90, estimated: 10 });
    expect(memory.ratio('tiny')).toBe(1);
    expect(memory.ratio(undefined)).toBe(1);
  });
});
