import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../src/lab/replay-result.ts';
import { contextOf } from '../support/logs/contexts.ts';
import { claudeSession, codexSession, type OwnLog } from '../support/logs/own-logs.ts';
import { palimpsest } from '../support/memory-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-own-logs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DAY = 86_400_000;
const START = Date.UTC(2026, 9, 1);
const CLAUDE: OwnLog = { turns: 60, model: 'claude-opus-4-6', hiddenTokens: 20_000, scale: 1.5, start: START };
const CODEX: OwnLog = { turns: 60, model: 'gpt-5.4', hiddenTokens: 12_000, scale: 1, start: START };

function logs(name: string, texts: readonly string[]): string {
  const place = join(folder, name);
  mkdirSync(place);
  for (const [i, text] of texts.entries()) writeFileSync(join(place, `${i}.jsonl`), text);
  return place;
}

/** Two sessions, ten days apart. */
const claude = logs('claude', [claudeSession(CLAUDE), claudeSession({ ...CLAUDE, start: START + 10 * DAY })]);
const codex = logs('codex', [codexSession(CODEX)]);
const unknown = logs('unknown', [JSON.stringify(contextOf(500, 100, 100, 100).messages)]);

const replayed = (...args: readonly string[]) =>
  palimpsest(['replay', ...args], { readFile: async (path) => readFileSync(path, 'utf8') });

