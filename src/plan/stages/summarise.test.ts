import { describe, expect, it } from 'vitest';
import {
  answer,
  history,
  pair,
  parallelCalls,
  prose,
  range,
  reply,
  system,
  toolTurn,
  user,
} from '../../../test/support/chat.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { Ledger, type LedgerOptions } from '../ledger/ledger.ts';
import type { SummariseStage } from './stage.ts';
import { type SummaryBudget, type SummaryRange, summarise, summariseTurns } from './summarise.ts';

function summarised(list: readonly ChatMessage[], range: Partial<SummaryRange> = {}, budget: SummaryBudget = {}) {
  const ledger = Ledger.of(list, chat);
  ledger.beginRequest();
  const isWritten = summariseTurns(ledger, budget, { upTo: 4, ...range });
  return { ledger, isWritten, summary: ledger.notes.summary ?? '' };
}

describe('summariseTurns', () => {
  it('replaces the turns up to a number by one summary', () => {
    const { ledger, isWritten, summary } = summarised(history(6));
    expect(isWritten).toBe(true);
    expect(summary).toMatch(/^Conversation summary \(contract\):/);
    expect(summary).toContain('Fix the build.');
    expect(ledger.sent().filter(({ role }) => role === 'assistant')).toHaveLength(2);
    const text = history(6)
      .slice(2, 10)
      .map((message) => JSON.stringify(message))
      .join('\n');
    expect(ledger.hidden).toMatchObject([{ why: 'summarize', text }]);
  });

  it('writes none where no turn may go, or where it would be larger than the turns', () => {
    const short = [
      system('s'),
      user('u'),
      ...toolTurn({ id: 'a', output: 'x' }),
      ...toolTurn({ id: 'b', output: 'y' }),
    ];
    for (const { ledger, isWritten } of [summarised(history(6), { upTo: 0 }), summarised(short)])
      expect([isWritten, ledger.notes]).toEqual([false, {}]);
  });

  describe('is written only if the request becomes smaller', () => {
    const turnOf = (output: string): ChatMessage[] => [
      system('s'),
      user('Fix it.'),
      ...toolTurn({ id: 'a', output }),
      ...history(1).slice(2),
    ];
    const written = (list: readonly ChatMessage[], options: LedgerOptions<ChatMessage>, upTo = 1): boolean => {
      const ledger = Ledger.of(list, chat, options);
      ledger.beginRequest();
      const { chars, tokens } = ledger.totals;
      const isWritten = summariseTurns(ledger, {}, { upTo });
      const isSmaller = ledger.totals.chars < chars && ledger.totals.tokens < tokens;
      expect(isSmaller).toBe(isWritten);
      return isWritten;
    };

    it('in characters, though it has fewer tokens', () => {
      const counter = (): number => 0;
      const sizes = range(150, 450);
      const least = sizes.find((size) => written(turnOf(prose(size)), { counter })) ?? 0;
      // The headings have some 200 characters. Every larger turn pays, whatever its outcome adds to the summary.
      expect([least > 200, least < 240]).toEqual([true, true]);
      for (const size of range(least, 450)) expect(written(turnOf(prose(size)), { counter })).toBe(true);
    });

    it('in tokens, though it has fewer characters', () => {
      const list = history(6);
      const summaryOf = (tokens: number) => (text: string) => (text.startsWith('Conversation') ? tokens : text.length);
      const tokensOf = (messages: readonly ChatMessage[]): number =>
        Ledger.of(messages, chat, { counter: summaryOf(0) }).tokens;
      const turns = tokensOf(list) - tokensOf([...list.slice(0, 2), ...list.slice(10)]);
      // The summary is a message: 4 tokens more than its text.
      expect(written(list, { counter: summaryOf(turns - 5) }, 4)).toBe(true);
      expect(written(list, { counter: summaryOf(turns - 4) }, 4)).toBe(false);
    });

    it('with room for its headings and its handle', () => {
      const handles = { handleOf: () => `p_${'a'.repeat(26)}`, show: 'recall' as const };
      const isWritten = (size: number): boolean => written(turnOf(prose(size)), { counter: () => 0, ...handles });
      expect([230, 300].map(isWritten)).toEqual([false, true]);
    });
  });

  it('leaves the last turns out of the summary that cannot be serialised', () => {
    const unwritable = (message: ChatMessage): ChatMessage => ({ ...message, id: 1n }) as never;
    const list = history(6).map((message, i) => (i >= 8 ? unwritable(message) : message));
    const { summary, ledger } = summarised(list);
    expect(summary).toContain('Covers: 6 earlier messages');
    expect(ledger.sent().filter(({ role }) => role === 'assistant')).toHaveLength(3);
    const none = summarised(history(6).map((message, i) => (i >= 2 ? unwritable(message) : message)));
    expect([none.isWritten, none.ledger.notes]).toEqual([false, {}]);
  });

  it('is at most as long as it may be', () => {
    expect(summarised(history(20), { upTo: 18 }).summary.length).toBeLessThanOrEqual(1400);
    expect(summarised(history(20), { upTo: 18 }).summary.length).toBeGreaterThan(500);
    expect(summarised(history(20), { upTo: 18 }, { summaryMaxChars: 400 }).summary.length).toBeLessThanOrEqual(400);
  });

  it('hides the summary before it too', () => {
    const { ledger, summary } = summarised(history(8), { upTo: 3 });
    expect(summariseTurns(ledger, {}, { upTo: 3 })).toBe(true);
    expect(ledger.hidden.at(-1)?.text.startsWith(`${summary}\n`)).toBe(true);
    expect(ledger.notes.summary).toContain('Covers: 12 earlier messages');
  });

  it('takes a short turn into the summary before it, which it replaces', () => {
    const list = [...history(4), ...toolTurn({ id: 'x', output: prose(80) }), ...history(2).slice(2)];
    const { ledger } = summarised(list, { upTo: 4 });
    expect(summariseTurns(ledger, {}, { upTo: 1 })).toBe(true);
    expect(ledger.notes.summary).toContain('Covers: 10 earlier messages');
  });

  it('asks the function of the caller, with the messages that go and the summary before', () => {
    const asked: { messages: readonly unknown[]; earlier: string | undefined }[] = [];
    const { summary, ledger } = summarised(
      history(6),
      {},
      {
        summarize: ({ messages, earlier }) => {
          asked.push({ messages, earlier });
          return { text: 'by a model' } as never;
        },
      },
    );
    expect(asked).toEqual([{ messages: history(6).slice(2, 10), earlier: undefined }]);
    expect([summary.length > 0, ledger.summaryAuthor !== undefined]).toEqual([true, true]);
  });

  it('tells what failed, what is open, and what was asked for', () => {
    const list: ChatMessage[] = [
      system('s'),
      user('Fix it.'),
      ...toolTurn({
        id: 'a',
        tool: 'bash',
        args: '{"command":"npm test"}',
        output: `exit code 1\nError: ${prose(600)}`,
      }),
      { ...reply(prose(300, 'open question ')), tags: ['unresolved'] },
      { ...reply(prose(300, 'never force-push ')), tags: ['constraint'] },
      ...history(3).slice(2),
    ];
    const { summary } = summarised(list, { upTo: 4 });
    expect(summary).toContain('open question');
    expect(summary).toContain('never force-push');
    expect(summary).toMatch(/bash failed: Error: .+ × 1$/m);
  });

  it('tells each result in a line: by its call, or as the placeholder that was sent, without its handle', () => {
    const text = prose(700);
    const list = [
      system('s'),
      user('Fix it.'),
      ...toolTurn({ id: 'a', text, tool: 'read_file', args: '{"path":"a.ts"}', output: `${prose(99)}\n`.repeat(12) }),
      ...toolTurn({
        id: 'b',
        text,
        args: '{"command":"npm test"}',
        output: `exit code 1\nTypeError: no\n${prose(474)}`,
      }),
      ...toolTurn({ id: 'c', text, args: '{"command":"make"}', output: '[Observation omitted for brevity]' }),
      ...toolTurn({ id: 'd', text, output: 'done' }),
      ...pair('e', 'said'),
      answer('no call', 'stray'),
      ...history(1).slice(2),
    ];
    for (const handles of [{}, { handleOf: () => `p_${'a'.repeat(26)}`, show: 'recall' as const }]) {
      const ledger = Ledger.of(list, chat, handles);
      ledger.beginRequest();
      for (const { segment } of ledger.observations.slice(0, 2)) ledger.mask(segment);
      ledger.endRequest();
      ledger.beginRequest();
      summariseTurns(ledger, {}, { upTo: 5 });
      expect(ledger.notes.summary?.split('\n').slice(1)).toEqual([
        '- Covers: 11 earlier messages',
        '- Objective: Fix it.',
        '- Unresolved tasks: None captured.',
        '- Key tool outcomes: read_file a.ts: 12 lines, 1200 chars masked; bash make; bash: done; result: said; result: stray; bash failed, exit 1: "TypeError: no" — 500 chars masked × 1',
        '- Current constraints: No constraints captured.',
      ]);
    }
  });

  it('tells a result that is masked by its placeholder, or by its text where originals are asked for', () => {
    const list = [
      system('s'),
      user('Fix it.'),
      ...toolTurn({ id: 'a', tool: 'read_file', args: '{"path":"src/a.ts"}', output: prose(900, 'alpha ') }),
      ...history(4).slice(2),
    ];
    const told = (fromOriginals?: boolean): string => {
      const ledger = Ledger.of(list, chat);
      ledger.beginRequest();
      ledger.mask(ledger.observations[0]?.segment as number);
      ledger.beginRequest();
      const turns = { upTo: 2 };
      summariseTurns(ledger, {}, fromOriginals === undefined ? turns : { ...turns, fromOriginals });
      return ledger.notes.summary ?? '';
    };
    expect(told()).toBe(told(false));
    expect(told(false)).toContain('read_file src/a.ts: 1 line');
    expect(told(false)).not.toContain('alpha');
    expect(told(true)).toContain('read_file src/a.ts: alpha');
  });
});

