import { describe, expect, it } from 'vitest';
import { contents, history, prose, range, toolTurn, user } from '../../../test/support/chat.ts';
import { type ChatMessage, createPlanner, fit } from '../../index.ts';
import { type HybridOptions, hybrid } from './hybrid.ts';

const covers = (messages: readonly ChatMessage[]): number => {
  const summary = contents(messages).find((text) => text.startsWith('Conversation summary (contract):'));
  return Number(/Covers: (\d+)/.exec(summary ?? '')?.[1] ?? 0);
};

/** How many messages the summary covers after each turn, and how many results are masked. */
function run(turns: number, options?: HybridOptions): { covered: number[]; visible: number[] } {
  const planner = createPlanner<ChatMessage>({ format: 'chat', policy: hybrid(options) });
  const messages = history(turns);
  planner.add(...messages.slice(0, 2));
  const [covered, visible]: number[][] = [[], []];
  for (const turn of range(1, turns)) {
    planner.add(...messages.slice(2 * turn, 2 * turn + 2));
    const sent = planner.messages();
    covered?.push(covers(sent));
    visible?.push(sent.filter(({ role, content }) => role === 'tool' && content.startsWith('output')).length);
  }
  return { covered: covered ?? [], visible: visible ?? [] };
}

describe('hybrid', () => {
  it('summarises first at 43 + 10 turns, and then every 43', () => {
    const { covered } = run(140);
    const at = covered.flatMap((count, i) => (count === (covered[i - 1] ?? 0) ? [] : [[i + 1, count]]));
    expect(at).toEqual([
      [53, 86],
      [96, 172],
      [139, 258],
    ]);
  });
  it('summarises first at summarizeEvery + window turns, and then every summarizeEvery', () => {
    const { covered } = run(22, { window: 3, summarizeEvery: 6 });
    const at = covered.flatMap((count, i) => (count === (covered[i - 1] ?? 0) ? [] : [[i + 1, count]]));
    expect(at).toEqual([
      [9, 12],
      [15, 24],
      [21, 36],
    ]);
  });
  it('keeps exactly the window whole', () => {
    expect(run(12, { window: 3, summarizeEvery: 6 }).visible).toEqual([1, 2, ...Array(10).fill(3)]);
  });
  it('has one summary at a time', () => {
    const { messages } = fit(history(100), { policy: hybrid({ window: 2, summarizeEvery: 7 }) });
    expect(contents(messages).filter((text) => text.startsWith('Conversation summary'))).toHaveLength(1);
  });
  it('summarises results as they were sent if a summary of the originals would be larger', () => {
    const options = { policy: hybrid({ window: 0, summarizeEvery: 1 }), format: 'chat' } as const;
    const output = range(1, 20)
      .map((n) => `${n}: 漢字かな alpha`)
      .join('\n');
    const first = [user('Fix it.'), ...toolTurn({ id: 'c1', text: prose(320), output })];
    const next = toolTurn({ id: 'c2', output: 'ok' });
    const fedBack = fit([...fit(first, options).messages, ...next], options);
    expect(covers(fedBack.messages)).toBe(2);
    expect(covers(fit([...first, ...next], options).messages)).toBe(2);
  });
  it('hides what it summarised, byte for byte', () => {
    const messages = history(9);
    const { hidden } = fit(messages, { policy: hybrid({ window: 3, summarizeEvery: 6, minTokens: 100_000 }) });
    const summarised = hidden.find(({ why }) => why === 'summarize');
    expect(summarised?.text).toBe(
      messages
        .slice(2, 14)
        .map((message) => JSON.stringify(message))
        .join('\n'),
    );
  });
});
