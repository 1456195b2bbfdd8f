import { bestPolicy, isSaving, NOTHING_MASKED } from './compare.ts';
import type { NextStep, ReplayResult, RunResult } from './replay-result.ts';
import type { RunFormat } from './run.ts';

/** The commands of the agents that write these logs. Other agents need a gateway that is set up by hand. */
const AGENTS: Partial<Record<RunFormat, string>> = {
  'claude-code': 'claude',
  codex: 'codex',
  opencode: 'opencode',
  'gemini-cli': 'gemini',
  'qwen-code': 'qwen',
  pi: 'pi',
};

/** The default policy of the gateway. */
const DEFAULT_POLICY = 'break-even';

const DAYS_OF_MONTH = 30;

/** The command that saves most, for the agent of the costliest runs. Undefined if no policy saves. */
export function nextStep(result: Omit<ReplayResult, 'next'>): NextStep | undefined {
  const [prices = ''] = result.prices;
  const policy = bestPolicy(result, prices);
  if (policy === undefined || !isSaving(result.total[policy]?.saving[prices] ?? 0)) return undefined;
  const agent = AGENTS[costliestFormat(result.runs, prices) ?? 'messages'];
  const option = policy === DEFAULT_POLICY ? '' : ` --policy '${policy}'`;
  const command = agent ? `npx palimpsest run${option} -- ${agent}` : `npx palimpsest serve${option}`;
  const { dollars } = result;
  if (dollars?.days === undefined || dollars.after >= dollars.before) return { command };
  return { command, dollarsPerMonth: ((dollars.before - dollars.after) / dollars.days) * DAYS_OF_MONTH };
}

function costliestFormat(runs: readonly RunResult[], prices: string): RunFormat | undefined {
  const costs = new Map<RunFormat, number>();
  for (const { format, results } of runs)
    costs.set(format, (costs.get(format) ?? 0) + (results[NOTHING_MASKED]?.cost[prices] ?? 0));
  return [...costs].sort(([, a], [, b]) => b - a)[0]?.[0];
}
