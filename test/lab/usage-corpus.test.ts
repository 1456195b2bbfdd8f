import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ReplayRequest, settingOf } from '../../src/cli/replay/replay-request.ts';
import { percent } from '../../src/cli/replay/show-replay.ts';
import { replay } from '../../src/lab/replay.ts';
import { replayFile } from '../../src/lab/replay-file.ts';
import type { ReplayResult } from '../../src/lab/replay-result.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { palimpsest } from '../support/memory-io.ts';
import { ROOT } from '../support/modules.ts';

const REQUEST: ReplayRequest = {
  policies: ['none', 'break-even'],
  prices: [],
  counter: 'chars',
  systemTokens: 0,
  contextLimit: undefined,
  cacheLife: 'listed',
  usage: true,
  format: undefined,
  keepSchedules: false,
};

async function replayed(folder: string, more: Partial<ReplayRequest> = {}): Promise<ReplayResult> {
  const request = { ...REQUEST, ...more };
  const setting = settingOf(request);
  const { result } = await replay([folder], { ...request, replayFile: (file) => replayFile(file, setting) });
  return result;
}

describe.skipIf(!hasCorpus)('usage in the logs of the corpus (skipped where ../shared/corpus is absent)', () => {
  let result: ReplayResult;
  beforeAll(async () => {
    result = await replayed(CORPUS);
  }, 60_000);

  it('is found in the logs of eight agents', () => {
    const formats = new Set(result.runs.filter(({ usage }) => usage).map(({ format }) => format));
    expect([...formats].sort()).toEqual(
      ['claude-code', 'cline', 'codex', 'gemini-cli', 'mini-swe-agent', 'opencode', 'openhands', 'pi'].sort(),
    );
  });

  it('every run is replayed within 7 % of what the provider counted', () => {
    for (const { file, usage } of result.runs) {
      if (!usage) continue;
      expect(Math.abs(usage.replayedTokens / usage.countedTokens - 1), file).toBeLessThan(0.07);
      expect(usage.hiddenTokens, file).toBeGreaterThanOrEqual(0);
    }
  });

  it('all runs together are replayed within 1 % of what the provider counted', () => {
    const { replayedTokens = 0, countedTokens = 1 } = result.inferred ?? {};
    expect(Math.abs(replayedTokens / countedTokens - 1)).toBeLessThan(0.01);
  });

  it('no run is priced as another model', () => {
    for (const { model, prices, format } of result.runs) {
      if (format === 'codex' && model) expect(prices).toBe('gpt-5');
      if (format === 'claude-code') expect(prices).toMatch(/^anthropic-/);
      if (model === undefined) expect(prices).toBeUndefined();
    }
  });

  it('Claude Code sends 67.5M tokens where its logs have 25.5M, and saves a smaller share of them', async () => {
    const place = join(CORPUS, 'claude-packmind');
    const { inferred, total } = await replayed(place);
    const visible = await replayed(place, { usage: false });
    // Summed over all replies by their ids, independent of the lab.
    expect(inferred?.countedTokens).toBe(67_521_512);
    expect(total.none?.tokensSent).toBeCloseTo(67_521_512, -6);
    expect(visible.total.none?.tokensSent).toBeCloseTo(25_500_000, -5);
    const saving = (of: ReplayResult['total']): number => -(of['break-even']?.saving['by model'] as number);
    expect(saving(total)).toBeGreaterThan(0.1);
    expect(saving(total)).toBeLessThan(0.75 * saving(visible.total));
  });
});

describe.skipIf(!hasCorpus)('the settings of the study (skipped where ../shared/corpus is absent)', () => {
  it('are those of the command in docs/lab.md, which prints the figures of docs/what-masking-costs.md', async () => {
    const docs = (page: string): string => readFileSync(join(ROOT, 'docs', page), 'utf8');
    const command = /^npx palimpsest (replay <folder> .*)$/m.exec(docs('lab.md'))?.[1] ?? '';
    const args = command.split(' ').map((word) => (word === '<folder>' ? CORPUS : word));
    const policies = ['sliding-window', 'polling', 'optimum'];
    const { stdout } = await palimpsest([...args, ...policies.flatMap((name) => ['--policy', name]), '--json']);
    const { total, runs } = JSON.parse(stdout) as ReplayResult;
    expect(runs).toHaveLength(45);
    const table = /<!-- table: savings -->([\s\S]*?)<!-- end -->/.exec(docs('what-masking-costs.md'))?.[1] ?? '';
    const rows = table.split('\n').map((row) => row.split('|').map((cell) => cell.trim()));
    const lists = rows.find(([, first]) => first === 'policy')?.slice(2, -1) ?? [];
    expect(lists).toContain('deepseek');
    for (const policy of policies) {
      const figures = rows.find(([, first]) => first === `\`${policy}\``)?.slice(2, -1);
      expect(figures).toEqual(lists.map((list) => percent(total[policy]?.saving[list] as number)));
    }
  }, 120_000);
});
