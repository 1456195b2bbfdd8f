import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStores } from '../../src/cli/store/stores.ts';
import { slidingWindow } from '../../src/index.ts';
import { fitAndStore } from '../../src/store/index.ts';
import { history } from '../support/chat.ts';
import { palimpsest } from '../support/memory-io.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

/** One run's own: a server that is already there may have been used before. */
const DATABASE = `palimpsest_cli_${process.pid}`;

let server: PostgresServer;
let url = '';
beforeAll(async () => {
  server = await startPostgres();
  await sql(`CREATE DATABASE ${DATABASE}`);
  url = Object.assign(new URL(server.url), { pathname: DATABASE }).href;
}, 60_000);
afterAll(async () => {
  await sql(`DROP DATABASE ${DATABASE}`);
  await server.stop();
});

async function sql(text: string, connectionString = server.url): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Writes as `palimpsest serve` does. */
async function put(text: string, tenant: string): Promise<string> {
  const stores = await createStores(url);
  const store = await stores.open(tenant);
  const handle = await store.put(text, { session: 'a', turn: 1 });
  await stores.close();
  return handle;
}

describe('a store in PostgreSQL, on the command line', () => {
  it('is not made by those who only read', async () => {
    const { code, stderr } = await palimpsest(['store', 'stats', '--store', url]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no store at postgres://')]);
    expect((await palimpsest(['store', 'gc', '--store', url])).code).toBe(1);
  });

  it('is read by recall, store and mcp, each tenant apart', async () => {
    const mine = await put('hidden', 'default');
    const acmes = await put('of acme', 'acme');
    const recalled = (...args: string[]) => palimpsest(['recall', ...args, '--store', url]);
    expect(await recalled(mine)).toEqual({ code: 0, stdout: 'hidden', stderr: '' });
    expect((await recalled(acmes)).stderr).toContain('other tenants, for --tenant: acme');
    expect((await recalled(acmes, '--tenant', 'acme')).stdout).toBe('of acme');

    const stats = await palimpsest(['store', 'stats', '--json', '--store', url]);
    expect(JSON.parse(stats.stdout)).toMatchObject({
      kind: 'postgres',
      texts: 2,
      tenants: { acme: { texts: 1 }, default: { texts: 1 } },
    });
    expect((await palimpsest(['store', 'verify', '--store', url])).code).toBe(0);
    const exported = await palimpsest(['store', 'export', '--tenant', 'acme', '--store', url]);
    expect(JSON.parse(exported.stdout)).toMatchObject({ handle: acmes, text: 'of acme' });

    const stores = await createStores(url);
    const policy = slidingWindow({ turns: 2 });
    for (const turns of [3, 5])
      await fitAndStore(history(turns), { store: await stores.open('acme'), session: 'run', policy });
    await stores.close();
    const inAcme = ['--tenant', 'acme', '--store', url];
    const listed = await palimpsest(['recall', '--session', 'run', ...inAcme]);
    expect([listed.code, listed.stdout.split('\n')[0]]).toEqual([0, 'session run: 6 turns, 3 masked']);
    const shown = await palimpsest(['recall', '--session', 'run', '--turn', '1', '--json', ...inAcme]);
    const [{ handle }] = JSON.parse(shown.stdout).results;
    expect((await recalled(handle, '--tenant', 'acme')).stdout).toBe(history(1)[3]?.content);
    const elsewhere = await palimpsest(['recall', '--session', 'run', '--store', url]);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('for --tenant: acme')]);

    const stdin = (async function* () {})();
    expect(await palimpsest(['mcp', '--store', url], { stdin })).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('has tenants with notes alone, and is read where an older version made its tables', async () => {
    const stats = async () => JSON.parse((await palimpsest(['store', 'stats', '--json', '--store', url])).stdout);
    const stores = await createStores(url);
    await (await stores.open('notes-alone')).putNote({ session: 's', name: 'n', text: 'note' });
    await stores.close();
    expect((await stats()).tenants['notes-alone']).toMatchObject({ texts: 0, notes: 1 });
    for (const table of ['texts', 'refs', 'turns']) await sql(`ALTER TABLE palimpsest.${table} DROP COLUMN at`, url);
    await sql(
      'DROP TABLE palimpsest.notes, palimpsest.secrets, palimpsest.uses, palimpsest.deletions, palimpsest.records',
      url,
    );
    await sql('DELETE FROM palimpsest.migrations WHERE version > 1', url);
    expect(Object.keys((await stats()).tenants)).toEqual(['acme', 'default']);
  });

  it('is pruned beside other processes that use it', async () => {
    const stores = await createStores(url);
    const store = await stores.open('pruned');
    for (const session of ['a', 'b']) await store.put(`of ${session}`, { session });
    const at = (...args: string[]) => palimpsest(['store', ...args, '--tenant', 'pruned', '--store', url]);
    expect((await at('delete', '--session', 'a')).stdout).toMatch(/^removed 1 session with 1 text and 0 turns/);
    expect((await at('delete', '--older-than', '30d')).stdout).toBe('nothing to remove\n');
    expect((await at('prune', '--max-bytes', '1', '--dry-run')).stdout).toMatch(/^would remove 1 session/);
    expect((await store.stats()).texts).toBe(1);
    expect((await at('prune', '--max-bytes', '1')).stdout).toMatch(/^removed 1 session with 1 text/);
    expect((await store.stats()).texts).toBe(0);
    await stores.close();
  });

  it('that does not answer is told in a line, without the password of its address', async () => {
    const { code, stderr } = await palimpsest(['store', 'stats', '--store', 'postgres://me:secret@127.0.0.1:1/x']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
    const shown = await palimpsest(['store', 'stats', '--store', url.replace(/(?::[^:@/]*)?@/, ':secret@')]);
    expect(shown.stdout).toContain('store    postgres://palimpsest@127.0.0.1');
    expect(stderr + shown.stdout).not.toContain('secret');
  });

  it('with an address that is none is called wrongly', async () => {
    const { code, stderr } = await palimpsest(['store', 'stats', '--store', 'postgres://[secret']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('postgres://me@host/database')]);
  });
});
