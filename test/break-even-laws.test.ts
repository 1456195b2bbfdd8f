import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createPlanner,
  type EpochRecord,
  type FitOptions,
  fit,
  formatByName,
  PalimpsestError,
  type Plan,
} from '../src/index.ts';
import { extendsPlan } from '../src/laws/stable-prefix.ts';
import { settings } from './support/cases.ts';
import { flat, formatNames, longStory, story, type Written, write } from './support/histories.ts';
import { anyBreakEven } from './support/policies.ts';

/** More with PALIMPSEST_RUNS=3000. */
const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 25);

/** The fitted history, or nothing where the budget cannot be met. */
function fitOrNothing(messages: readonly object[], options: FitOptions) {
  try {
    return fit(messages, options);
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return undefined;
    throw error;
  }
}

const upTo = (written: Written, turns: number): object[] =>
  flat({ head: written.head, turns: written.turns.slice(0, turns) });

describe.each(formatNames)('breakEven on %s', (name) => {
  const format = formatByName(name);
  const check = (law: (written: Written, options: FitOptions) => void): void => {
    fc.assert(
      fc.property(
        fc.oneof(longStory, story),
        anyBreakEven,
        settings,
        fc.boolean(),
        (tale, { policy }, given, repeatIds) => {
          law(write(tale, name, repeatIds), { ...given, policy, format: name });
        },
      ),
      { numRuns },
    );
  };

  it('fits its own output with any number of new turns as it would have fitted the whole', () => {
    check((written, options) => {
      const whole = fitOrNothing(flat(written), options);
      if (!whole) return;
      for (let turns = 0; turns < written.turns.length; turns++) {
        const first = fitOrNothing(upTo(written, turns), options);
        if (!first) continue;
        const fedBack = fitOrNothing([...first.messages, ...written.turns.slice(turns).flat()], options);
        expect(fedBack?.messages).toEqual(whole.messages);
      }
    });
  });

  it('keeps masked what it masked, with the same bytes, while the history grows', () => {
    check((written, options) => {
      let earlier: { plan: Plan; messages: object[]; epoch: number } | undefined;
      for (let turns = 0; turns <= written.turns.length; turns++) {
        // A list of its own, so that every call plans from scratch.
        const messages = structuredClone(upTo(written, turns));
        const now = fitOrNothing(messages, options);
        if (!now) return;
        const segments = format.view(messages);
        if (earlier) {
          expect(extendsPlan(earlier.plan, now.plan, (segment) => segments[segment]?.message ?? -1)).toBe(true);
          if (earlier.epoch === now.report.epoch)
            expect(now.messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
        }
        earlier = { plan: now.plan, messages: now.messages, epoch: now.report.epoch };
      }
    });
  });

  it('sends the same bytes again after epochs on a cold cache, where their records are given back', () => {
    const cold = fc.array(fc.boolean(), { minLength: 33, maxLength: 33 });
    fc.assert(
      fc.property(longStory, anyBreakEven, cold, (tale, { policy }, isCold) => {
        const written = write(tale, name);
        const epochs: EpochRecord[] = [];
        let earlier: object[] = [];
        for (let turns = 0; turns <= written.turns.length; turns++) {
          const idle = isCold[turns] ? { idleMs: 2, cacheLifeMs: 1 } : {};
          const facts = { ...idle, epochs: [...epochs] };
          const messages = structuredClone(upTo(written, turns));
          const { messages: sent, report } = fit(messages, { policy, format: name, facts });
          if (report.decision.act === 'wait') expect(sent.slice(0, earlier.length)).toEqual(earlier);
          if (report.record) epochs.push(report.record);
          const again = fit(structuredClone(messages), { policy, format: name, facts: { epochs: [...epochs] } });
          expect(again.messages).toEqual(sent);
          earlier = sent;
        }
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    );
  });

  it('plans turn by turn what it plans for the whole', () => {
    check((written, options) => {
      const planner = createPlanner<object>({ ...options, format: name });
      let turns = 0;
      for (const part of [written.head, ...written.turns]) {
        const { report } = planner.add(...part);
        const whole = fitOrNothing(structuredClone(upTo(written, turns++)), options);
        if (!whole) return;
        expect({ report, plan: planner.plan(), hidden: planner.hidden }).toEqual({
          report: whole.report,
          plan: whole.plan,
          hidden: whole.hidden,
        });
      }
    });
  });
});