async function json(...args: readonly string[]): Promise<ReplayResult> {
  const { stdout, stderr } = await replayed(...args, '--json');
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

const costOf = (result: ReplayResult, policy = 'none'): number =>
  result.total[policy]?.cost[result.prices[0] as string] as number;

describe('a log with usage', () => {
  it('is replayed at the size that the provider counted, with the hidden part inferred', async () => {
    const { inferred, total, runs } = await json(claude);
    expect(inferred).toMatchObject({ runs: 2, requests: 120 });
    const { countedTokens = 0, replayedTokens = 0, hiddenTokens = 0 } = inferred ?? {};
    expect(hiddenTokens / 120).toBeCloseTo(20_000, -2);
    expect(replayedTokens / countedTokens).toBeCloseTo(1, 2);
    expect((total.none?.tokensSent as number) / countedTokens).toBeCloseTo(1, 2);
    expect(runs[0]?.usage?.countedTokens).toBe(countedTokens / 2);
  });

  it('saves a smaller share than without its hidden part, which --no-usage leaves out', async () => {
    const [withUsage, without] = [await json(claude), await json(claude, '--no-usage')];
    expect(without.inferred).toBeUndefined();
    const saved = ({ total }: ReplayResult): number => -(total['break-even']?.saving['by model'] as number);
    expect(saved(withUsage)).toBeGreaterThan(0);
    expect(saved(withUsage)).toBeLessThan(saved(without));
  });

  it('says in the report what was inferred', async () => {
    const { stdout } = await replayed(claude);
    expect(stdout).toMatch(
      /^Inferred from the provider's usage in 2 of 2 runs: 2\.4M of [\d.]+M tokens \(\d+ %, about 20,0\d\d a request\) are not in the logs: system prompt, tools, thinking\. The provider counted [\d.]+M for the same requests, \$[\d.]+ with its own cache hits\.$/m,
    );
    expect((await replayed(unknown)).stdout).not.toContain('Inferred');
  });

  it('reads the first request from the cache as far as the log says', async () => {
    const log = claudeSession({ ...CLAUDE, turns: 30 });
    const warm = log.replaceAll(
      /"cache_read_input_tokens":0,"cache_creation_input_tokens":(\d+)/g,
      (_, all) => `"cache_read_input_tokens":15000,"cache_creation_input_tokens":${Number(all) - 15_000}`,
    );
    const [cold, shared] = [await json(logs('cold', [log])), await json(logs('shared', [warm]))];
    expect(costOf(cold) - costOf(shared)).toBeCloseTo((1.25 - 0.1) * 15_000, 0);
  });
});

describe('prices', () => {
  it('are those of the model that the log names', async () => {
    const ofClaude = await json(claude);
    expect(ofClaude.prices).toEqual(['by model']);
    expect(ofClaude.models).toEqual([{ model: 'claude-opus-4-6', prices: 'anthropic-5m', runs: 2, hasDollars: true }]);
    const ofCodex = await json(codex);
    expect(ofCodex.models).toEqual([{ model: 'gpt-5.4', prices: 'gpt-5', runs: 1, hasDollars: true }]);
    expect(costOf(ofCodex)).toBeCloseTo(costOf(await json(codex, '--prices', 'gpt-5')), 6);
    expect(costOf(ofCodex)).not.toBeCloseTo(costOf(await json(codex, '--prices', 'anthropic-5m')), 0);
  });

  it('are those of a cache of one hour, where the usage has only such writes', async () => {
    const hour = claudeSession(CLAUDE).replaceAll(
      /"ephemeral_5m_input_tokens":(\d+),"ephemeral_1h_input_tokens":0/g,
      '"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":$1',
    );
    const place = logs('hour', [hour]);
    expect((await json(place)).runs[0]?.prices).toBe('anthropic-1h');
    expect(costOf(await json(place))).toBeCloseTo(costOf(await json(place, '--prices', 'anthropic-1h')), 6);
  });

  it('--prices wins over the model', async () => {
    const { prices, models } = await json(claude, '--prices', 'deepseek');
    expect(prices).toEqual(['deepseek']);
    expect(models).toEqual([{ model: 'claude-opus-4-6', runs: 2, hasDollars: true }]);
  });

  it('of a model that is not known are not made up: there are tokens only, and the report says so', async () => {
    const { stdout } = await replayed(unknown);
    expect(stdout).toContain('Tokens against sending everything:');
    expect(stdout).toContain(
      'No log names a model with known prices: costs are in tokens, and no saving can be computed.\n',
    );
    expect(stdout).not.toContain('$');
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      'Next: name a price list to see what a policy saves, such as --prices anthropic-5m.',
    );
  });

  it('of a mixed folder are those of each run, and runs without prices count in tokens only', async () => {
    const mixed = await json(claude, codex, unknown);
    expect(mixed.runs.map(({ prices }) => prices)).toEqual(['anthropic-5m', 'anthropic-5m', 'gpt-5', undefined]);
    expect(costOf(mixed)).toBeCloseTo(costOf(await json(claude)) + costOf(await json(codex)), 3);
    expect(mixed.dollars?.runs).toBe(3);
    const sent = await Promise.all([claude, codex, unknown].map((place) => json(place)));
    expect(mixed.total.none?.tokensSent).toBeCloseTo(
      sent.reduce((sum, { total }) => sum + (total.none?.tokensSent as number), 0),
      3,
    );
    expect((await replayed(claude, codex, unknown)).stdout).toContain(
      'Prices by the model in each log: claude-opus-4-6 at anthropic-5m (2 runs), gpt-5.4 at gpt-5 (1 run); 1 run of models with unknown prices is counted in tokens only (--prices <list> prices all). Percentages count the tokens of all models alike, dollars do not.\n',
    );
  });

  it('in dollars come from --price-file before the list', async () => {
    const file = join(folder, 'prices.yaml');
    writeFileSync(file, 'claude-opus-4-6: { input: 10, output: 50 }\n');
    const [listed, own] = [await json(claude), await json(claude, '--price-file', file)];
    // The list has 5 dollars for a million tokens.
    expect(listed.dollars?.before).toBeCloseTo((costOf(listed) * 5) / 1e6, 6);
    expect(own.dollars?.before).toBeCloseTo(2 * (listed.dollars?.before as number), 6);
    expect(own.dollars?.after).toBeCloseTo(2 * (listed.dollars?.after as number), 6);
    expect((await replayed(claude, '--price-file', join(folder, 'none.yaml'))).code).toBe(1);
  });

  it('of a subscription are relative: no dollars are shown', async () => {
    const file = join(folder, 'subscription.yaml');
    writeFileSync(file, 'claude-opus-4-6: subscription\n');
    const { dollars, total } = await json(claude, '--price-file', file);
    expect(dollars).toBeUndefined();
    expect(total['break-even']?.saving['by model']).toBeLessThan(0);
  });

  it('of models that have their own price for cached tokens count with it', async () => {
    const place = logs('own-cache', [claudeSession({ ...CLAUDE, model: 'claude-opus-5-5' })]);
    const { runs, dollars } = await json(place, '--policy', 'none', '--policy', 'break-even');
    // 0.2 of 4 dollars is a twentieth, not a tenth.
    const cost = runs[0]?.results.none?.cost['by model'] as number;
    expect(cost).toBeCloseTo(costOf(await json(place, '--prices', 'mine:read=0.05,write=1.25')), 6);
    expect(dollars?.before).toBeCloseTo((cost * 4) / 1e6, 6);
  });
});

