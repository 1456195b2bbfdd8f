import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ReplayRequest, settingOf } from '../../src/cli/replay-request.ts';
import { replay } from '../../src/lab/replay.ts';
import { replayFile } from '../../src/lab/replay-file.ts';
import type { ReplayResult } from '../../src/lab/replay-result.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';

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

async function replayed(folder: string): Promise<ReplayResult> {
  const setting = settingOf(REQUEST);
  const { result } = await replay([folder], { ...REQUEST, play: (file) => replayFile(file, setting) });
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

  it('no run is priced as another model', () => {
    for (const { model, prices, format } of result.runs) {
      if (format === 'codex' && model) expect(prices).toBe('gpt-5');
      if (format === 'claude-code') expect(prices).toMatch(/^anthropic-/);
      if (model === undefined) expect(prices).toBeUndefined();
    }
  });

  it('Claude Code sends 67.5M tokens where its logs have 25.5M, and saves half as much of them', async () => {
    const { inferred, total } = await replayed(join(CORPUS, 'claude-packmind'));
    // Summed over all replies by their ids, independent of the lab.
    expect(inferred?.countedTokens).toBe(67_521_512);
    expect(total.none?.tokensSent).toBeCloseTo(67_521_512, -6);
    expect(total['break-even']?.saving['by model']).toBeGreaterThan(-0.2);
    expect(total['break-even']?.saving['by model']).toBeLessThan(-0.12);
  });
});
