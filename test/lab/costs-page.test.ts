import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt } from '../support/modules.ts';

it.skipIf(!hasCorpus)(
  'docs/what-masking-costs.md has the figures that the lab finds on the corpus (skipped without ../shared/corpus)',
  { timeout: 300_000 },
  async () => {
    await ensureBuilt();
    // With a larger young generation the replays take a tenth less time: nearly all that they make is short-lived.
    const args = ['--max-semi-space-size=64', 'scripts/costs.js', CORPUS, '--check'];
    const check = (): Buffer => execFileSync(process.execPath, args);
    expect(check).not.toThrow();
  },
);
