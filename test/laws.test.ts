import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createPlanner,
  type FitOptions,
  fit,
  formatByName,
  PalimpsestError,
  type Plan,
  type Report,
} from '../src/index.ts';
import { brokenLaws } from '../src/laws/index.ts';
import { addedViolations } from '../src/laws/pairs.ts';
import { extendsPlan } from '../src/laws/stable-prefix.ts';
import { anyCase } from './support/cases.ts';
import { deepFreeze } from './support/deep-freeze.ts';
import { flat, formatNames, type Written, write } from './support/histories.ts';

/** More with PALIMPSEST_RUNS=5000. */
const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 250);

/** The fitted history, or nothing where a budget cannot be met: that of `fit`, or the policy's own. */
function fitOrNothing(messages: readonly object[], options: FitOptions) {
  try {
    const fitted = fit(messages, options);
    const { limit = 0, size = 0 } = fitted.report.decision;
    return Number(size) > Number(limit) ? undefined : fitted;
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return undefined;
    throw error;
  }
}

const CUTS = new Set(['clip', 'truncate', 'old-text']);

function countEdits({ edits }: Plan): Report['edits'] {
  const counts = { mask: 0, clip: 0, shape: 0, drop: 0, insert: 0 };
  for (const edit of edits) {
    if (edit.kind === 'drop') counts.drop += edit.to - edit.from;
    else if (edit.kind === 'insert') counts.insert += 1;
    else if (edit.why === 'mask') counts.mask += 1;
    else counts[CUTS.has(edit.why) ? 'clip' : 'shape'] += 1;
  }
  return counts;
}

/** The text of a list, without what its summary says of results, and without the handle of what it replaced. */
const withoutOutcomes = (messages: readonly object[]): string =>
  JSON.stringify(messages).replace(/Conversation summary .*?(?=- Covers)|- Key tool outcomes: .*?(?=- Current)/g, '');

interface About {
  readonly policy: string;
  readonly repeatIds: boolean;
}

const upTo = (written: Written, turns: number): object[] =>
  flat({ head: written.head, turns: written.turns.slice(0, turns) });

describe.each(formatNames)('every policy on %s', (name) => {
  const format = formatByName(name);

  const check = (law: (written: Written, options: FitOptions, about: About) => void): void => {
    fc.assert(
      fc.property(anyCase, (sample) => {
        const about = { policy: sample.named.name, repeatIds: sample.repeatIds };
        const written = deepFreeze(write(sample.story, name, sample.repeatIds));
        law(written, { ...sample.settings, policy: sample.named.policy, format: name }, about);
      }),
      { numRuns },
    );
  };

  it('keeps the laws, is within its budget, changes nothing it does not name', () => {
    check((written, options, { repeatIds }) => {
      const messages = flat(written);
      // Some providers reject ids that repeat: then nothing may be added to that.
      if (!repeatIds) expect(format.check(messages)).toEqual([]);
      const fitted = fitOrNothing(messages, options);
      if (!fitted) return;
      const applied = {
        format,
        before: messages,
        after: fitted.messages,
        segments: format.view(messages),
        plan: fitted.plan,
      };
      expect(brokenLaws(applied)).toEqual([]);
      expect(addedViolations(format, messages, fitted.messages)).toEqual([]);
      expect(fitted.report.tokens.after).toBeLessThanOrEqual(
        Math.min(fitted.report.tokens.before, options.maxTokens ?? Infinity),
      );
      expect(format.apply(messages, fitted.plan)).toEqual(fitted.messages);
      expect(fitted.report.edits).toEqual(countEdits(fitted.plan));
      expectShared(messages, fitted.messages, fitted.plan, (segment) => applied.segments[segment]?.message ?? -1);
    });
  });

  it('changes nothing when it fits a fitted history again', () => {
    check((written, options) => {
      const fitted = fitOrNothing(flat(written), options);
      if (!fitted) return;
      const again = fit(fitted.messages, options);
      expect(again.messages).toEqual(fitted.messages);
      expect(again.plan.edits).toEqual([]);
    });
  });

  it('fits its own output with new turns as it would have fitted the whole', () => {
    check((written, options, { policy }) => {
      const half = Math.floor(written.turns.length / 2);
      const first = fitOrNothing(upTo(written, half), options);
      const whole = fitOrNothing(flat(written), options);
      if (!first || !whole) return;
      // Polling counts turns, and a drop changes their number.
      if (policy === 'polling' && first.plan.edits.some((edit) => edit.kind === 'drop')) return;
      // Its summary tells results as they came. The history that was fed back has placeholders or clipped texts in place of some.
      const hasSummary = whole.hidden.some(({ why }) => why === 'summarize');
      const isExempt = policy === 'hybrid' && hasSummary && first.plan.edits.some(({ kind }) => kind === 'replace');
      // Under a budget, a summary of another length may lead to another cut.
      if (isExempt && options.maxTokens !== undefined) return;
      const fedBack = fitOrNothing([...first.messages, ...written.turns.slice(half).flat()], options);
      const compared = (messages: readonly object[] = []): unknown => (isExempt ? withoutOutcomes(messages) : messages);
      expect(compared(fedBack?.messages)).toEqual(compared(whole.messages));
    });
  });

  it('extends its earlier plans, and between epochs its requests, turn by turn', () => {
    check((written, options) => {
      const planner = createPlanner<object>({ ...options, format: name });
      const messageOf = (segment: number): number => planner.ledger.segments[segment]?.message ?? -1;
      let earlier: { plan: Plan; messages: object[]; epoch: number } | undefined;
      for (const part of [written.head, ...written.turns]) {
        const { report } = planner.add(...part);
        const now = { plan: planner.plan(), messages: planner.messages(), epoch: report.epoch };
        if (earlier) {
          expect(extendsPlan(earlier.plan, now.plan, messageOf)).toBe(true);
          if (earlier.epoch === now.epoch)
            expect(now.messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
        }
        earlier = now;
      }
      const whole = fitOrNothing(flat(written), options);
      if (whole) {
        expect(planner.plan()).toEqual(whole.plan);
        expect(planner.report()).toEqual(whole.report);
        expect(planner.hidden).toEqual(whole.hidden);
      }
    });
  });

  it('plans the same for messages added one by one', () => {
    check((written, options) => {
      const planner = createPlanner<object>({ ...options, format: name });
      for (const message of flat(written)) planner.add(message);
      const whole = fitOrNothing(flat(written), options);
      if (whole)
        expect({ plan: planner.plan(), report: planner.report() }).toEqual({ plan: whole.plan, report: whole.report });
    });
  });
});

/** What no edit names is the very object that came in. */
function expectShared(
  before: readonly object[],
  after: readonly object[],
  plan: Plan,
  messageOf: (segment: number) => number,
): void {
  const edited = new Set(plan.edits.flatMap((edit) => (edit.kind === 'replace' ? [messageOf(edit.segment)] : [])));
  const dropped = new Set<number>();
  for (const edit of plan.edits) if (edit.kind === 'drop') for (let i = edit.from; i < edit.to; i++) dropped.add(i);
  const left = new Set(after);
  for (const [index, message] of before.entries()) {
    if (!edited.has(index) && !dropped.has(index)) expect(left.has(message)).toBe(true);
  }
  expect(isDeepStrictEqual(plan, JSON.parse(JSON.stringify(plan)))).toBe(true);
}
