import { describe, expect, it } from 'vitest';
import {
  clearToolUses,
  detectFormat,
  type FitOptions,
  firstAndLast,
  fit,
  formatByName,
  graduated,
  hybrid,
  oldestBatch,
  polling,
  protectTokens,
  slidingWindow,
} from '../src/index.ts';
import { addedViolations } from '../src/laws/pairs.ts';
import { EMPTY_PLAN } from '../src/message.ts';
import { corpusHistories, type History, hasCorpus } from './support/corpus.ts';

const policies = {
  slidingWindow: slidingWindow(),
  polling: polling(),
  firstAndLast: firstAndLast(),
  oldestBatch: oldestBatch(),
  protectTokens: protectTokens({ protect: 4000, atLeast: 1000 }),
  clearToolUses: clearToolUses({ trigger: 8000 }),
  hybrid: hybrid({ summarizeEvery: 20 }),
  graduated: graduated({ maxInputChars: 20_000 }),
};

describe.skipIf(!hasCorpus)('real histories (skipped where ../shared/corpus is absent)', () => {
  const histories = corpusHistories().map((history) => [history.name, history] as const);

  it('are found', () => {
    expect(new Set(histories.map(([, { format }]) => format))).toEqual(
      new Set(['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'pi']),
    );
    expect(histories.length).toBeGreaterThan(150);
  });

  it.each(histories)('%s is recognised', (_, { format, messages }) => {
    expect(detectFormat(messages)).toBe(format);
  });

  it.each(histories)('%s comes back whole from an empty plan', (_, { format, messages }) => {
    const result = formatByName(format).apply(messages, EMPTY_PLAN);
    expect(result).toEqual(messages);
    expect(result.every((message, i) => message === messages[i])).toBe(true);
  });

  describe.each(Object.entries(policies))('%s', (_name, policy) => {
    it.each(histories)('keeps the laws on %s', (_, history) => expectLawful(history, { policy }));
  });

  it.each(histories)('%s fits into half its size', (_, history) => {
    const { before } = sizeOf(history);
    expectLawful(history, { maxTokens: Math.max(Math.ceil(before / 2), leastTokens(history) + NOTE_TOKENS) });
  });
});

/** Room for a summary and a notice. */
const NOTE_TOKENS = 600;

const sizeOf = ({ format, messages }: History) => fit(messages, { format }).report.tokens;

/** What must survive: turn 0, the turn of the newest user message and the last one. */
function leastTokens({ name, format, messages }: History): number {
  const segments = formatByName(format).view(messages);
  const turns = [0, segments.findLast((segment) => segment.kind === 'user')?.turn, segments.at(-1)?.turn];
  const kept = new Set(segments.filter(({ turn }) => turns.includes(turn)).map((segment) => segment.message));
  return sizeOf({ name, format, messages: messages.filter((_, i) => kept.has(i)) }).before;
}

/** Fits twice: nothing is added that the provider rejects, nothing changes again, and the input stays as it was. */
function expectLawful({ format: name, messages }: History, options: FitOptions): void {
  const format = formatByName(name);
  const before = JSON.stringify(messages);
  const once = fit(messages, { ...options, format });
  expect(JSON.stringify(messages)).toBe(before);
  expect(once.report.decision.because).not.toContain('refused');
  expect(addedViolations(format, messages, once.messages)).toEqual([]);
  const twice = fit(once.messages, { ...options, format });
  expect(twice.plan.edits).toEqual([]);
}
