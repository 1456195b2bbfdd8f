import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { palimpsest } from '../../test/support/memory-io.ts';
import { openStore } from '../store/open-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-flags-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const messages = JSON.stringify([{ role: 'user', content: 'x' }]);
writeFileSync(join(folder, 'log.json'), messages);

describe('errors on the command line are in its own words', () => {
  it.each<[string[], string]>([
    [['fit', 'x.json', '--bound-thinking', 'drop'], 'Expected --bound-thinking to be'],
    [['replay', join(folder, 'log.json'), '--prices', 'zz'], 'Expected --prices to be'],
    [
      ['fit', 'x.json', '--policy', 'graduated'],
      'graduated option max-input-chars to be a whole number of 1 or more but found nothing',
    ],
    [['serve', '--bound-thinking', 'drop'], 'Expected option bound-thinking to be'],
    [['serve', '--policy', 'hybrid'], 'Expected option policy to be one that only masks'],
    [['serve', '--prices', 'zz'], 'Expected option prices to be'],
    [['serve', '--host', '', '--store', join(folder, 'b')], 'Expected --host to be an address'],
    [['mcp', '--http', '0', '--max-chars', '10', '--store', folder], 'Expected --max-chars to be'],
  ])('%j', async (args, said) => {
    const env = { PALIMPSEST_TOKEN: 'a-token-for-tests-only', XDG_CONFIG_HOME: folder };
    const readFile = async (path: string) => (path === 'x.json' ? messages : '');
    const { code, stderr } = await palimpsest(args, { env, readFile });
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  it('names the flag for the format of a list that fits none', async () => {
    const { code, stderr } = await palimpsest(['fit', 'x.json'], { readFile: async () => '["a"]' });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/fits none: message 0: string; name it with --format\n$/),
    ]);
  });

  it('names the variable whose token is too short', async () => {
    const env = { PALIMPSEST_TOKEN: 'short', XDG_CONFIG_HOME: folder };
    const { code, stderr } = await palimpsest(['serve', '--port', '0', '--store', join(folder, 'a')], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('Expected $PALIMPSEST_TOKEN to be')]);
  });

  it('tells who writes to a store without the options of the library', async () => {
    const path = join(folder, 'held');
    const store = await openStore({ path });
    const { code, stderr } = await palimpsest(['fit', 'x.json', '--store', path], { readFile: async () => messages });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/holds it; stop that process, or name another store\n$/)]);
    expect(stderr).toContain(
      `Expected to open the store in ${join(path, 'default')} for writing but process ${process.pid}`,
    );
    await store.close();
  });
});
