import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  createPlanner,
  type FitOptions,
  fit,
  formatByName,
  HistoryReducer,
  hybrid,
  isPlaceholder,
  oldestBatch,
  polling,
  slidingWindow,
} from '../../src/index.ts';
import {
  type Event,
  fitOrRefuse,
  head,
  prose,
  survive,
  turn,
  turns,
  writable,
  write,
} from '../support/hostile-histories.ts';

describe('large', () => {
  const MEGABYTES = 10_000_000;
  const large: Readonly<Record<string, () => string>> = {
    prose: () => prose(MEGABYTES),
    base64: () => Buffer.from(prose(MEGABYTES * 0.75)).toString('base64'),
    'one unbroken run': () => 'x'.repeat(MEGABYTES),
    'one run of digits': () => '7'.repeat(MEGABYTES),
    blanks: () => ' '.repeat(MEGABYTES),
    'empty lines': () => '\n'.repeat(MEGABYTES),
    'opening brackets': () => '['.repeat(MEGABYTES),
    Chinese: () => '漢'.repeat(MEGABYTES / 3),
    emoji: () => '😀'.repeat(MEGABYTES / 4),
    'lone surrogates': () => '\ud800'.repeat(MEGABYTES / 3),
    'a placeholder that goes on': () => `[bash: 1 line, 5 chars masked ${'1 '.repeat(MEGABYTES / 2)}`,
    'a handle without end': () => `p_${'a'.repeat(MEGABYTES)}`,
    'beginnings of blocks': () => 'BEGIN_DISPATCH_RESULT '.repeat(MEGABYTES / 22),
  };
  it.each(Object.entries(large))('a result of 10 MB: %s', (_, make) => {
    const text = make();
    const events = [...head, ...turn('big', text), ...turns(1, 2)];
    const messages = Object.freeze(
      write(events, 'chat').map((message) => Object.freeze(message)),
    ) as readonly ChatMessage[];
    for (const policy of [slidingWindow({ turns: 2 }), hybrid({ window: 2 }), oldestBatch({ count: 1, window: 2 })]) {
      const { messages: fitted, hidden } = fit(messages, { policy, recall: true });
      expect(isPlaceholder(fitted[3]?.content ?? '')).toBe(true);
      expect(hidden[0]?.text === text).toBe(true);
    }
    const clipped = fit(messages.slice(0, 4), { maxTokens: 8000 });
    expect(clipped.report.edits.clip).toBe(1);
    expect(clipped.report.tokens.after).toBeLessThanOrEqual(8000);
    const reduced = new HistoryReducer().reduce(messages, { maxInputChars: 4000, preserveRecentRawTurns: 1 });
    expect(reduced.withinBudget).toBe(true);
  });

  const huge = write([...head, ...turns(1, 49_999)], 'chat') as ChatMessage[];
  it.each<[string, FitOptions]>([
    ['slidingWindow', { policy: slidingWindow() }],
    ['polling', { policy: polling() }],
    ['hybrid', { policy: hybrid() }],
    ['maxTokens', { maxTokens: 100_000 }],
    ['maxTokens and recall', { maxTokens: 100_000, recall: true, policy: slidingWindow() }],
  ])('100,000 messages: %s', (_, options) => {
    expect(huge).toHaveLength(100_000);
    const { messages, report } = fit(huge, options);
    expect(report.tokens.after).toBeLessThan(report.tokens.before / 2);
    expect(formatByName('chat').check(messages)).toEqual([]);
    expect(messages.at(-1)).toBe(huge.at(-1));
    expect(fit(messages, options).plan.edits).toEqual([]);
  });

  it.each<[string, FitOptions]>([
    ['polling', { policy: polling({ turns: 10, every: 3 }) }],
    ['maxTokens', { maxTokens: 100_000 }],
  ])('100,000 messages, the last of them turn by turn: %s', (_, options) => {
    const planner = createPlanner<ChatMessage>({ ...options, format: 'chat' });
    const until = huge.length - 20;
    for (let i = 0; i < until; i += 10_000) planner.add(...huge.slice(i, Math.min(until, i + 10_000)));
    for (let i = until; i < huge.length; i += 2) planner.add(...huge.slice(i, i + 2));
    const whole = fit(huge, options);
    expect(planner.report()).toEqual(whole.report);
    expect(planner.plan().edits.length).toBe(whole.plan.edits.length);
    expect(planner.messages().length).toBe(whole.messages.length);
  });

  it('5,000 parallel calls in one reply', () => {
    const ids = Array.from({ length: 5000 }, (_, i) => `c${i}`);
    const answers = ids.map((id): Event => ({ result: id, text: prose(300, id) }));
    for (const format of writable) {
      const events: Event[] = [...head, { says: 'all', calls: ids }, ...answers, ...turns(5001, 5003)];
      const messages = write(events, format);
      for (const options of [
        { policy: slidingWindow({ turns: 3, minTokens: 0 }) },

        { maxTokens: 5000 },
      ]) {
        survive(messages, format, options);
      }
    }
  });

  it('130,000 results that are masked on one request', () => {
    const ids = Array.from({ length: 130_000 }, (_, i) => `c${i}`);
    const answers = ids.map((id): Event => ({ result: id, text: prose(120, id) }));
    const messages = write([...head, { says: 'all', calls: ids }, ...answers, { says: 'x' }], 'chat');
    const { report } = fit(messages, { format: 'chat', policy: slidingWindow({ turns: 1, minTokens: 0 }) });
    expect(report.maskedCount).toBe(130_000);
  });

  it('2,000 turns that hang together since every result comes one turn late', () => {
    const events: Event[] = Array.from({ length: 2000 }, (_, i): Event[] => [
      { says: 's', calls: [`c${i}`] },
      ...(i === 0 ? [] : [{ result: `c${i - 1}`, text: prose(300) }]),
    ]).flat();
    const messages = write([...head, ...events], 'chat');
    survive(messages, 'chat', { policy: slidingWindow({ minTokens: 0 }) });
    expect(fitOrRefuse(messages, { format: 'chat', maxTokens: 2000 })).toBeUndefined();
  });
});
