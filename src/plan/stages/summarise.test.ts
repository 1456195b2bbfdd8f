import { describe, expect, it } from 'vitest';
import { answer, history, parallelCalls, prose, reply, system, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type SummaryBudget, type SummaryRange, summarise, summariseTurns } from './summarise.ts';

function summarised(list: readonly ChatMessage[], range: Partial<SummaryRange> = {}, budget: SummaryBudget = {}) {
  const ledger = Ledger.of(list, chat);
  ledger.beginRequest();
  const isWritten = summariseTurns(ledger, budget, { upTo: 4, keepsQuestion: false, ...range });
  return { ledger, isWritten, summary: ledger.notes.summary ?? '' };
}

describe('summariseTurns', () => {
  it('replaces the turns up to a number by one summary', () => {
    const { ledger, isWritten, summary } = summarised(history(6));
    expect(isWritten).toBe(true);
    expect(summary).toMatch(/^Conversation summary \(contract\):/);
    expect(summary).toContain('Fix the build.');
    expect(ledger.sent().filter(({ role }) => role === 'assistant')).toHaveLength(2);
    expect(ledger.hidden.map(({ text }) => text.includes('output 1: '))).toEqual([true]);
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

  it('is at most as long as it may be', () => {
    expect(summarised(history(20), { upTo: 18 }).summary.length).toBeLessThanOrEqual(1400);
    expect(summarised(history(20), { upTo: 18 }).summary.length).toBeGreaterThan(500);
    expect(summarised(history(20), { upTo: 18 }, { summaryMaxChars: 400 }).summary.length).toBeLessThanOrEqual(400);
  });

  it('hides the summary before it too', () => {
    const { ledger, summary } = summarised(history(8), { upTo: 3 });
    expect(summariseTurns(ledger, {}, { upTo: 3, keepsQuestion: false })).toBe(true);
    expect(ledger.hidden.at(-1)?.text.startsWith(`${summary}\n`)).toBe(true);
    expect(ledger.notes.summary).toContain('Covers: 12 earlier messages');
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
    expect(summary).toContain('bash failed: ');
  });

  it('tells a result that is masked by its placeholder, or by its text where originals are asked for', () => {
    const list = [
      system('s'),
      user('Fix it.'),
      ...toolTurn({ id: 'a', tool: 'read_file', args: '{"path":"src/a.ts"}', output: prose(900, 'alpha ') }),
      ...history(4).slice(2),
    ];
    const told = (fromOriginals: boolean): string => {
      const ledger = Ledger.of(list, chat);
      ledger.beginRequest();
      ledger.mask(ledger.observations[0]?.segment as number);
      ledger.beginRequest();
      summariseTurns(ledger, {}, { upTo: 2, keepsQuestion: false, fromOriginals });
      return ledger.notes.summary ?? '';
    };
    expect(told(false)).toContain('read_file src/a.ts: 1 line');
    expect(told(false)).not.toContain('alpha');
    expect(told(true)).toContain('read_file src/a.ts: alpha');
  });
});

describe('summarise', () => {
  it('keeps the window of the budget', () => {
    const ledger = Ledger.of(history(8), chat);
    ledger.beginRequest();
    summarise(ledger, { kind: 'summarise' }, { max: 1, target: 1, measure: 'chars', stages: [], window: 3 });
    expect(ledger.sent().filter(({ role }) => role === 'assistant')).toHaveLength(3);
  });

  it('keeps the question of the first reply that stays, where the stage says so', () => {
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
    const texts = (keepsQuestion?: true): string[] => {
      const ledger = Ledger.of(list, chat);
      ledger.beginRequest();
      const stage = { kind: 'summarise', ...(keepsQuestion ? { keepsQuestion } : {}) } as const;
      summarise(ledger, stage, { max: 1, target: 1, measure: 'chars', stages: [], window: 2 });
      return ledger.sent().map(({ content }) => content);
    };
    expect(texts(true)).toContain('Third?');
    expect(texts()).not.toContain('Third?');
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
