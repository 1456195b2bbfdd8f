import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ReplayPage } from '../../src/lab/replay-result.ts';
import { writePage } from '../../src/lab/write-page.ts';
import { isAbsent, launchChromium, REASON } from '../support/browser/chromium.ts';
import { HOSTILE, samplePage } from '../support/browser/sample-page.ts';
import { ensureBuilt } from '../support/modules.ts';

/** For a whole build, on a machine that has other work. */
const BUILD_MS = 120_000;

const sample = samplePage({ runs: 8 });
const turnsOf = (run: number): number => sample.result.runs[run]?.turns ?? 0;
/** The one that is shown first. */
const [longest] = sample.details.toSorted((a, b) => turnsOf(b.run) - turnsOf(a.run));
const hostileName = '…/</script><img src=x onerror="document.title=\'taken over\'"><!-- \u2028\u2029 $& $1.jsonl';

describe.skipIf(isAbsent)(`the report page in Chromium${REASON}`, () => {
  let browser: Browser;
  let folder: string;
  let page: Page;
  /** Requests that leave the page, errors and warnings: there must be none. */
  let complaints: string[];

  beforeAll(async () => {
    await ensureBuilt();
    folder = mkdtempSync(join(tmpdir(), 'palimpsest-browser-'));
    browser = await launchChromium();
  }, BUILD_MS);

  afterEach(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(data: ReplayPage = sample, width = 1280): Promise<void> {
    const file = join(folder, 'report.html');
    writeFileSync(file, writePage(data));
    const url = pathToFileURL(file).href;
    complaints = [];
    page = await browser.newPage({ viewport: { width, height: 900 } });
    page.on('request', (request) => {
      if (request.url() !== url) complaints.push(`request: ${request.url().slice(0, 100)}`);
    });
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    await page.goto(url);
  }

  const panel = (title: string): Locator => page.getByRole('region', { name: title, exact: true });
  const plot = (title: string): Locator => panel(title).locator('svg.plot');
  const select = (label: string): Locator => page.getByRole('combobox', { name: label });
  const row = (title: string, name: string): Locator =>
    panel(title)
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name, exact: true }) });
  const cells = (title: string, name: string): Promise<string[]> =>
    row(title, name).getByRole('cell').allTextContents();

  /** Those that can be seen: a mark without an extent would be drawn, and missed by nobody but the reader. */
  async function visible(marks: Locator): Promise<number> {
    const boxes = await Promise.all((await marks.all()).map((mark) => mark.boundingBox()));
    return boxes.filter((box) => box && box.width + box.height > 1).length;
  }

  it('explains its words, and says that it holds tool outputs', async () => {
    await open();
    const words = page.getByRole('region', { name: 'Words' });
    expect(await words.locator('dt').allTextContents()).toEqual(
      expect.arrayContaining(['epoch', 'miss', 'anthropic-5m']),
    );
    expect(await page.locator('footer').textContent()).toContain('beginnings of tool outputs');
  });

  it('draws every plot', async () => {
    await open();
    await plot('Epochs').waitFor();
    const { policies, runs } = sample.result;
    expect(await visible(plot('Cost by policy').locator('g[aria-label=rect] > *'))).toBe(policies.length);
    const dots = plot('Change of cost run by run').locator('g[aria-label=dot]').first().locator('circle');
    expect(await visible(dots)).toBe((policies.length - 1) * runs.length);
    expect(await visible(plot('Context size').locator('g[aria-label=line] > path'))).toBe(policies.length);
    const epochs = Object.entries(longest?.schedules ?? {}).filter(([name]) => !/@ (?!anthropic)/.test(name));
    const strokes = plot('Epochs').locator('g[aria-label=rule] > line[aria-label]');
    expect(await visible(strokes)).toBe(epochs.reduce((sum, [, schedule]) => sum + schedule.epochs.length, 0));
  });

  it('shows dollars, recalls, what was inferred from the logs, and what to do next', async () => {
    const [price = ''] = sample.result.prices;
    const priced = Object.entries(sample.result.total).map(([name, total]) => [
      name,
      { ...total, savingWithRecalls: { [price]: -0.07 }, dollars: { [price]: 29.8 } },
    ]);
    const result: ReplayPage['result'] = {
      ...sample.result,
      total: Object.fromEntries(priced),
      inferred: { runs: 7, requests: 100, countedTokens: 67.5e6, replayedTokens: 67e6, hiddenTokens: 3e6 },
      dollars: { policy: 'break-even', before: 41.2, after: 29.8, runs: 8, days: 14 },
      next: { command: 'palimpsest run -- claude', dollarsPerMonth: 24.43 },
    };
    await open({ ...sample, result });
    await page.getByText('Input with break-even: $41.20 → $29.80 (−28 %) over 14 days, 8 sessions.').waitFor();
    await page.getByText("Inferred from the provider's usage in 7 of 8 runs: 3.0M of 67.0M tokens").waitFor();
    await page.getByText('Next: palimpsest run -- claude (would save about $24.43 a month)').waitFor();
    const shown = (await cells('Totals', 'break-even')).map((cell) => cell.replaceAll('\u202f', ' '));
    expect(shown.slice(2, 4)).toEqual(['−7 %', '$29.80']);
  });

  it('gives each policy one colour, and no two the same', async () => {
    await open();
    await plot('Context size').waitFor();
    const bars = plot('Cost by policy').locator('g[aria-label=rect] > *');
    const colours = await Promise.all((await bars.all()).map((bar) => bar.getAttribute('fill')));
    expect(new Set(colours).size).toBe(sample.result.policies.length);
    const line = plot('Context size').locator('path[aria-label="sliding-window"]');
    expect(await line.getAttribute('stroke')).toBe(colours[1]);
  });

  it('shows other costs at another price list', async () => {
    await open();
    const before = await cells('Totals', 'sliding-window');
    const bar = plot('Cost by policy').locator('[aria-label="sliding-window"]');
    const width = (await bar.boundingBox())?.width ?? 0;
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('at anthropic-5m prices');

    await select('Price list').selectOption('no cache');
    await expect.poll(() => cells('Totals', 'sliding-window')).not.toEqual(before);
    const [cost, change] = await cells('Totals', 'sliding-window');
    expect([cost, change]).toEqual([expect.stringMatching(/^[\d.,]+[kM]$/), expect.stringMatching(/^−\d+\u202f%$/)]);
    await expect.poll(async () => (await bar.boundingBox())?.width ?? 0).toBeLessThan(width - 20);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('without a prompt cache');

    await page.getByRole('button', { name: 'anthropic-5m' }).click();
    await expect.poll(() => cells('Totals', 'sliding-window')).toEqual(before);
  });

  it('shows what another policy does', async () => {
    await open();
    const name = '…/project-1/session-7919.jsonl';
    const before = await cells('Runs', name);
    await select('Policy').selectOption('none');
    await expect.poll(() => cells('Runs', name)).not.toEqual(before);
    expect(await panel('Masked results').textContent()).toContain('none masks nothing in this run.');

    await page.getByRole('button', { name: 'polling:turns=10,every=5' }).click();
    await expect.poll(() => panel('Masked results').textContent()).toContain('With polling:turns=10,every=5');
    expect(await select('Policy').locator('option:checked').textContent()).toBe('polling:turns=10,every=5');
  });

  it('shows another run, chosen with the keyboard', async () => {
    await open();
    await plot('Context size').waitFor();
    expect(await page.locator('.path').textContent()).toBe(sample.result.runs[longest?.run ?? 0]?.file);
    const line = plot('Context size').locator('path[aria-label="none"]');
    const before = await line.getAttribute('d');
    await panel('Runs').getByRole('button', { name: '…/project-5/session-39595.jsonl' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => line.getAttribute('d')).not.toBe(before);
    expect(await select('Run').locator('option:checked').textContent()).toBe('…/project-5/session-39595.jsonl');
    expect(await row('Runs', '…/project-5/session-39595.jsonl').getAttribute('aria-current')).toBe('true');
  });

  it('shows the run of a dot that is clicked, and its name before', async () => {
    await open();
    const dots = plot('Change of cost run by run').locator('g[aria-label=dot]').first().locator('circle');
    const chosen = dots.nth(3);
    const name = (await chosen.getAttribute('aria-label')) ?? '';
    await chosen.hover({ force: true });
    await expect.poll(() => plot('Change of cost run by run').textContent()).toContain(name);
    await chosen.click({ force: true });
    await expect.poll(() => select('Run').locator('option:checked').textContent()).toBe(name);
  });

  it('sorts the runs', async () => {
    await open();
    const heading = panel('Runs').getByRole('columnheader', { name: 'Turns' });
    const turns = async (): Promise<number[]> =>
      (await panel('Runs').locator('tbody tr td:nth-child(3)').allTextContents()).map(Number);
    const given = sample.result.runs.map((run) => run.turns);
    expect(await turns()).toEqual(given);
    await heading.getByRole('button').click();
    await expect.poll(turns).toEqual(given.toSorted((a, b) => b - a));
    expect(await heading.getAttribute('aria-sort')).toBe('descending');
    await heading.getByRole('button').click();
    await expect.poll(turns).toEqual(given.toSorted((a, b) => a - b));
  });

  it('opens a masked result beside its placeholder, and takes no text for markup', async () => {
    await open();
    const [first] = longest?.schedules['break-even @ anthropic-5m']?.masked ?? [];
    await panel('Masked results').locator('summary').first().click();
    const sent = page.getByRole('region', { name: 'Sent instead' }).first();
    const original = page.getByRole('region', { name: 'Original, its beginning' }).first();
    expect(await sent.locator('pre').textContent()).toBe(first?.placeholder);
    expect(await original.locator('pre').textContent()).toBe(`${HOSTILE}\nsecond line`);
    expect(await original.isVisible()).toBe(true);

    await panel('Runs').getByRole('button', { name: '</script>' }).click();
    await expect.poll(() => select('Run').locator('option:checked').textContent()).toBe(hostileName);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Palimpsest replay');
  });

  it('fits a phone: only tables scroll sideways', async () => {
    await open(sample, 390);
    await plot('Epochs').waitFor();
    await panel('Masked results').locator('summary').first().click();
    await page.getByText('1 file skipped').click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    const plots = await page.locator('svg.plot').all();
    expect(plots).toHaveLength(4);
    for (const svg of plots) expect((await svg.boundingBox())?.width).toBeLessThan(390);
  });

  it('says so where there is nothing to show', async () => {
    await open({ result: { ...sample.result, runs: [], total: {} }, details: [] });
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('No runs to replay');
    await page.close();
    await open({ ...sample, details: [] });
    const missing = 'The page holds the requests of 0 runs, and not of this one.';
    expect(await panel('Context size').textContent()).toContain(missing);
    expect(await panel('Masked results').textContent()).toContain('The page was written without them.');
  });
});
