import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FitResult } from '../../src/index.ts';
import { coreJob } from '../support/core-job.ts';
import { formatNames } from '../support/histories.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const { bundleFor } = (await import(`${ROOT}scripts/bundle-size.js`)) as {
  bundleFor(source: string): Promise<{ readonly code: string }>;
};

const installed = (path: string): string => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const DENO = installed('@deno/linux-x64-glibc/deno');

/** Runtimes that run a file. Deno gives it no permissions. */
const RUNTIMES = [
  { name: 'Bun', command: [installed('.bin/bun'), 'run'], reason: undefined },
  { name: 'Deno', command: [DENO, 'run', '--no-prompt', '--no-lock'], reason: reasonToSkip(DENO) },
];

/** There is a Deno for some platforms only. Where all must be tested, one that is not there is a failure. */
function reasonToSkip(program: string): string | undefined {
  return existsSync(program) || process.env.PALIMPSEST_CI ? undefined : 'npm has no Deno for this platform';
}

/** Large enough that the default policy masks too. */
const job = JSON.stringify(coreJob({ turns: 150, maxTokens: 30_000 }));

const PROGRAM = `
import { fit, handleOf, slidingWindow } from 'palimpsest';
const { texts, histories, options } = JSON.parse(${JSON.stringify(job)});
const policies = [{}, { policy: slidingWindow({ turns: 2 }) }];
const answer = () => JSON.stringify({
  handles: texts.map(handleOf),
  fitted: policies.flatMap((policy) => histories.map((messages) => fit(messages, { ...options, ...policy }))),
});
`;
const PRINTING = `${PROGRAM} console.log(answer());`;
const SERVING = `${PROGRAM}
const runtime = [typeof process, typeof Buffer].join();
export default { fetch: () => new Response(answer(), { headers: { runtime } }) };`;

describe('fit and handleOf give the bytes that they give in Node', () => {
  // Not below node_modules, where Deno takes a program for a part of a package.
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-runtimes-'));
  let inNode: string;

  const run = ([program = '', ...args]: readonly string[], file: string): string => {
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
    const { status, stdout, stderr, error } = spawnSync(program, [...args, file], options);
    expect({ status, stderr, error }).toEqual({ status: 0, stderr: '', error: undefined });
    return stdout.trim();
  };

  beforeAll(async () => {
    await ensureBuilt();
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/palimpsest'), 'dir');
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(folder, 'imported.js'), PRINTING);
    writeFileSync(join(folder, 'bundled.js'), (await bundleFor(PRINTING)).code);
    inNode = run([process.execPath], 'imported.js');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('and mask in every history', () => {
    const { fitted } = JSON.parse(inNode) as { fitted: Pick<FitResult<unknown>, 'report'>[] };
    expect(fitted.length).toBe(2 * formatNames.length);
    expect(Math.min(...fitted.map(({ report }) => report.maskedCount))).toBeGreaterThan(100);
  });

  for (const { name, command, reason } of RUNTIMES)
    describe.skipIf(reason)(`in ${name}${reason ? ` (skipped: ${reason})` : ''}`, () => {
      it.each(['imported.js', 'bundled.js'])('%s', (file) => {
        expect(run(command, file) === inNode).toBe(true);
      });
    });

  it('in workerd, without compatibility flags', async () => {
    const { code } = await bundleFor(SERVING);
    const worker = new Miniflare({ modules: true, script: code });
    try {
      const response = await worker.dispatchFetch('http://worker.test/');
      expect(response.headers.get('runtime')).toBe('undefined,undefined');
      expect((await response.text()) === inNode).toBe(true);
    } finally {
      await worker.dispose();
    }
  });
});
