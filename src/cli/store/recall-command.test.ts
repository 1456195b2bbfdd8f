import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { history } from '../../../test/support/chat.ts';
import { palimpsest } from '../../../test/support/memory-io.ts';
import type { ChatMessage } from '../../message.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import { fitAndStore } from '../../store/fit-and-store.ts';
import { openStore } from '../../store/open-store.ts';
import { help as recallHelp } from './recall-command.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-recall-'));
const TEXT = 'one\ntwo\r\nthree 🎉\nfour';
let handle = '';
let hostile = '';

beforeAll(async () => {
  const store = await openStore({ path, mode: 'write' });
  handle = await store.put(TEXT, { session: 'a', turn: 1 });
  hostile = await store.put(`${'a'.repeat(50)}!`, { session: 'a', turn: 2 });
  await store.close();
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

const recalled = (...args: string[]) => palimpsest(['recall', ...args, '--store', path]);

describe('palimpsest recall', () => {
  it('writes the text as it was, and nothing else', async () => {
    expect(await recalled(handle)).toEqual({ code: 0, stdout: TEXT, stderr: '' });
  });

  it.each([
    [['--head', '1'], 'one\n'],
    [['--tail', '1'], 'four\n'],
    [['--lines', '2-3'], 'two\r\nthree 🎉\n'],
    [['--lines', '4-9'], 'four\n'],
    [['--grep', 'o$'], '2:two\n'],
    [['--grep', 'O', '-i'], '1:one\n2:two\n4:four\n'],
    [['--grep', 'three', '--context', '1'], '2-two\n3:three 🎉\n4-four\n'],
    [['--grep', 'o', '--lines', '2-3'], '2:two\n'],
  ])('%j writes that part, with a newline at its end', async (args, stdout) => {
    expect(await recalled(handle, ...args)).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each([[[]], [['--grep', 'o']]])(
    'says how many lines there are where --lines begins behind them (%j)',
    async (more) => {
      expect(await recalled(handle, '--lines', '900-901', ...more)).toEqual({
        code: 1,
        stdout: '',
        stderr: 'palimpsest recall: the text has 4 lines only\n',
      });
    },
  );

  it('exits with 1 where nothing matches, like grep', async () => {
    expect(await recalled(handle, '--grep', 'nowhere')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'palimpsest recall: no line matches\n',
    });
  });

  it('ends a pattern that would not end', async () => {
    const { code, stderr } = await recalled(hostile, '--grep', '(a+)+$');
    expect([code, stderr]).toEqual([1, 'palimpsest recall: the pattern took too long; there may be more matches\n']);
  });

  it('tells a handle that is not there', async () => {
    const { code, stdout, stderr } = await recalled(`p_${'a'.repeat(26)}`);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^palimpsest recall: .*p_a{26}/);
    expect(stderr).toContain(`; looked in ${path}: --store or $PALIMPSEST_STORE names another store`);
  });

  it('--tenant is whose text it is, and a handle that is not found elsewhere names the tenants', async () => {
    const teams = mkdtempSync(join(path, 'teams-'));
    let inAcme = '';
    for (const tenant of ['default', 'acme']) {
      const store = await openStore({ path: teams, tenant });
      inAcme = await store.put(`text of ${tenant}`, { session: 'a', turn: 1 });
      await store.close();
    }
    const at = (...args: string[]) => palimpsest(['recall', inAcme, '--store', teams, ...args]);
    expect(await at('--tenant', 'acme')).toEqual({ code: 0, stdout: 'text of acme', stderr: '' });
    const { code, stdout, stderr } = await at();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^palimpsest recall: Expected a handle .*; other tenants, for --tenant: acme\n$/);
  });

  describe('--session', () => {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-recall-turns-'));
    let whole: ChatMessage[] = [];
    beforeAll(async () => {
      const store = await openStore({ path: folder });
      whole = history(4, 2000);
      await fitAndStore(whole, { store, session: 'one', policy: slidingWindow({ turns: 2 }) });
      await fitAndStore(whole, {
        store,
        session: 'unrecorded',
        policy: slidingWindow({ turns: 2 }),
        recordTurns: false,
      });
      await store.close();
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const turns = (...args: string[]) => palimpsest(['recall', '--session', ...args, '--store', folder]);

    it('lists the turns of a session, and a handle leads to the whole text', async () => {
      const { code, stdout, stderr } = await turns('one');
      expect([code, stderr]).toEqual([0, '']);
      const masked = stdout.match(/p_[a-z2-7]{26}/g) ?? [];
      expect(
        stdout.split('\n').map((line) => line.replace(/\d+ bytes|\d+\.\d KB/, 'SIZE').replace(/ +/g, ' ')),
      ).toEqual([
        'session one: 5 turns, 2 masked',
        'turn state size tools handles',
        '0 whole SIZE -',
        `1 masked SIZE bash ${masked[0]}`,
        `2 masked SIZE bash ${masked[1]}`,
        '3 whole SIZE bash',
        '4 whole SIZE bash',
        '',
      ]);
      const recalledWhole = await palimpsest(['recall', masked[1] ?? '', '--store', folder]);
      expect(recalledWhole.stdout).toBe(whole[5]?.content);
    });

    it('--turn shows one turn with all of its texts', async () => {
      expect((await turns('one', '--turn', '0')).stdout).toBe(
        'turn 0 of session one: whole, 14 bytes, tools: -\n\nuser:\nFix the build.\n',
      );
      expect((await turns('one', '--turn', '4')).stdout).toBe(
        `turn 4 of session one: whole, 2.0 KB, tools: bash\n\nreasoning:\nstep 4\n\naction:\nbash {}\n\nobservation:\n${whole[9]?.content}\n`,
      );
      const { stdout } = await turns('one', '--turn', '1');
      expect(stdout).toMatch(/^turn 1 of session one: masked, \d+ bytes, tools: bash\n/);
      expect(stdout).toMatch(/\nobservation:\n\[bash.* masked · (p_[a-z2-7]{26})\]\n\nhandles:\n\1 {2}bash\n$/);
    });

    it('--json gives both as JSON', async () => {
      const listed = JSON.parse((await turns('one', '--json')).stdout);
      expect(listed.turns).toHaveLength(5);
      expect(listed).toMatchObject({
        session: 'one',
        turns: [
          { turn: 0, masked: false, bytes: 14, tools: [], handles: [] },
          { turn: 1, masked: true, tools: ['bash'], handles: [expect.stringMatching(/^p_/)] },
          { turn: 2 },
          { turn: 3, handles: [] },
          { turn: 4 },
        ],
      });
      expect(JSON.parse((await turns('one', '--turn', '3', '--json')).stdout)).toEqual({
        session: 'one',
        turn: 3,
        reasoning: 'step 3',
        action: 'bash {}',
        observation: whole[7]?.content,
        tools: ['bash'],
        masked: false,
      });
    });

    it.each<[string[], number, string]>([
      [['nobody'], 1, 'this store knows no session nobody'],
      [['nobody', '--turn', '1'], 1, 'this store knows no session nobody'],
      [['unrecorded'], 1, 'found only its 2 hidden texts; sessions and fitAndStore record turns'],
      [['one', '--turn', '7'], 1, 'found no turn 7; it has 0 to 4'],
      [['../x'], 2, 'letters, digits'],
      [['one', '--turn', 'x'], 2, "--turn to be a whole number of 0 or more but found 'x'"],
      [['one', '--head', '3'], 2, 'expected --session alone'],
      [['one', `p_${'a'.repeat(26)}`], 2, 'expected --session alone'],
    ])('%j is answered in a line', async (args, exit, said) => {
      const { code, stdout, stderr } = await turns(...args);
      expect([code, stdout]).toEqual([exit, '']);
      expect(stderr).toContain(said);
    });

    it('names the other tenants where the session is not found', async () => {
      const store = await openStore({ path: folder, tenant: 'acme' });
      await fitAndStore(history(2), { store, session: 'theirs' });
      await store.close();
      expect((await turns('theirs')).stderr).toContain('other tenants, for --tenant: acme');
      expect((await turns('theirs', '--tenant', 'acme')).stdout).toContain('session theirs: 3 turns');
    });
  });

  it('takes the store of the environment', async () => {
    const { stdout } = await palimpsest(['recall', handle], { env: { PALIMPSEST_STORE: path } });
    expect(stdout).toBe(TEXT);
  });

  it('tells a store that is not there, and makes none', async () => {
    const gone = join(path, 'gone');
    const { code, stderr } = await palimpsest(['recall', handle, '--store', gone]);
    expect(code).toBe(1);
    expect(stderr).toContain(gone);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each<[string[], string]>([
    [[], 'expected one handle'],
    [['x'], "found 'x'"],
    [[`p_${'a'.repeat(26)}`, 'y'], 'expected one handle'],
    [[`p_${'a'.repeat(26)}`, '--heed', '3'], 'did you mean --head?'],
    [['--turn', '3'], '--turn and --json belong to --session'],
    [[`p_${'a'.repeat(26)}`, '--json'], '--turn and --json belong to --session'],
    [[`p_${'a'.repeat(26)}`, '--head', '0'], '--head'],
    [[`p_${'a'.repeat(26)}`, '--lines', '3'], '120-180'],
    [[`p_${'a'.repeat(26)}`, '--lines', '3-2'], '120-180'],
    [[`p_${'a'.repeat(26)}`, '--lines', '0-2'], '120-180'],
    [[`p_${'a'.repeat(26)}`, '--head', '1', '--tail', '1'], 'head or tail'],
    [[`p_${'a'.repeat(26)}`, '--context', '1'], 'grep'],
    [[`p_${'a'.repeat(26)}`, '--grep', '(a'], 'regular expression'],
  ])('%j is called wrongly', async (args, said) => {
    const given = args.map((arg) => (arg === `p_${'a'.repeat(26)}` ? handle : arg));
    const { code, stdout, stderr } = await recalled(...given);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
    expect(stderr).toContain('Try: palimpsest recall --help\n');
  });

  it('--help fits a screen', async () => {
    expect(await palimpsest(['recall', '--help'])).toEqual({ code: 0, stdout: recallHelp, stderr: '' });
    for (const line of recallHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(recallHelp.split('\n').length).toBeLessThanOrEqual(36);
  });
});
