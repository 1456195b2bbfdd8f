import { describe, expect, it } from 'vitest';
import { aboutPolicies } from './about-policies.ts';
import type { ReplayResult } from './replay-result.ts';

function replayed(savings: Readonly<Record<string, readonly [number, number]>>): ReplayResult {
  const total = Object.entries(savings).map(([name, [x, y]]) => [name, { tokensSent: 0, cost: {}, saving: { x, y } }]);
  const policies = Object.keys(savings);
  return { version: 1, prices: ['x', 'y'], policies, runs: [], total: Object.fromEntries(total), skipped: [] };
}

const HINDSIGHT = expect.stringMatching(/^optimum knows the future of masking only\./);
const ARRIVAL = expect.stringMatching(/^clean, references: results are made smaller when they are first sent/);

describe('aboutPolicies', () => {
  it('explains how a policy can be below optimum, at any of the price lists', () => {
    expect(aboutPolicies(replayed({ none: [0, 0], 'break-even': [-0.1, -0.4], optimum: [-0.2, -0.3] }))).toEqual([
      HINDSIGHT,
    ]);
  });

  it('says nothing where optimum is the cheapest, or is not compared', () => {
    expect(aboutPolicies(replayed({ none: [0, 0], 'break-even': [-0.1, -0.2], optimum: [-0.2, -0.3] }))).toEqual([]);
    expect(aboutPolicies(replayed({ none: [0, 0], polling: [-0.1, -0.2] }))).toEqual([]);
    expect(aboutPolicies(replayed({ none: [0, 0], optimum: [0.1, 0.1] }))).toEqual([]);
  });

  it('explains the options of arrival where a policy names them', () => {
    expect(aboutPolicies(replayed({ 'break-even:references=false': [-0.1, -0.2] }))).toEqual([ARRIVAL]);
    const both = { 'break-even': [-0.3, -0.3], optimum: [-0.2, -0.2], 'optimum:clean=true': [-0.2, -0.2] } as const;
    expect(aboutPolicies(replayed(both))).toEqual([ARRIVAL, HINDSIGHT]);
  });

  it('does not call an optimum with arrival beaten for want of arrival', () => {
    const savings = { 'break-even': [-0.3, -0.3], 'optimum:clean=true,references=true': [-0.2, -0.2] } as const;
    expect(aboutPolicies(replayed(savings))).toEqual([ARRIVAL]);
  });
});
