import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fit, formatByName, never, PalimpsestError } from '../../src/index.ts';
import { isNote } from '../../src/laws/idempotent.ts';
import { addedViolations } from '../../src/laws/pairs.ts';
import { extractCarryover, type Rendered, renderWithBudget, trimMessages } from '../../src/manager/index.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { flat, formatNames, longStory, story, type Written, write } from '../support/histories.ts';

/** More with PALIMPSEST_RUNS=2000. */
const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 60);
const anyStory = fc.oneof(story, longStory);

/** Nothing where a budget cannot be met. */
function orNothing<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return undefined;
    throw error;
  }
}

/** The lists of a conversation, one for each request. */
const requests = ({ head, turns }: Written): object[][] =>
  Array.from({ length: turns.length + 1 }, (_, n) => flat({ head, turns: turns.slice(0, n) }));

const beginsWith = (list: readonly unknown[], start: readonly unknown[]): boolean =>
  start.every((message, i) => isDeepStrictEqual(message, list[i]));

describe.each(formatNames)('budgets on %s', (name) => {
  const format = formatByName(name);
  const sizeOf = (messages: readonly object[]): number =>
    fit(messages, { format: name, policy: never() }).report.tokens.after;
  const textsOf = (messages: readonly object[], ...kinds: string[]): string[] =>
    format.view(messages).flatMap(({ kind, text }) => (kinds.includes(kind) ? [text] : []));

  it('renderWithBudget keeps the laws and its budget, request after request, and holds its cut still', () => {
    fc.assert(
      fc.property(anyStory, fc.integer({ min: 40, max: 5000 }), fc.boolean(), (told, maxHistoryTokens, recall) => {
        const written = deepFreeze(write(told, name));
        let last: Rendered<object> | undefined;
        for (const messages of requests(written)) {
          const cut = last?.cut && JSON.parse(JSON.stringify(last.cut));
          const options = { format: name, maxHistoryTokens, recall, cut, window: 200_000 };
          const rendered = orNothing(() => renderWithBudget(messages, options));
          if (!rendered) return;
          const { report } = rendered;
          expect(addedViolations(format, messages, rendered.messages)).toEqual([]);
          expect(report.historyTokens.after).toBeLessThanOrEqual(maxHistoryTokens);
          expect(sizeOf(rendered.messages)).toBe(report.requestTokens);
          expect(rendered.omitted > 0).toBe(rendered.notice !== undefined);
          if (rendered.notice !== undefined)
            expect(textsOf(rendered.messages, 'system', 'user')).toContain(rendered.notice);
          if (last && report.decision !== 'cut') expect(beginsWith(rendered.messages, last.messages)).toBe(true);
          if (report.decision === 'fits') expect(rendered.messages).toEqual(messages);
          last = rendered;
        }
      }),
      { numRuns },
    );
  });

  it('renderWithBudget keeps system prompt, task and newest message, whole where they fit', () => {
    fc.assert(
      fc.property(longStory, fc.integer({ min: 200, max: 3000 }), (told, maxHistoryTokens) => {
        const messages = flat(write(told, name));
        const rendered = orNothing(() => renderWithBudget(messages, { format: name, maxHistoryTokens }));
        if (!rendered) return;
        const [task = ''] = textsOf(messages, 'user');
        const newest = textsOf(messages, 'user').at(-1) ?? '';
        const left = textsOf(rendered.messages, 'user', 'system');
        const prompt = format.view(messages).filter(({ kind, turn }) => kind === 'system' && turn === 0);
        for (const { text } of prompt) expect(left).toContain(text);
        const isCutHere = (text: string): boolean => rendered.hidden.some((hidden) => hidden.text === text);
        for (const text of [task, newest]) expect(left.includes(text) || isCutHere(text)).toBe(true);
        const kept = rendered.messages.filter((message) => messages.includes(message));
        expect(kept.length).toBeLessThanOrEqual(messages.length - rendered.omitted);
      }),
      { numRuns },
    );
  });

  it('trimMessages leaves whole turns out, keeps the task, and says how many messages went', () => {
    fc.assert(
      fc.property(anyStory, fc.integer({ min: 4, max: 60 }), (told, maxMessages) => {
        const messages = deepFreeze(flat(write(told, name)));
        const { messages: left, dropped } = trimMessages(messages, { maxMessages, format: name });
        expect(addedViolations(format, messages, left)).toEqual([]);
        expect(left.length).toBe(messages.length - dropped + (dropped > 0 ? 1 : 0));
        expect(textsOf(left, 'user').find((text) => !isNote(text))).toBe(textsOf(messages, 'user')[0]);
        expect(left.at(-1)).toBe(messages.at(-1));
        if (messages.length <= maxMessages) expect(left).toEqual(messages);
      }),
      { numRuns },
    );
  });

  it('extractCarryover holds the task and whole turns, within its budget, and splits no pair', () => {
    fc.assert(
      fc.property(
        anyStory,
        fc.integer({ min: 0, max: 8 }),
        fc.integer({ min: 150, max: 4000 }),
        (told, turns, maxTokens) => {
          const messages = deepFreeze(flat(write(told, name)));
          const carried = extractCarryover(messages, { turns, maxTokens, format: name });
          expect(addedViolations(format, messages, carried)).toEqual([]);
          const system = textsOf(messages, 'system').join('').length;
          expect(sizeOf(carried)).toBeLessThanOrEqual(maxTokens + system + 4);
          const users = textsOf(carried, 'user');
          const [task = ''] = textsOf(messages, 'user');
          expect(users.some((text) => text === task || text.includes('[truncated: kept'))).toBe(true);
          expect(extractCarryover(carried, { turns, maxTokens, format: name })).toEqual(carried);
        },
      ),
      { numRuns },
    );
  });
});
