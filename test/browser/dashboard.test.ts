import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isAbsent, launchChromium, REASON } from '../support/browser/chromium.ts';
import { type SampleGateway, startSampleGateway } from '../support/browser/sample-gateway.ts';
import { ensureBuilt } from '../support/modules.ts';

/** Would run if any of it were taken for markup. */
const HOSTILE = [
  '<script>document.title = "taken over"</script>',
  '<img src=x onerror="document.title=\'taken over\'">',
  '"><svg onload="document.title=\'taken over\'"> &lt;b&gt; \u202e javascript:alert(1)',
].join('\n');

/** For a whole build, on a machine that has other work. */
const BUILD_MS = 120_000;
const WIDE = { width: 1360, height: 900 };
const PHONE = { width: 390, height: 844 };
const PARSER = { task: 'Fix the parser so that nested quotes survive', requests: 95 };

describe.skipIf(isAbsent)(`the dashboard in Chromium${REASON}`, () => {
  let browser: Browser;
  let gateway: SampleGateway;
  let page: Page;
  /** Errors, warnings, violations of the page's policy and requests to elsewhere: there must be none. */
  let complaints: string[];

  beforeAll(async () => {
    await ensureBuilt();
    browser = await launchChromium();
  }, BUILD_MS);

  beforeEach(async () => {
    gateway = await startSampleGateway();
    complaints = [];
  });

  afterEach(async () => {
    expect(await page.title()).toBe('Palimpsest gateway');
    await page.context().close();
    await gateway.close();
    expect(complaints).toEqual([]);
  });

  afterAll(() => browser?.close());

  async function open(options: BrowserContextOptions = {}, fragment = `#token=${gateway.token}`): Promise<void> {
    const context = await browser.newContext({ viewport: WIDE, ...options });
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => console.error('violation: ' + event.violatedDirective))",
    );
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(gateway.page) && !url.startsWith('data:')) complaints.push(`request: ${url.slice(0, 100)}`);
    });
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    await page.goto(gateway.page + fragment);
  }

  const list = (): Locator => page.getByRole('navigation', { name: 'Conversations' });
  const items = (): Locator => list().getByRole('link');
  const panel = (title: string): Locator => page.getByRole('region', { name: title, exact: true });
  const search = (): Locator => page.getByRole('searchbox');
  const heading = (): Locator => page.locator('article h2');
  const state = (): Locator => page.locator('.connection');
  const requestsShown = (): Promise<string | null> => panel('Since the gateway started').textContent();

  const oldestMask = (): Locator => panel('Masked results').locator('details').last();

  async function showAllMasks(): Promise<void> {
    await panel('Masked results').locator('details').first().waitFor();
    const more = panel('Masked results').getByRole('button', { name: 'more of' });
    while ((await more.count()) > 0) await more.click();
  }

  it('says what to type while there is nothing to see', async () => {
    await open();
    const welcome = panel('No conversation yet');
    await welcome.waitFor();
    const address = gateway.page.replace('/_palimpsest/', '');
    expect(await welcome.locator('.to-type code').allTextContents()).toEqual([
      `export ANTHROPIC_BASE_URL=${address}`,
      `export OPENAI_BASE_URL=${address}/v1`,
      `export GOOGLE_GEMINI_BASE_URL=${address}`,
    ]);
    await look('empty');
  });

  it('shows conversations as they come, without a reload', async () => {
    await open();
    await panel('No conversation yet').waitFor();
    await gateway.play({ task: 'Write a changelog', requests: 3 });
    await until(() => items().count()).toBe(1);
    await gateway.play(PARSER);
    await until(() => items().count()).toBe(2);
    expect(await items().first().textContent()).toContain(PARSER.task);
    await until(() => items().last().textContent()).toContain('3 requests');

    await gateway.play({ task: 'Write a changelog', requests: 9 });
    await until(() => items().last().textContent()).toContain('9 requests');
    await until(requestsShown).toContain('in 2 conversations');
    expect(await heading().textContent()).toBe('Write a changelog');
    const rows = panel('Requests').locator('tbody tr');
    await until(() => rows.count()).toBe(9);
    // The ids that the agent gave its requests, as in its answers, the log and the spans.
    const ids = await rows.locator('code').allTextContents();
    expect(ids.toSorted()).toEqual(Array.from({ length: 9 }, (_, i) => `request-${i + 1}`));
  });

  it('takes the token out of the address and keeps it for a reload', async () => {
    await gateway.play(PARSER);
    await open();
    await heading().waitFor();
    expect(page.url()).not.toContain(gateway.token);
    await page.reload();
    await heading().waitFor();
    expect(await heading().textContent()).toBe(PARSER.task);
  });

  it('tells what a conversation cost, against what, and why the gateway did what it did', async () => {
    await gateway.play({ task: 'Write a changelog', requests: 8, agoMs: 9_000_000 });
    await gateway.play({ task: 'Kept by the provider', requests: 4, isManagedElsewhere: true, agoMs: 300_000 });
    await gateway.play(PARSER);
    await open();
    await heading().waitFor();
    const summary = await page.locator('.summary').textContent();
    expect(summary).toMatch(
      /−\d+\u202f% input cost: \$\d+\.\d\d instead of \$\d+\.\d\d \(an estimate\)\$\d+\.\d\d billed for 95 requests/,
    );
    expect(summary).toMatch(
      /95 requests sent [\d,.]+[kM] of [\d,.]+[kM] tokens · [1-9]\d* results masked in [1-9]\d* epochs?/,
    );
    expect(await panel('Last decision').textContent()).toMatch(
      /request 95.*masking now would cost more than it saves \(waiting has cost [\d.]+k? tokens, masking costs [\d.]+k?\)/,
    );
    expect(await panel('Last decision').locator('.progress-bar').count()).toBe(1);
    const epochs = panel('Epochs').getByRole('listitem');
    expect(await epochs.first().textContent()).toMatch(
      /Epoch \d+request \d+, .*masking is worth its cost.*\d+ results of \d+k tokens masked/s,
    );

    const plot = panel('Context').locator('svg.plot');
    await plot.waitFor();
    const lines = await plot.locator('g[aria-label=line] > path').all();
    const boxes = await Promise.all(lines.map((line) => line.boundingBox()));
    // What would have been sent rises above what was.
    expect(boxes).toHaveLength(2);
    expect(boxes[0]?.height).toBeGreaterThan((boxes[1]?.height ?? 0) * 1.2);
    expect(await plot.locator('g[aria-label=rule] > line').count()).toBeGreaterThanOrEqual(await epochs.count());
    await look('light');
  });

  it('opens a mask: the placeholder beside the original, which is only then asked for', async () => {
    await gateway.play({ ...PARSER, output: (turn) => `${HOSTILE}\nturn ${turn}\n${'line\n'.repeat(200)}end ${turn}` });
    const asked: string[] = [];
    await open();
    page.on('request', (request) => asked.push(request.url()));
    const line = oldestMask();
    await showAllMasks();
    expect(asked.filter((url) => url.includes('/masked/'))).toEqual([]);
    await line.locator('summary').click();
    const original = line.getByRole('region', { name: 'Original' });
    const sent = line.getByRole('region', { name: 'Sent instead' });
    await until(() => original.locator('pre').textContent()).toContain('end 1');
    const text = `${HOSTILE}\nturn 1\n${'line\n'.repeat(200)}end 1`;
    expect(await original.locator('pre').textContent()).toBe(text);
    expect(await original.locator('pre > *').count()).toBe(0);
    expect(await sent.locator('pre').textContent()).toMatch(/^\[\w+ .* masked · recall p_\w{26}\]$/);
    await look('mask');
    expect(await page.locator('img, svg:not(.plot, .plot *)').count()).toBe(0);
    expect(asked.filter((url) => url.includes('/masked/'))).toHaveLength(1);
  });

  it('recalls the first lines, the last ones, and those between', async () => {
    await gateway.play({
      ...PARSER,
      output: (turn) =>
        lines(300)
          .map((line) => `turn ${turn} line ${line}`)
          .join('\n'),
    });
    await open();
    await showAllMasks();
    const line = oldestMask();
    await line.locator('summary').click();
    const text = (): Promise<string | null> => line.locator('.recalled pre').textContent();
    const show = line.getByRole('combobox', { name: 'Show' });
    await show.selectOption('its first lines');
    await until(text).toBe(
      lines(40)
        .map((n) => `turn 1 line ${n}\n`)
        .join(''),
    );
    await show.selectOption('its last lines');
    await line.getByRole('spinbutton', { name: 'How many lines' }).fill('2');
    await page.keyboard.press('Enter');
    await until(text).toBe('turn 1 line 299\nturn 1 line 300');
    await show.selectOption('lines');
    await line.getByRole('spinbutton', { name: 'From line' }).fill('10');
    await line.getByRole('spinbutton', { name: 'To line' }).fill('11');
    await page.keyboard.press('Tab');
    await until(text).toBe('turn 1 line 10\nturn 1 line 11\n');
    expect(await line.locator('.recalled').textContent()).toContain('A part of 300 lines');
    await show.selectOption('the whole text');
    await until(async () => (await text())?.split('\n').length).toBe(300);
  });

  it('searches all that was masked, and shows where it stands', async () => {
    await gateway.play({ ...PARSER, output: (turn) => `${HOSTILE}\n${outputWithNeedle(turn)}` });
    await gateway.play({ task: 'Another one', requests: 60, output: (turn) => outputWithNeedle(turn + 100) });
    await open();
    await heading().waitFor();
    await search().fill('needle7;');
    const hit = page.locator('.hit').first();
    await hit.waitFor();
    expect(await page.locator('.hit').count()).toBe(1);
    expect(await hit.locator('mark').allTextContents()).toEqual(['NEEDLE7;']);
    await hit.locator('summary').click();
    await until(() => hit.locator('pre mark').textContent()).toContain('NEEDLE7;');
    expect(await page.locator('.hit .hit-line').textContent()).toBe('54');
    await look('search');

    await search().fill('onerror=');
    await until(() => page.locator('.search-bar').textContent()).toMatch(/\d+ lines in \d+ texts/);
    await page.locator('.hit summary').first().click();
    await page.locator('.hit pre').first().waitFor();
    expect(await page.locator('img').count()).toBe(0);

    await search().fill('NEEDLE1\\d\\d;');
    await until(() => page.locator('.pane').textContent()).toContain('No masked text matches.');
    await page.getByRole('combobox', { name: 'For' }).selectOption('a pattern');
    await until(() => page.locator('.hit').count()).toBeGreaterThan(5);
    await page.getByRole('combobox', { name: 'Where' }).selectOption('this one');
    await until(() => heading().count()).toBe(0);
  });

  it('recalls a handle that is pasted into the search', async () => {
    await gateway.play({ ...PARSER, output: (turn) => `only ${turn}\n${'x'.repeat(4000)}` });
    await open();
    await showAllMasks();
    const placeholder = await oldestMask().locator('.masked-placeholder').textContent();
    const handle = /p_\w{26}/.exec(placeholder ?? '')?.[0] ?? '';
    await search().fill(handle);
    const recalled = panel(`Recalled ${handle}`);
    await until(() => recalled.locator('pre').textContent()).toContain('only 1\n');
  });

  it('works with the keyboard alone', async () => {
    for (const task of ['First', 'Second', 'Third']) await gateway.play({ task, requests: 40 });
    await open();
    await heading().waitFor();
    const focused = (): Promise<string> =>
      page.evaluate('document.activeElement.matches("body") ? "" : document.activeElement.textContent');
    for (let press = 0; press < 9 && !(await focused()).includes('Third'); press++) await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toContain('First');
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).toBe('solid');
    await page.keyboard.press('Enter');
    await until(() => heading().textContent()).toBe('First');
    expect(await items().last().getAttribute('aria-current')).toBe('true');
    await page.keyboard.press('Home');
    expect(await focused()).toContain('Third');

    await page.keyboard.press('/');
    await page.keyboard.type('value3_1 ');
    await page.locator('.hit').first().waitFor();
    await page.keyboard.press('Escape');
    await until(() => page.locator('.hit').count()).toBe(0);
    await until(focused).toContain('First');

    await panel('Masked results').locator('summary').first().focus();
    await page.keyboard.press('Enter');
    const original = panel('Original').locator('pre');
    await original.waitFor();
    await original.focus();
    await page.keyboard.press('Escape');
    await until(() => panel('Original').count()).toBe(0);
    expect(await focused()).toContain('Turn');

    await page.getByRole('button', { name: 'Settings' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await until(() => page.getByRole('dialog').count()).toBe(0);
    expect(await focused()).toBe('Settings');
  });

  it('shows dollars where the price is known, tokens elsewhere, and says which is which', async () => {
    await gateway.close();
    gateway = await startSampleGateway({ modelPrices: { 'claude-haiku-*': 'subscription' } });
    await gateway.play({ task: 'Under a subscription', requests: 3, model: 'claude-haiku-4-5' });
    await gateway.play({ task: 'Without a price', requests: 4, model: 'claude-of-my-own' });
    await gateway.play(PARSER);
    await open();
    await until(requestsShown).toMatch(
      /Spent\$\d+\.\d\d\$[\d.]+ billed for 95 of 102 requests; 4 requests have no known price; 3 requests are paid by subscription/,
    );
    expect(await requestsShown()).toMatch(/Saved\$\d+\.\d\dan estimate: input would have cost \$[\d.]+, not \$[\d.]+/);
    expect(await items().allTextContents()).toEqual([
      expect.stringMatching(/claude-sonnet-5 · 95 requests.*\$\d+\.\d\d, saved \$\d+\.\d\d$/),
      expect.stringMatching(/claude-of-my-own · 4 requests[^$]*$/),
      expect.stringMatching(/claude-haiku-4-5 · 3 requests[^$]*$/),
    ]);
    const summary = page.locator('.summary');
    await until(() => summary.textContent()).toMatch(
      /input cost: \$[\d.]+ instead of \$[\d.]+.*billed for 95 requests, answers included/,
    );
    const [newest] = await panel('Requests').locator('tbody tr').allTextContents();
    expect(newest).toMatch(/\$0\.\d+/);
    await look('money');
    await items().nth(1).click();
    await until(() => summary.textContent()).toMatch(/in tokens at the base price.*4 requests have no known price\./);
    await look('money-unpriced');
    await items().nth(2).click();
    await until(() => summary.textContent()).toMatch(
      /Paid by subscription\. The last request had \S+ tokens, \d+.% of the context window of 200k/,
    );
    await look('money-subscription');
  });

  it('opens the report beside an open conversation, and goes back', async () => {
    await gateway.play({ task: 'One', requests: 2 });
    await open();
    await until(() => heading().count()).toBe(1);
    await page.getByRole('link', { name: 'Report' }).click();
    await panel('Report').waitFor();
    await page.waitForTimeout(300);
    expect(new URL(page.url()).hash).toBe('#/report');
    await page.getByRole('link', { name: 'Conversations' }).click();
    await until(() => heading().textContent()).toBe('One');
  });

  it('keeps the reasons of requests on a few lines', async () => {
    await gateway.play(PARSER);
    await open();
    const row = panel('Requests').locator('tbody tr').first();
    await row.waitFor();
    expect((await row.boundingBox())?.height).toBeLessThan(60);
  });

  it('shows the settings in force', async () => {
    await gateway.close();
    gateway = await startSampleGateway({ holdout: 0.4 });
    await gateway.play({ task: 'One', requests: 2 });
    await open();
    await page.getByRole('button', { name: 'Settings' }).click();
    const facts = await page.getByRole('dialog').locator('.pairs > div').allTextContents();
    expect(facts).toEqual(expect.arrayContaining(['policybreak-even', 'signed thinkingopt-in', 'storememory']));
    expect(facts.map((fact) => fact.replace('\u202f', ' '))).toContain('holdout40 %');
    expect(facts.filter((fact) => /^upstream anthropichttps?:/.test(fact))).toHaveLength(1);
    await look('settings');
  });

  it('says when the line is lost, and shows what it missed when it is back', async () => {
    await gateway.play({ task: 'One', requests: 2 });
    await open();
    await until(() => state().textContent()).toBe('Live');
    await gateway.stop();
    await until(() => state().textContent()).toMatch(
      /^The gateway (?:does not answer|ended the connection)next try in/,
    );
    await look('lost');
    await gateway.play({ task: 'One', requests: 5 });
    await gateway.play({ task: 'Two', requests: 5 });
    await gateway.start();
    await until(() => state().textContent()).toBe('Live');
    await until(() => items().count()).toBe(2);
    await until(() => page.locator('.summary').textContent()).toContain('5 requests');
    await gateway.stop();
    await gateway.start();
    await page.getByRole('button', { name: 'Try now' }).click();
    await until(() => state().textContent()).toBe('Live');
    await gateway.play({ task: 'One', requests: 6 });
    await until(() => page.locator('.summary').textContent()).toContain('6 requests');
    // The browser itself says that it could not connect.
    complaints = complaints.filter((text) => !/net::ERR_(?:CONNECTION|INCOMPLETE|EMPTY)/.test(text));
  });

  it('asks for a token where there is none, and again where it is wrong', async () => {
    await gateway.play({ task: 'One', requests: 2 });
    await open({}, '');
    const field = page.getByRole('textbox', { name: 'Link or token' });
    await field.fill('no token here');
    await page.keyboard.press('Enter');
    await until(() => page.getByRole('status').textContent()).toContain('There is no token in this');
    await field.fill('wrong-token');
    await page.keyboard.press('Enter');
    await until(() => page.getByRole('status').textContent()).toContain('does not know this token');
    await look('token');
    await field.fill(`${gateway.page}#token=${gateway.token}`);
    await page.keyboard.press('Enter');
    await heading().waitFor();
    complaints = complaints.filter((text) => !text.includes('401'));
  });

  it.each([
    ['shadow', { shadow: true }, 'in shadow'],
    ['held out', { holdout: 1 }, 'held out for comparison'],
  ])('says that a session is sent unchanged, and claims no mask (%s)', async (name, options, why) => {
    await gateway.close();
    gateway = await startSampleGateway(options);
    await gateway.play({ ...PARSER, requests: 60 });
    await open();
    await heading().waitFor();
    await until(() => items().first().textContent()).toContain(name);
    const all = `${await page.locator('main').textContent()}`;
    expect(all).toMatch(
      new RegExp(`sent unchanged, because the session is ${why}: masks would have left out [\\d,]+k tokens`),
    );
    expect(all).toContain('would mask');
    expect(all).toContain('None: every request was sent unchanged.');
    expect(all).toContain('60 requests were sent unchanged, held out or in shadow');
    expect(all).not.toMatch(/results? masked in|Epoch \d/);
    await look(`sent-unchanged-${name.replace(' ', '-')}`);
  });

  it('says why the gateway edits nothing', async () => {
    await gateway.play({ task: 'Kept by the provider', requests: 4, isManagedElsewhere: true });
    await open();
    await heading().waitFor();
    expect(await items().first().textContent()).toContain('waits');
    expect(await panel('Last decision').textContent()).toContain('the provider was asked to manage the context itself');
    expect(await panel('Masked results').textContent()).toContain('Nothing is masked in this conversation.');
  });

  it('fits a phone: the list, then a conversation in its place, and only tables scroll sideways', async () => {
    await gateway.play({ ...PARSER, output: (turn) => `${turn}${'unbroken'.repeat(800)}` });
    await gateway.play({
      task: 'x'.repeat(80),
      requests: 3,
      model: 'claude-opus-5-with-a-very-long-name-indeed-20261115',
    });
    await open({ viewport: PHONE, hasTouch: true, isMobile: true });
    await items().first().waitFor();
    expect(await sidewaysOf(page)).toBe(PHONE.width);
    expect(await heading().count()).toBe(0);
    await look('phone-list');
    await items().last().tap();
    await heading().waitFor();
    await until(() => list().isVisible()).toBe(false);
    await panel('Cost so far').locator('svg.plot').waitFor();
    await panel('Masked results').locator('summary').first().tap();
    await panel('Original').locator('pre').waitFor();
    expect(await sidewaysOf(page)).toBe(PHONE.width);
    await look('phone');
    await search().fill('unbroken');
    await page.locator('.hit').first().waitFor();
    await page.locator('.hit summary').first().tap();
    await page.locator('.hit pre').first().waitFor();
    expect(await sidewaysOf(page)).toBe(PHONE.width);
    await page.getByRole('button', { name: 'Close search' }).tap();
    await page.getByRole('link', { name: 'All conversations' }).tap();
    await until(() => list().isVisible()).toBe(true);
    await until(() => heading().count()).toBe(0);
  });

  it('is dark where the reader’s system is, and keeps still where motion is not wanted', async () => {
    await gateway.play({ task: 'Rename the option everywhere', requests: 12, model: 'claude-haiku-5', agoMs: 400_000 });
    await gateway.play(PARSER);
    await open({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await panel('Context').locator('svg.plot').waitFor();
    const redOf = async (property: string): Promise<number> =>
      Number(/\d+/.exec(await page.evaluate(`getComputedStyle(document.body).${property}`))?.[0]);
    expect(await redOf('backgroundColor')).toBeLessThan(60);
    expect(await redOf('color')).toBeGreaterThan(200);
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await look('dark');
  });

  it('has a name for every field, button and picture', async () => {
    await gateway.play(PARSER);
    await open();
    await panel('Context').locator('svg.plot').waitFor();
    await panel('Masked results').locator('summary').first().click();
    await panel('Original').locator('pre').waitFor();
    for (const role of ['button', 'link', 'combobox', 'searchbox', 'img', 'article', 'navigation'] as const) {
      const all = await page.getByRole(role).count();
      expect(all).toBeGreaterThan(0);
      expect(await page.getByRole(role, { name: /\S/ }).count()).toBe(all);
    }
  });

  /** For a person to look at: `PALIMPSEST_SCREENSHOTS=folder`. */
  async function look(name: string): Promise<void> {
    const folder = process.env.PALIMPSEST_SCREENSHOTS;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }
});

/** Long enough for a machine that has other work. */
const until = <T>(get: () => Promise<T>) => expect.poll(get, { timeout: 20_000 });

const sidewaysOf = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth');

const lines = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

const outputWithNeedle = (turn: number): string =>
  lines(100)
    .map((line) => (line === 51 ? `const here = NEEDLE${turn};` : `  const filler = ${turn * 1000 + line}`))
    .join('\n');
