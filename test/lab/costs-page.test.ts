import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt } from '../support/modules.ts';

it.skipIf(!hasCorpus)(
  'docs/what-masking-costs.md has the figures that the lab finds on the corpus (skipped without ../shared/corpus)',
  { timeout: 300_000 },
  async () => {
    await ensureBuilt();
    const check = (): Buffer => execFileSync(process.execPath, ['scripts/costs.js', CORPUS, '--check']);
    expect(check).not.toThrow();
  },
);
