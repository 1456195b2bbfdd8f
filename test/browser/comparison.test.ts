import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { writeReportPage } from '../../src/cli/write-report-page.ts';
import { createGateway, type Gateway } from '../../src/gateway/index.ts';
import { buildReport } from '../../src/report/build-report.ts';
import type { RequestRecord } from '../../src/report/request-record.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { isAbsent, launchChromium, REASON } from '../support/browser/chromium.ts';
import { ensureBuilt } from '../support/modules.ts';
import { dollarsOf, type Effect, lengths, simulateTraffic } from '../support/simulated-traffic.ts';

const BUILD_MS = 120_000;
/** A report of many records, on a machine that has other work. */
const SLOW = { timeout: 20_000 };
const DAY_MS = 86_400_000;
const TOKEN = 'sample-token-0123456789';
const START = Date.now() - 20 * DAY_MS;

interface Traffic {
  readonly sessions: number;
  readonly holdout: number;
  readonly effect?: Partial<Effect>;
}

const traffic = ({ sessions, holdout, effect }: Traffic): RequestRecord[] =>
  simulateTraffic({
    ...{
      seed: 7,
      sessions,
      holdout,
      at: START,
      everyMs: Math.floor((19 * DAY_MS) / sessions),
      lengths: lengths.lognormal,
    },
    effect: { hides: 0.5, lengthens: 1, harms: 0, ...effect },
  });

