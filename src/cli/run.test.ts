import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { palimpsest } from '../../test/support/memory-io.ts';
import { help as fitHelp } from './fit-command.ts';
import { help } from './run.ts';
import { version } from './version.ts';

const FILE = fileURLToPath(import.meta.url);

describe('palimpsest', () => {
  it.each([['--help'], ['-h'], ['help']])('%s writes the help', async (flag) => {
    expect(await palimpsest([flag])).toEqual({ code: 0, stdout: help, stderr: '' });
  });
  it('without a command writes the help as an error', async () => {
    expect(await palimpsest([])).toEqual({ code: 2, stdout: '', stderr: help });
  });
  it.each([['--version'], ['-v']])('%s writes the version', async (flag) => {
    expect(await palimpsest([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
  });
  it.each(['fot', 'constructor', 'toString', '__proto__', '--report', ''])(
    'knows no command %j, and names those it knows',
    async (name) => {
      const { code, stdout, stderr } = await palimpsest([name]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(`'${name}'`);
      expect(stderr).toContain('fit');
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );
  it.each([['--help'], ['-h']])('fit %s writes its help, wherever the flag is', async (flag) => {
    expect(await palimpsest(['fit', flag])).toEqual({ code: 0, stdout: fitHelp, stderr: '' });
    expect(await palimpsest(['fit', 'x.json', '--report', flag])).toEqual({ code: 0, stdout: fitHelp, stderr: '' });
  });
  it.each([
    ['serve', '--port', '0'],
    ['recall', `p_${'a'.repeat(26)}`],
    ['store', 'stats'],
    ['store', 'verify'],
    ['store', 'gc'],
    ['mcp', '--http', '0'],
  ])('%s %s with a store that is no folder says so in one line', async (...args) => {
    const { code, stdout, stderr } = await palimpsest([...args, '--store', FILE], {
      env: { PALIMPSEST_TOKEN: 'x'.repeat(16) },
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^palimpsest \w+: Expected stores in the folder .*run\.test\.ts but found: a file; .*\n$/);
  });
  it('lets a mistake of its own be seen with its stack', async () => {
    const stdout = (): never => {
      throw new TypeError('a mistake');
    };
    await expect(palimpsest(['config', 'check'], { readFile: async () => '', stdout })).rejects.toThrow(TypeError);
  });
  it('help and the name of a command writes its help', async () => {
    expect(await palimpsest(['help', 'fit'])).toEqual({ code: 0, stdout: fitHelp, stderr: '' });
    expect(await palimpsest(['help', 'ft'])).toMatchObject({ code: 2, stdout: '' });
  });
  it.each([
    [['ft'], 'did you mean fit?'],
    [['store', 'stat'], 'did you mean stats?'],
    [['config', 'chek'], 'did you mean check?'],
  ])('%j gets the nearest right word', async (argv, hint) => {
    const { code, stderr } = await palimpsest(argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(hint)]);
  });
  it('has help that fits a screen', () => {
    for (const text of [help, fitHelp]) {
      expect(text.split('\n').length).toBeLessThanOrEqual(40);
    }
  });
  it('has help for every command that fits 80 columns', async () => {
    const names = [...help.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name = '']) => name);
    expect(names).toContain('serve');
    for (const text of [
      help,
      ...(await Promise.all(names.map(async (name) => (await palimpsest([name, '--help'])).stdout))),
    ])
      expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
