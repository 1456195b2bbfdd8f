import { describe, expect, it } from 'vitest';
import { type Format, formatByName } from '../../src/index.ts';
import { addedViolations } from '../../src/laws/pairs.ts';
import { sizeOfMessages } from '../../src/manager/budget/sizes.ts';
import { extractCarryover, type Rendered, renderWithBudget, trimMessages } from '../../src/manager/index.ts';
import { countTokens } from '../../src/tokens/count-tokens.ts';
import { corpusHistories, hasCorpus } from '../support/corpus.ts';

/** Requests are looked at where a reply is about to come; of long runs not every one. */
const REQUESTS = 12;

describe.skipIf(!hasCorpus)('budgets on real runs', () => {
  const histories = hasCorpus ? corpusHistories() : [];

  it('renders keep the laws and their budget, and begin with the one before unless history overflowed', () => {
    let [cuts, overflowing] = [0, 0];
    for (const { format: name, messages } of histories) {
      const format = formatByName(name) as Format<unknown>;
      const every = Math.max(1, Math.floor(messages.length / REQUESTS));
      let last: Rendered<unknown> | undefined;
      for (let end = every; end <= messages.length; end += every) {
        const list = messages.slice(0, end);
        const rendered = renderWithBudget(list, { format, maxHistoryTokens: 20_000, cut: last?.cut, window: 400_000 });
        expect(rendered.report.historyTokens.after).toBeLessThanOrEqual(20_000);
        expect(addedViolations(format, list, rendered.messages)).toEqual([]);
        if (rendered.report.decision !== 'fits') overflowing += 1;
        if (rendered.report.decision === 'cut') cuts += 1;
        else if (last)
          expect(rendered.messages.slice(0, last.messages.length).map(asText)).toEqual(last.messages.map(asText));
        last = rendered;
      }
    }
    expect(cuts).toBeGreaterThan(0);
    // Most renders of a history that is too large hold the cut that is there.
    expect(cuts).toBeLessThan(overflowing / 2);
  });

  it('carryovers and trims of all of them split no pair and keep the task', () => {
    for (const { format: name, messages } of histories) {
      const format = formatByName(name) as Format<unknown>;
      const carried = extractCarryover(messages, { turns: 5, maxTokens: 8000, format });
      const { messages: trimmed } = trimMessages(messages, { maxMessages: 100, format });
      for (const list of [carried, trimmed]) {
        expect(addedViolations(format, messages, list)).toEqual([]);
        expect(format.view(list).some(({ kind }) => kind === 'user')).toBe(true);
      }
      const system = carried.filter((_, i) =>
        format.view(carried).every((s) => s.message !== i || s.kind === 'system'),
      );
      const allowed = 8000 + sizeOfMessages(system, format, countTokens);
      expect(sizeOfMessages(carried, format, countTokens)).toBeLessThanOrEqual(allowed);
    }
  });
});

const asText = (message: unknown): string => JSON.stringify(message);
