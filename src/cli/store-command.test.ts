import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../store/open-store.ts';
import { palimpsest } from './memory-io.test-data.ts';
import { storeHelp } from './store-command.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-store-cli-'));
let handle = '';

beforeAll(async () => {
  const store = await openStore({ path, mode: 'write' });
  handle = await store.put('a text of the first session', { session: 'first', turn: 1, tool: 'bash' });
  await store.put('x'.repeat(100_000), { session: 'second', turn: 1, tool: 'bash' });
  await store.putTurn({ session: 'first', turn: 1, reasoning: 'r', action: 'a', observation: 'o', masked: true });
  await store.close();
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

const store = (...args: string[]) => palimpsest(['store', ...args, '--store', path]);

describe('palimpsest store', () => {
  it('stats reads at a glance', async () => {
    const { code, stdout, stderr } = await store('stats');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      `store    ${path} (embedded)\nholds    2 texts of 2 sessions, 1 turn\ntext     100.0 KB\n`,
    );
    expect(stdout).toMatch(/^on disk {2}[\d.]+ KB, [\d.]+ times the text$/m);
  });

  it('stats --json says the same to programs', async () => {
    const { stdout } = await store('stats', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      path,
      kind: 'embedded',
      texts: 2,
      sessions: 2,
      turns: 1,
      textBytes: 100_027,
    });
  });

  it('verify is content with a sound store', async () => {
    expect(await store('verify')).toEqual({
      code: 0,
      stdout: `${path}: everything is as it was written\n`,
      stderr: '',
    });
    expect(JSON.parse((await store('verify', '--json')).stdout)).toEqual({ path, problems: [] });
  });

  it('export writes one object a line', async () => {
    const { code, stdout } = await store('export');
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([code, records.length]).toEqual([0, 3]);
    expect(records).toContainEqual(expect.objectContaining({ handle, text: 'a text of the first session' }));
    expect(records).toContainEqual(expect.objectContaining({ session: 'first', turn: 1, observation: 'o' }));
  });

  it('gc frees what was deleted', async () => {
    const writer = await openStore({ path, mode: 'write' });
    await writer.delete('second');
    await writer.close();
    const { code, stdout } = await store('gc', '--force');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^(?:freed .*, removed \d+ texts?|nothing to free)\n$/);
    expect(JSON.parse((await store('gc', '--json')).stdout)).toMatchObject({ freedBytes: 0 });
    expect((await store('stats')).stdout).toContain('1 text of 1 session');
  });

  it('reads while another process writes, and says who does where it cannot', async () => {
    const writer = await openStore({ path, mode: 'write' });
    try {
      expect((await store('stats')).code).toBe(0);
      const { code, stderr } = await store('gc');
      expect(code).toBe(1);
      expect(stderr).toContain(String(process.pid));
    } finally {
      await writer.close();
    }
  });

  it('verify tells what is damaged until gc --repair gives it up', async () => {
    const damaged = mkdtempSync(join(path, 'damaged-'));
    const writer = await openStore({ path: damaged, mode: 'write' });
    for (let turn = 0; turn < 5; turn++) await writer.put(`${turn}`.repeat(10_000), { session: 'a', turn });
    await writer.close();
    damageLog(damaged);
    const at = (...args: string[]) => palimpsest(['store', ...args, '--store', damaged]);
    const { code, stdout } = await at('verify');
    expect([code, stdout.split('\n')[0]]).toEqual([1, `${damaged}: 1 problem`]);
    const found = await at('verify', '--json');
    expect([found.code, JSON.parse(found.stdout).problems.length]).toEqual([1, 1]);
    expect(await at('gc', '--repair')).toMatchObject({ code: 0, stdout: expect.stringContaining('gave up 1 damaged') });
    expect((await at('verify')).code).toBe(0);
  });

  /** Flips a bit in the middle of the largest file. */
  function damageLog(folder: string): void {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((file) => file.endsWith('.log'));
    const [log = ''] = files.sort((a, b) => statSync(b).size - statSync(a).size);
    const bytes = readFileSync(log);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(log, bytes);
  }

  it.each<[string[], string]>([
    [[], 'expected one of stats, verify, gc, export'],
    [['list'], 'expected one of stats, verify, gc, export'],
    [['toString'], 'expected one of'],
    [['stats', 'verify'], 'expected one of'],
    [['stats', '--repair'], 'belong to gc'],
    [['verify', '--force'], 'belong to gc'],
    [['gc', '--repare'], 'did you mean --repair?'],
  ])('%j is called wrongly', async (args, said) => {
    const { code, stdout, stderr } = await store(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
  });

  it.each(['stats', 'verify', 'export', 'gc'])('%s tells a store that is not there, and makes none', async (action) => {
    const gone = join(path, 'gone');
    const { code, stderr } = await palimpsest(['store', action, '--store', gone]);
    expect([code, stderr]).toEqual([
      1,
      `palimpsest store: there is no store at ${gone}; name yours with --store or $PALIMPSEST_STORE\n`,
    ]);
    expect(existsSync(gone)).toBe(false);
  });

  it('--help fits a screen', async () => {
    expect(await palimpsest(['store', '--help'])).toEqual({ code: 0, stdout: storeHelp, stderr: '' });
    for (const line of storeHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(storeHelp.split('\n').length).toBeLessThanOrEqual(36);
  });
});
