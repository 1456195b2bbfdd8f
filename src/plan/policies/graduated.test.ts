import { describe, expect, it } from 'vitest';
import { chars, contents, history, results, user } from '../../../test/support/chat.ts';
import { deepFreeze } from '../../../test/support/deep-freeze.ts';
import { type ChatMessage, createPlanner, fit, type GraduatedOptions } from '../../index.ts';
import { graduated, graduatedBudget } from './graduated.ts';

const messages = deepFreeze(history(12));
const run = (options: GraduatedOptions, list: readonly ChatMessage[] = messages) =>
  fit(list, { policy: graduated(options) });

describe('graduated', () => {
  it('does nothing within its budget', () => {
    const { plan, report } = run({ maxInputChars: chars(messages) });
    expect(plan.edits).toEqual([]);
    expect(report.decision).toEqual({ act: 'wait', because: 'within its own budget' });
  });
  it('masks first: nothing is dropped where that is enough', () => {
    const { report, messages: fitted } = run({ maxInputChars: 6000 });
    expect(report.reductionStage).toBe('masking');
    expect(report.edits.drop).toBe(0);
    expect(results(fitted)[0]).toBe('[observation masked — 1000 chars]');
    expect(chars(fitted)).toBeLessThanOrEqual(6000);
  });
  it('then summarises', () => {
    const { report, messages: fitted } = run({ maxInputChars: 1460, preserveRecentRawTurns: 1, summaryMaxChars: 400 });
    expect(report.reductionStage).toBe('summarization');
    expect(contents(fitted)[1]).toMatch(/^Conversation summary \(contract\):/);
    expect(chars(fitted)).toBeLessThanOrEqual(1460);
  });
  it('then truncates', () => {
    const { report, messages: fitted } = run({ maxInputChars: 600 });
    expect(report.reductionStage).toBe('fallback');
    expect(chars(fitted)).toBeLessThanOrEqual(600);
    expect(contents(fitted)).toContain('Fix the build.');
  });
  it('keeps the last preserveRecentRawTurns turns whole while it only masks; 4 where nothing is said', () => {
    const whole = (options: GraduatedOptions): number =>
      results(run(options).messages).filter((text) => text.startsWith('output')).length;
    expect(whole({ maxInputChars: 12_100 })).toBe(4);
    expect(whole({ maxInputChars: 12_100, preserveRecentRawTurns: 2 })).toBe(2);
    expect(whole({ maxInputChars: 12_100, preserveRecentRawTurns: 0 })).toBe(0);
  });
  it('observationMasking: false leaves out that stage only', () => {
    const { report } = run({ maxInputChars: 8000, observationMasking: false });
    expect(report.maskedCount).toBe(0);
    expect(report.edits.drop).toBeGreaterThan(0);
  });
  it('maxObservationChars keeps the head of a masked result', () => {
    const { messages: fitted } = run({ maxInputChars: 9000, maxObservationChars: 40 });
    expect(results(fitted)[0]).toBe(`${results(messages)[0]?.slice(0, 37)}...`);
  });
  it('maxInputTokens replaces maxInputChars', () => {
    const { report } = run({ maxInputChars: 1, maxInputTokens: 1500 });
    expect(report.tokens.after).toBeLessThanOrEqual(1500);
    expect(report.reductionStage).toBe('masking');
  });
  it('summarize writes the summary, from what was left out and the summary before it', () => {
    const asked: [number, string | undefined][] = [];
    const summarize = (left: readonly unknown[], earlier: string | undefined): string => {
      asked.push([left.length, earlier]);
      return `by a model, ${asked.length}`;
    };
    const options = { maxInputChars: 3500, preserveRecentRawTurns: 2, observationMasking: false, summarize };
    const planner = createPlanner<ChatMessage>({ format: 'chat', policy: graduated(options) });
    planner.add(...history(9));
    const summary = contents(planner.messages())[1];
    expect(summary).toBe(`Conversation summary (contract):\nby a model, ${asked.length}`);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.at(-1)?.[1]).toBe(`Conversation summary (contract):\nby a model, ${asked.length - 1}`);
  });
  it('keeps dispatch blocks, with a handle and without', () => {
    const block = 'BEGIN_DISPATCH_RESULT {"ok":true} END_DISPATCH_RESULT';
    const list = messages.map((m, i) => (i === 3 ? { ...m, content: `${m.content}${block}` } : m));
    expect(results(run({ maxInputChars: 6000 }, list).messages)[0]).toBe(
      `[dispatch output masked — 1000 chars]\n${block}`,
    );
    const recalled = fit(list, { policy: graduated({ maxInputChars: 6000 }), recall: true }).messages;
    expect(results(recalled)[0]).toMatch(
      /^\[bash: 1 line, 1053 chars masked · p_[a-z2-7]{26}\]\nBEGIN_DISPATCH_RESULT/,
    );
  });
  it('tells when not even that is enough', () => {
    const { report } = fit([user('x'.repeat(500))], { format: 'chat', policy: graduated({ maxInputChars: 100 }) });
    expect(report.decision).toMatchObject({ act: 'over-limit', limit: 100, size: 500 });
  });
});

it('keeps the question of the first answer behind the summary', () => {
  const talk = Array.from({ length: 12 }, (_, n) => [
    { role: 'user', content: `Question ${n + 1}?` },
    { role: 'assistant', content: `Answer ${n + 1}: ${'word '.repeat(80)}` },
  ]);
  const { messages } = fit(talk.flat().slice(0, -1), { policy: graduated({ maxInputTokens: 600 }) });
  const starts = messages.map(({ content }) => content.slice(0, content.search(/[?:]/)));
  const numbers = [7, 8, 9, 10, 11, 12];
  const kept = numbers.flatMap((n) => [`Question ${n}`, `Answer ${n}`]).slice(0, -1);
  expect(starts).toEqual(['Question 1', 'Conversation summary (contract)', ...kept]);
});

describe('graduatedBudget', () => {
  it('has the defaults of HistoryReducer', () => {
    const { stages, ...budget } = graduatedBudget({ maxInputChars: 5 });
    expect(budget).toEqual({ max: 5, measure: 'chars', target: 4, window: 4, summaryMaxChars: 1400 });
    expect(stages.slice(0, 2)).toEqual([{ kind: 'mask', which: 'outside' }, { kind: 'summarise' }]);
    expect(graduatedBudget({ maxInputChars: 5, observationMasking: false }).stages).toEqual(stages.slice(1));
    expect(graduatedBudget({ maxInputChars: 5, maxInputTokens: 7 })).toMatchObject({ max: 7, measure: 'tokens' });
  });
});
