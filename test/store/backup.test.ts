import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { createPostgresStore } from '../../src/store/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { startOwnPostgres } from '../support/postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const textOf = (i: number): string => `line ${i} of the log\n`.repeat(20 + (i % 200));

/** As docs/operating.md says: without the locks, which name the process that wrote. */
function restore(from: string, to: string): string {
  cpSync(from, to, { recursive: true });
  removeFiles(to, /lock/);
  return to;
}

function removeFiles(place: string, name: RegExp): void {
  for (const file of readdirSync(place, { recursive: true, encoding: 'utf8' }))
    if (name.test(file)) rmSync(join(place, file));
}

async function exported(store: Store): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of store.export()) lines.push(JSON.stringify(line));
  return lines.sort();
}

describe('a backup of the embedded store', () => {
  it('is a copy of its folder, also while it is written: everything acknowledged before is in it', {
    timeout: 120_000,
  }, async () => {
    const live = join(folder, 'live');
    const store = await openStore({ path: live });
    const handles: string[] = [];
    let isOver = false;
    const writing = (async () => {
      for (let i = 0; !isOver; i++) handles.push(await store.put(textOf(i), { session: `s${i % 7}`, turn: i }));
    })();
    for (let n = 0; n < 5; n++) {
      const enough = handles.length + 50;
      while (handles.length < enough) await setTimeout(5);
      const before = [...handles];
      // A process of its own: this one goes on with writing.
      execFileSync('cp', ['-r', live, join(folder, `backup-${n}`)]);
      const copy = await openStore({ path: restore(join(folder, `backup-${n}`), join(folder, `restored-${n}`)) });
      expect(await copy.verify()).toEqual([]);
      const found = await copy.getMany(before);
      expect(found.map((stored) => stored?.text)).toEqual(before.map((_, i) => textOf(i)));
      // It takes what comes next.
      await copy.put('after the restore', { session: 'new', turn: 1 });
      await copy.close();
    }
    isOver = true;
    await writing;
    await store.close();
  });

  it('that was made across a compaction, and lacks the log that is current, is told apart by verify', async () => {
    const live = join(folder, 'compacted');
    const store = await openStore({ path: live });
    await store.put(textOf(1), { session: 's', turn: 1 });
    await store.close();
    const copy = restore(live, join(folder, 'half'));
    removeFiles(copy, /\.log$/);
    const half = await openStore({ path: copy });
    expect((await half.verify()).length).toBeGreaterThan(0);
    await half.close();
  });
});

const bin = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();

describe('a backup of the store in PostgreSQL', () => {
  it.skipIf(!bin)(
    'is a dump: restored into another database, it has the same texts, records and secret',
    {
      timeout: 120_000,
    },
    async () => {
      const server = await startOwnPostgres({ bin: bin as string });
      const poolOf = (url: string): pg.Pool => {
        const pool = new pg.Pool({ connectionString: url, max: 4 });
        // The server is stopped while connections are being closed.
        return pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
      };
      const pool = poolOf(server.url);
      try {
        const store = createPostgresStore({ pool });
        for (let i = 0; i < 200; i++) await store.put(textOf(i), { session: `s${i % 7}`, turn: i, tool: 'bash' });
        await store.putNote({ session: 's1', name: 'plan', text: 'Keep it.' } as Parameters<typeof store.putNote>[0]);
        const secret = await store.secret();
        const dump = join(folder, 'palimpsest.dump');
        execFileSync(join(bin as string, 'pg_dump'), ['--format=custom', `--file=${dump}`, server.url]);
        await pool.query('CREATE DATABASE restored');
        const target = server.url.replace(/\/postgres$/, '/restored');
        execFileSync(join(bin as string, 'pg_restore'), ['--no-owner', `--dbname=${target}`, dump]);
        const restoredPool = poolOf(target);
        const restored = createPostgresStore({ pool: restoredPool });
        expect(await exported(restored)).toEqual(await exported(store));
        expect(await restored.secret()).toBe(secret);
        expect(await restored.verify()).toEqual([]);
        await restored.put('after the restore', { session: 'new', turn: 1 });
        for (const one of [store, restored]) await one.close();
        await restoredPool.end();
      } finally {
        await pool.end();
        await server.stop();
      }
    },
  );
});