it('a first summary behind the task changes nothing above its place', () => {
  const talk = [
    user('First.'),
    reply(prose(900, 'one ')),
    user('Second?'),
    reply('two'),
    user('Third?'),
    reply('three'),
  ];
  const ledger = Ledger.of([system('s'), ...talk], chat);
  ledger.beginRequest();
  expect(summariseTurns(ledger, {}, { upTo: 1 })).toBe(true);
  expect(ledger.sent().map(({ content }) => content.slice(0, 12))).toEqual([
    's',
    'First.',
    'Conversation',
    'Second?',
    'two',
    'Third?',
    'three',
  ]);
  expect(ledger.firstChange()).toBe(2);
});

describe('summarise', () => {
  it('keeps the window of the budget', () => {
    const ledger = Ledger.of(history(8), chat);
    ledger.beginRequest();
    summarise(ledger, { kind: 'summarise' }, { max: 1, target: 1, measure: 'chars', stages: [], window: 3 });
    expect(ledger.sent().filter(({ role }) => role === 'assistant')).toHaveLength(3);
  });

  it('keeps the question of the first reply that stays, unless the stage takes it', () => {
    const list = [
      system('s'),
      user('First.'),
      reply(prose(900, 'one ')),
      user('Second?'),
      reply(prose(900, 'two ')),
      user('Third?'),
      reply('three'),
      user('Fourth?'),
      reply('four'),
    ];
    const texts = (stage: SummariseStage): string[] => {
      const ledger = Ledger.of(list, chat);
      ledger.beginRequest();
      summarise(ledger, stage, { max: 1, target: 1, measure: 'chars', stages: [], window: 2 });
      return ledger.sent().map(({ content }) => content);
    };
    expect(texts({ kind: 'summarise' })).toContain('Third?');
    expect(texts({ kind: 'summarise', takesQuestion: true })).not.toContain('Third?');
  });

  it('tells nothing of a question that stays', () => {
    const list = [
      system('s'),
      user('First.'),
      reply(prose(900, 'one ')),
      user('Second?', 'unresolved'),
      reply(prose(900, 'two ')),
      user('Third?', 'unresolved'),
      reply('three'),
      user('Fourth?'),
      reply('four'),
    ];
    const { summary } = summarised(list, { upTo: 2 });
    expect(summary).toContain('- Unresolved tasks: Second?\n');
  });

  it('keeps calls that are answered in a later turn together', () => {
    const list = [
      system('s'),
      user('Fix it.'),
      parallelCalls('a', 'b'),
      answer('a', prose(900)),
      reply(prose(900)),
      answer('b', prose(900)),
      ...history(1).slice(2),
    ];
    expect(summarised(list, { upTo: 1 }).isWritten).toBe(false);
  });
});
