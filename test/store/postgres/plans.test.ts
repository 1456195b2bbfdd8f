import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../../support/modules.ts';

it('docs/postgres.md has the indexes, statements and plans of the sources', { timeout: 120_000 }, async () => {
  await ensureBuilt();
  const args = [join(ROOT, 'scripts/postgres.js'), '--check'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
});

it('no statement reads a table with many rows from end to end', () => {
  const page = readFileSync(join(ROOT, 'docs/postgres.md'), 'utf8');
  const scanned = [...page.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table);
  // A row for each tenant.
  expect([...new Set(scanned)]).toEqual(['deletions']);
});