describe('the last sentences', () => {
  it('tell the dollars, the days and the sessions, then the command and what it saves in a month', async () => {
    const { stdout } = await replayed(claude);
    const [dollars = '', next = ''] = stdout.trimEnd().split('\n').slice(-2);
    expect(dollars).toMatch(/^Input with break-even: \$\d+\.\d\d → \$\d+\.\d\d \(−\d+ %\) over 11 days, 2 sessions\.$/);
    expect(next).toMatch(/^Next: npx palimpsest run -- claude \(would save about \$\d+\.\d\d a month\)$/);
    const { dollars: found, next: step } = await json(claude);
    const saved = (found?.before as number) - (found?.after as number);
    // By the days that the sentence tells, so that a reader comes to the same sum.
    expect(step?.dollarsPerMonth).toBeCloseTo((30 * saved) / 11, 9);
  });

  it('name the agent of the log, without a sum for less than a day', async () => {
    const { stdout } = await replayed(codex);
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      expect.stringMatching(/^Input with break-even: .* in 1 session\.$/),
      'Next: npx palimpsest run -- codex',
    ]);
  });

  it('name the policy where another one than the default saves more', async () => {
    const { stdout } = await replayed(claude, '--prices', 'none', '--policy', 'sliding-window:turns=5');
    expect(stdout).toContain("Next: npx palimpsest run --policy 'sliding-window:turns=5' -- claude");
  });
});

describe('pauses', () => {
  // Every tenth turn comes after 12 minutes: the cache of five minutes has died.
  const slow = logs('slow', [claudeSession({ ...CLAUDE, pauseMs: (turn) => (turn % 10 === 9 ? 720_000 : 5000) })]);
  const at = (...args: readonly string[]) => json(slow, '--prices', 'anthropic-5m', ...args);

  it('let the cache die, unless --cache-life endless is given', async () => {
    const [cold, warm] = [await at(), await at('--cache-life', 'endless')];
    expect(costOf(cold)).toBeGreaterThan(1.5 * costOf(warm));
    expect(costOf(warm)).toBeCloseTo(costOf(await json(claude, '--prices', 'anthropic-5m')) / 2, 0);
  });

  it('cost reads of the cache with --keep-warm, and no new writes', async () => {
    const requests = 60;
    const warm = costOf(await at('--cache-life', 'endless'));
    const kept = costOf(await at('--keep-warm', '3'));
    // Two requests in each of six pauses, each reading what the request before had sent.
    expect(kept).toBeGreaterThan(warm);
    expect(kept).toBeLessThan(costOf(await at()));
    const { total } = await at();
    const mean = (total.none?.tokensSent as number) / requests;
    expect(kept - warm).toBeGreaterThan(0.1 * 12 * 0.8 * mean);
    expect(kept - warm).toBeLessThan(0.1 * 12 * 1.3 * mean);
  });

  it('that are longer than the requests can bridge cost both', async () => {
    const [cold, once] = [costOf(await at()), costOf(await at('--keep-warm', '1'))];
    expect(once).toBeGreaterThan(cold);
  });
});

describe('runs', () => {
  it('--least-turns leaves out shorter ones', async () => {
    expect((await json(claude, unknown, '--least-turns', '30')).runs).toHaveLength(2);
    expect((await json(claude, unknown, '--least-turns', '0')).runs).toHaveLength(3);
  });

  it('wrong options are named before anything is read', async () => {
    for (const [args, complaint] of [
      [['--keep-warm', 'x'], '--keep-warm'],
      [['--least-turns', '-1'], '--least-turns'],
      [['--cache-life', 'soon'], "'listed' or 'endless'"],
    ] as const) {
      const { code, stderr } = await replayed('nowhere', ...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(complaint)]);
    }
  });
});
