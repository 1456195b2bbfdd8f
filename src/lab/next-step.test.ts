import { describe, expect, it } from 'vitest';
import { agents } from '../cli/agents/agents.ts';
import { nextStep } from './next-step.ts';
import type { ReplayResult, RunResult } from './replay-result.ts';
import type { RunFormat } from './run.ts';

const misses = { edit: 0, identifier: 0, any: 0, calls: 1 };
const result = (cost: number) => ({
  tokensSent: cost,
  peakTokens: cost,
  masks: 0,
  epochs: 0,
  cost: { x: cost },
  misses,
});
const run = (format: RunFormat, cost: number): RunResult => ({
  file: format,
  run: 0,
  format,
  turns: 1,
  tokens: 1,
  observationShare: 0,
  results: { none: result(cost), 'break-even': result(0.8 * cost) },
});
const replayOf = (runs: readonly RunResult[], change = -0.2): ReplayResult => ({
  version: 1,
  prices: ['x'],
  policies: ['none', 'break-even'],
  runs,
  total: {
    none: { tokensSent: 1, cost: { x: 1 }, saving: { x: 0 } },
    'break-even': { tokensSent: 1, cost: { x: 1 + change }, saving: { x: change } },
  },
  skipped: [],
});

describe('nextStep', () => {
  it.each<[RunFormat, string]>([
    ['claude-code', 'claude'],
    ['codex', 'codex'],
    ['opencode', 'opencode'],
    ['gemini-cli', 'gemini'],
    ['pi', 'pi'],
  ])('starts the agent of %s logs behind a gateway, by the command that `run` knows', (format, command) => {
    expect(nextStep(replayOf([run(format, 10)]))).toEqual({ command: `npx palimpsest run -- ${command}` });
    expect(agents.map((agent) => agent.command)).toContain(command);
  });

  it('starts a gateway for the logs of others', () => {
    expect(nextStep(replayOf([run('goose', 10)]))).toEqual({ command: 'npx palimpsest serve' });
  });

  it('is for the agent that costs most', () => {
    const runs = [run('codex', 10), run('codex', 10), run('claude-code', 100)];
    expect(nextStep(replayOf(runs))?.command).toBe('npx palimpsest run -- claude');
  });

  it('is nothing where no policy saves', () => {
    expect(nextStep(replayOf([run('codex', 10)], 0.01))).toBeUndefined();
    expect(nextStep({ ...replayOf([run('codex', 10)]), policies: ['none'] })).toBeUndefined();
  });

  it('says what a month saves where days and dollars are known', () => {
    const dollars = { policy: 'break-even', before: 41.2, after: 29.8, runs: 212, days: 14 };
    expect(nextStep({ ...replayOf([run('codex', 10)]), dollars })?.dollarsPerMonth).toBeCloseTo((11.4 / 14) * 30, 9);
    const { days: _, ...undated } = dollars;
    expect(nextStep({ ...replayOf([run('codex', 10)]), dollars: undated })).toEqual({
      command: 'npx palimpsest run -- codex',
    });
  });
});
