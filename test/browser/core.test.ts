import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fit, handleOf, slidingWindow } from '../../src/index.ts';
import { isAbsent, launchChromium, REASON } from '../support/browser/chromium.ts';
import { coreJob } from '../support/core-job.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

interface Bundle {
  readonly code: string;
  readonly gzipped: number;
  readonly nodeImports: readonly string[];
  readonly modules: readonly string[];
}

const { bundleFor, ENTRIES } = (await import(`${ROOT}scripts/bundle-size.js`)) as {
  bundleFor(source: string): Promise<Bundle>;
  ENTRIES: Readonly<Record<string, string>>;
};

const BUILD_MS = 120_000;
/** In thousands of bytes, minified and gzipped. */
const LIMITS: Readonly<Record<string, number>> = {
  'fit, with detection and the default policy': 69,
  'fit of palimpsest/core': 25,
  'fit of palimpsest/core, anthropic and slidingWindow': 36,
  'the same with the part budget': 41.5,
  'the same with all parts': 55.5,
};

const job = coreJob({ turns: 12, maxTokens: 4000 });

beforeAll(ensureBuilt, BUILD_MS);

describe('a bundle for browsers', () => {
  it.each(Object.entries(ENTRIES))('of %s imports nothing of Node, and is small', async (name, source) => {
    const { code, gzipped, nodeImports } = await bundleFor(source);
    expect(nodeImports).toEqual([]);
    expect(code).not.toMatch(/\bfrom\s*"node:|\brequire\(/);
    expect(gzipped / 1000).toBeLessThan(LIMITS[name] as number);
  });

  it('of palimpsest/core has only the format and the policy that it names', async () => {
    const { modules } = await bundleFor(ENTRIES['fit of palimpsest/core, anthropic and slidingWindow'] as string);
    const files = modules.map((id) => id.replace(/^.*\/dist\//, ''));
    expect(files).toContain('formats/anthropic.js');
    const others = ['formats/detect-format.js', 'formats/gemini.js', 'plan/policies/break-even.js'];
    for (const other of [...others, 'plan/arrival/arrivals.js', 'plan/reduce.js', 'plan/shorten-calls.js'])
      expect(files).not.toContain(other);
  });
});

describe.skipIf(isAbsent)(`fit in Chromium${REASON}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, BUILD_MS);
  afterAll(() => browser?.close());

  it('makes the handles and the requests that it makes in Node', async () => {
    const { code } = await bundleFor(`
      import { fit, handleOf, slidingWindow } from 'palimpsest';
      globalThis.run = ({ texts, histories, options }) => ({
        runtime: [typeof process, typeof Buffer],
        handles: texts.map(handleOf),
        fitted: histories.map((messages) => fit(messages, { ...options, policy: slidingWindow({ turns: 2 }) })),
      });`);
    const page = await browser.newPage();
    await page.addScriptTag({ content: code, type: 'module' });
    const run = 'run' as keyof typeof globalThis;
    const there = await page.evaluate(({ run, job }) => JSON.stringify(globalThis[run](job)), { run, job });
    const { runtime, handles, fitted } = JSON.parse(there);
    expect(runtime).toEqual(['undefined', 'undefined']);
    expect(handles).toEqual(job.texts.map(handleOf));
    const policy = slidingWindow({ turns: 2 });
    const here = job.histories.map((messages) => fit(messages, { ...job.options, policy }));
    expect(JSON.stringify(fitted)).toBe(JSON.stringify(here));
    expect(here.every(({ plan }) => plan.edits.length > 0)).toBe(true);
    await page.close();
  });
});
