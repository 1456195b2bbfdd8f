import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/modules.ts';

const NODE = fileURLToPath(new URL('node_modules/.bin/node', import.meta.url));

/** Tests of what Node 20 cannot do: there they are skipped. */
const FILES = ['test/gateway/server/zstd.test.ts'];

describe('a newer Node', () => {
  it('runs the tests that need one', () => {
    const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
    const { status, stdout } = spawnSync(NODE, [vitest, 'run', '--reporter=json', ...FILES], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const { numPassedTests, testResults } = JSON.parse(stdout) as {
      readonly numPassedTests: number;
      readonly testResults: readonly {
        readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
      }[];
    };
    const failed = testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter((one) => one.status === 'failed'),
    );
    expect(failed).toEqual([]);
    expect(status).toBe(0);
    expect(numPassedTests).toBeGreaterThan(4);
  });
});