describe.skipIf(isAbsent)(`the comparison of arms in Chromium${REASON}`, () => {
  let browser: Browser;
  let page: Page;
  let folder: string;
  let complaints: string[] = [];
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    await ensureBuilt();
    folder = mkdtempSync(join(tmpdir(), 'palimpsest-comparison-'));
    browser = await launchChromium();
  }, BUILD_MS);

  afterEach(async () => {
    await page.close();
    for (const close of closing.splice(0)) await close();
    expect(complaints).toEqual([]);
    complaints = [];
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function openPage(url: string, { width = 1360 } = {}): Promise<void> {
    const origin = url.replace(/#.*/, '');
    page = await browser.newPage({ viewport: { width, height: 900 } });
    page.setDefaultTimeout(20_000);
    page.on('request', (request) => {
      if (!request.url().startsWith(origin)) complaints.push(`request: ${request.url().slice(0, 100)}`);
    });
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    await page.goto(url);
  }

  /** The real gateway on a store that holds these records. */
  async function openDashboard(records: readonly RequestRecord[], options?: { width: number }): Promise<void> {
    const store = await openStore({ path: mkdtempSync(join(folder, 'store-')), mode: 'write' });
    await store.putRecords?.(records);
    const { url, close } = await serve(store);
    closing.push(close, () => store.close());
    await openPage(`${url}/_palimpsest/#token=${TOKEN}`, options);
    await page.getByRole('link', { name: 'Report' }).click();
  }

  async function openFile(
    records: readonly RequestRecord[],
    { isMoving = false, ...options }: { width?: number; isMoving?: boolean } = {},
  ): Promise<void> {
    const report = await buildReport(records, { range: { since: 0, until: START + 30 * DAY_MS, isMoving }, dollarsOf });
    const file = join(folder, 'report.html');
    writeFileSync(file, writeReportPage(report));
    await openPage(pathToFileURL(file).href, options);
  }

  const panel = (title: string): Locator => page.getByRole('region', { name: title, exact: true });
  const headline = (): Locator => page.locator('.verdict');
  const words = async (): Promise<string> => `${await headline().textContent()}`.replaceAll('\u00a0', ' ');

  async function shoot(name: string): Promise<void> {
    const shots = process.env.PALIMPSEST_SCREENSHOTS;
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
  }

  it('the dashboard says what was saved, in money, with drawn intervals', async () => {
    await openDashboard(traffic({ sessions: 1500, holdout: 0.1 }));
    await expect
      .poll(() => words(), SLOW)
      .toMatch(/^Saves \d+ % of input cost for the same work \([\d.]+ to \d+ %\); no sign of harm in 1,500 sessions/);
    expect(await panel('Input cost, as the provider billed it').textContent()).toMatch(/with masking1,3\d\d.*\$/);
    expect(await panel('Saved input cost').locator('svg.interval').count()).toBe(3);
    expect(await panel('Saved input cost').locator('svg.interval.good').count()).toBeGreaterThan(0);
    expect(await panel('Signs of harm').locator('svg.interval.bad').count()).toBe(0);
    expect(await panel('How far to trust it').textContent()).toContain('the true cost is known');
    await shoot('report-saves');
    await page.getByRole('combobox').selectOption({ label: 'last 7 days' });
    await expect.poll(() => page.locator('.comparison').textContent(), SLOW).toContain('for one look');
    await expect.poll(() => words(), SLOW).not.toContain('1,500');
    await page.getByRole('link', { name: 'Conversations' }).click();
    await expect.poll(() => page.getByText('No conversation yet').count(), SLOW).toBe(1);
  });

  it('the dashboard marks signs of harm', async () => {
    await openDashboard(traffic({ sessions: 2000, holdout: 0.1, effect: { lengthens: 1.6, harms: 0.1 } }));
    await expect.poll(() => words(), SLOW).toMatch(/^Harm seen in 2,000 sessions: requests in a typical session \+/);
    expect(await panel('Signs of harm').locator('svg.interval.bad').count()).toBeGreaterThan(1);
    await shoot('report-harm');
  });

  it('the dashboard says how to measure where nothing was held out', async () => {
    await openDashboard(traffic({ sessions: 60, holdout: 0 }));
    await expect.poll(() => words(), SLOW).toContain('This is not measured');
    expect(await page.locator('.comparison').textContent()).toContain('--holdout 10%');
    expect(await panel('Signs of harm').count()).toBe(0);
    await shoot('report-plain');
  });

  it('the dashboard has a report before the first session', async () => {
    await openDashboard([]);
    await expect.poll(() => words(), SLOW).toBe('No sessions to report on.');
  });

  it('on a phone, nothing is wider than the screen', async () => {
    await openDashboard(traffic({ sessions: 412, holdout: 0.1 }), { width: 390 });
    await headline().waitFor();
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    await shoot('report-phone');
    const saving = await panel('Saved input cost').locator('td.number').first().boundingBox();
    expect((saving?.x ?? 0) + (saving?.width ?? 1000)).toBeLessThanOrEqual(390);
    // Name, state and both buttons are one line.
    const tops = [page.getByRole('link', { name: 'Conversations' }), page.getByRole('button', { name: 'Settings' })];
    const [link, button] = await Promise.all(tops.map((one) => one.boundingBox()));
    expect(Math.abs((link?.y ?? 0) - (button?.y ?? 99))).toBeLessThan(10);
    expect(overflow).toBeLessThanOrEqual(0);
  });

  it('the file of --html claims daily looks for a fixed start only', async () => {
    const records = traffic({ sessions: 412, holdout: 0.1 });
    await openFile(records);
    expect(await page.locator('main').textContent()).toContain('however often you look');
    expect(await page.locator('main').textContent()).not.toContain('for one look');
    await page.close();
    await openFile(records, { isMoving: true });
    expect(await page.locator('main').textContent()).toContain('for one look');
    expect(await page.locator('main').textContent()).not.toMatch(/however often you look/);
  });

  it('the file of --html shows the same and loads nothing', async () => {
    await openFile(traffic({ sessions: 412, holdout: 0.1 }));
    expect(await words()).toMatch(/^Saves \d+ %/);
    expect(await panel('Saved input cost').locator('svg.interval').count()).toBe(1);
    expect(await panel('Signs of harm').getByRole('row').count()).toBe(9);
    await shoot('report-file');
  });
});

async function serve(store: Store): Promise<{ url: string; close(): Promise<void> }> {
  const gateway: Gateway = createGateway({ store, token: TOKEN, upstreams: { anthropic: 'http://127.0.0.1:9' } });
  const server: Server = createServer(gateway).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await gateway.close({ graceMs: 0 });
    },
  };
}
