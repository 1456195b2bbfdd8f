import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { palimpsest } from '../../../test/support/memory-io.ts';
import { openStore } from '../../store/open-store.ts';
import { help as storeHelp } from './store-command.ts';

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

  it.each(['stats', 'verify', 'export', 'gc'])('%s of a file says that it is no folder', async (action) => {
    const file = join(path, 'default', 'current');
    expect(await palimpsest(['store', action, '--store', file])).toEqual({
      code: 1,
      stdout: '',
      stderr: `palimpsest store: Expected stores in the folder ${file} but found: a file; name a folder that you may read with --store or $PALIMPSEST_STORE\n`,
    });
  });

  it('takes no address of another database, and makes no folder of that name', async () => {
    const readFile = async (file: string) => (file === 'x.json' ? '[]' : '');
    const at = 'mysql://me:secret@db.example/agents';
    for (const args of [['store', 'stats'], ['recall', handle], ['report'], ['fit', 'x.json']]) {
      const { code, stderr } = await palimpsest([...args, '--store', at], { readFile });
      expect([code, stderr]).toEqual([
        2,
        `palimpsest ${args[0]}: expected the store to be a folder or a postgres:// address but found mysql://…\nTry: palimpsest ${args[0]} --help\n`,
      ]);
    }
    expect(existsSync('mysql:')).toBe(false);
  });

  it('stats names what a gateway recorded for itself apart', async () => {
    const own = mkdtempSync(join(tmpdir(), 'palimpsest-store-own-'));
    const opened = await openStore({ path: own, mode: 'write' });
    await opened.put('what a tool said', { session: 'g-one', turn: 1 });
    for (const session of ['ge-one', 'ga-one', 'gl-one']) await opened.put(`{"of":"${session}"}`, { session });
    await opened.close();
    const { stdout } = await palimpsest(['store', 'stats', '--store', own]);
    expect(stdout).toContain('holds    1 text of 1 session, 0 turns\ntext     16 bytes\ngateway  3 events of its own');
    const json = JSON.parse((await palimpsest(['store', 'stats', '--store', own, '--json'])).stdout);
    expect(json).toMatchObject({ texts: 4, sessions: 4, gateway: { texts: 3, sessions: 3, textBytes: 45 } });
    rmSync(own, { recursive: true });
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
    expect(JSON.parse((await store('verify', '--json')).stdout)).toEqual({
      path,
      tenants: ['default'],
      problems: [],
    });
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

  it('reads while another process writes, and has that process do the upkeep', async () => {
    const writer = await openStore({ path, mode: 'write' });
    try {
      await writer.put('of a third session', { session: 'third' });
      expect((await store('stats')).code).toBe(0);
      expect(await store('delete', '--session', 'third', '--dry-run')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^would remove 1 session with 1 text and 0 turns, \d+ bytes\n$/),
      });
      expect(await store('delete', '--session', 'third')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^removed 1 session with 1 text and 0 turns, \d+ bytes\n$/),
      });
      expect(await store('gc', '--force')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^freed/) });
      expect((await writer.stats()).sessions).toBe(1);
      expect(readdirSync(join(path, 'default', 'requests'))).toEqual([]);
    } finally {
      await writer.close();
    }
  });

  it('delete and prune tell what they remove, first without doing it', async () => {
    const own = mkdtempSync(join(tmpdir(), 'palimpsest-prune-cli-'));
    const writer = await openStore({ path: own });
    for (const session of ['a', 'b', 'c']) await writer.put(session.repeat(50_000), { session });
    await writer.close();
    const at = (...args: string[]) => palimpsest(['store', ...args, '--store', own]);
    expect((await at('delete', '--older-than', '1h')).stdout).toBe('nothing to remove\n');
    const planned = await at('prune', '--max-bytes', '110KB', '--dry-run');
    expect(planned.stdout).toMatch(
      /^would remove 1 session with 1 text and 0 turns, 50\.\d KB\n {2}1 of them used in the last 6 hours: .*\nwould leave 100\.\d KB\n$/,
    );
    const { stdout } = await at('prune', '--max-bytes', '110KB', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ sessions: 1, texts: 1, inUse: 1, dryRun: false });
    const stats = JSON.parse((await at('stats', '--json')).stdout);
    expect(stats).toMatchObject({ texts: 2, retention: {}, weekBytes: expect.any(Number) });
    expect(stats.diskBytes).toBeLessThan(120_000);
    expect((await at('stats')).stdout).toMatch(
      /^stored {3}20.* UTC\ngrows {4}100\.\d KB a day, .*\nkeeps {4}everything$/m,
    );
    rmSync(own, { recursive: true });
  });

  it('prune takes its limits from the configuration where no flag says them', async () => {
    const readFile = async (file: string): Promise<string> =>
      file === 'own.yaml' ? 'store: { max_age_days: 30, max_bytes: 1kB }' : Promise.reject(new Error('ENOENT'));
    const at = (...args: string[]) => palimpsest(['store', ...args, '--store', path], { readFile });
    expect((await at('stats', '--config', 'own.yaml')).stdout).toContain(
      'keeps    what was used in the last 30 days, 1.0 KB at most',
    );
    const { stdout } = await at('prune', '--config', 'own.yaml', '--dry-run', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ dryRun: true });
    expect(await at('prune')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--max-age-days or --max-bytes'),
    });
  });

  it.each([
    [['delete'], 'either --session <id> or --older-than <age>'],
    [['delete', '--session', 'a', '--older-than', '3d'], 'either --session <id> or --older-than <age>'],
    [['delete', '--older-than', '3'], 'an age such as 12h, 30d or 8w'],
    [['prune', '--max-bytes', 'much'], 'a size such as 500MB'],
    [['prune', '--max-age-days', '0'], '--max-age-days to be a whole number of 1 or more'],
    [['stats', '--session', 'a'], '--session belongs to delete'],
    [['gc', '--dry-run'], '--dry-run belongs to delete and prune'],
  ])('%j is called wrongly', async (args, why) => {
    const { code, stderr } = await store(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
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

  describe('with several tenants', () => {
    const teams = mkdtempSync(join(path, 'teams-'));
    const at = (...args: string[]) => palimpsest(['store', ...args, '--store', teams]);

    beforeAll(async () => {
      for (const [tenant, texts] of [
        ['acme', 5],
        ['bob', 1],
      ] as const) {
        const writer = await openStore({ path: teams, tenant });
        for (let turn = 0; turn < texts; turn++)
          await writer.put(`${turn} of ${tenant} `.repeat(1000), { session: 'a', turn });
        await writer.close();
      }
      // Neither is a store: a copy that no tenant can be called, and a folder with something else in it.
      cpSync(join(teams, 'bob'), join(teams, 'bob.bak'), { recursive: true });
      mkdirSync(join(teams, 'notes'));
    });

    it('stats shows each, and their sum as JSON', async () => {
      const { code, stdout, stderr } = await at('stats');
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout.match(/^store .*|^holds .*/gm)).toEqual([
        `store    ${teams}, tenant acme (embedded)`,
        'holds    5 texts of 1 session, 0 turns',
        `store    ${teams}, tenant bob (embedded)`,
        'holds    1 text of 1 session, 0 turns',
      ]);
      expect(JSON.parse((await at('stats', '--json')).stdout)).toMatchObject({
        path: teams,
        texts: 6,
        tenants: { acme: { texts: 5 }, bob: { texts: 1 } },
      });
    });

    it('--tenant is the one that is meant', async () => {
      const { stdout } = await at('stats', '--tenant', 'bob');
      expect(stdout).toContain('holds    1 text of');
      expect(stdout).not.toContain('acme');
      expect((await at('export', '--tenant', 'acme')).stdout.trimEnd().split('\n').length).toBe(5);
      expect((await at('gc', '--tenant', 'bob')).code).toBe(0);
    });

    it.each(['gc', 'export'])('%s of a tenant that is not there names those that are', async (action) => {
      expect(await at(action)).toEqual({
        code: 1,
        stdout: '',
        stderr: `palimpsest store: there is no store at ${teams} for the tenant default; other tenants, for --tenant: acme, bob\n`,
      });
      expect(readdirSync(teams)).not.toContain('default');
    });

    it.each(['stats', 'gc'])('%s takes no path for a tenant', async (action) => {
      const { code, stderr } = await at(action, '--tenant', '../x');
      expect([code, stderr]).toEqual([2, expect.stringContaining("but found '../x'")]);
    });

    it('verify finds damage in any of them, and goes on where one cannot be opened', async () => {
      expect((await at('verify')).code).toBe(0);
      damageLog(join(teams, 'acme'));
      const { code, stdout } = await at('verify');
      expect([code, stdout.match(/^\/.*/gm)]).toEqual([
        1,
        [`${teams}, tenant acme: 1 problem`, `${teams}, tenant bob: everything is as it was written`],
      ]);
      expect(stdout).toContain('palimpsest store gc --tenant acme --repair');
      expect(JSON.parse((await at('verify', '--json')).stdout)).toMatchObject({
        tenants: ['acme', 'bob'],
        problems: [{ tenant: 'acme' }],
      });
      expect((await at('verify', '--tenant', 'bob')).code).toBe(0);
      for (const name of readdirSync(join(teams, 'acme'))) if (name.endsWith('.log')) rmSync(join(teams, 'acme', name));
      const lost = await at('verify');
      expect([lost.code, lost.stdout]).toEqual([1, `${teams}, tenant bob: everything is as it was written\n`]);
      expect(lost.stderr).toMatch(/^palimpsest store: tenant acme: Expected 1\.log/);
    });
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
    [[], 'expected one of stats, verify, delete, prune, gc, export but found nothing\n'],
    [['stat'], "but found 'stat'; did you mean stats?"],
    [['list'], 'expected one of stats, verify, delete, prune, gc, export'],
    [['toString'], 'expected one of'],
    [['stats', 'verify'], 'expected one of'],
    [['stats', '--repair'], 'belongs to gc'],
    [['verify', '--force'], 'belongs to gc'],
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
      `palimpsest store: there is no store at ${gone}; name yours with --store or $PALIMPSEST_STORE. A gateway makes one: npx palimpsest serve\n`,
    ]);
    expect(existsSync(gone)).toBe(false);
  });

  it('tells why a folder cannot be read, and not that there is none', async () => {
    const loop = join(path, 'loop');
    symlinkSync(loop, loop);
    const { code, stderr } = await palimpsest(['store', 'stats', '--store', loop]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^palimpsest store: Expected .* folder \S+loop but found: ELOOP: .*\n$/),
    ]);
  });

  it('--help fits a screen', async () => {
    expect(await palimpsest(['store', '--help'])).toEqual({ code: 0, stdout: storeHelp, stderr: '' });
    for (const line of storeHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(storeHelp.split('\n').length).toBeLessThanOrEqual(36);
  });
});
