import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
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
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { RecordRange, Store } from '../../../src/store/store.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';
import { ChildStore } from '../../support/store/child-store.ts';
import { recordOf } from '../../support/store/records.ts';
import { collect } from '../../support/store/stores.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-records-'));
let stores = 0;
const freshPath = (): string => join(root, `store-${stores++}`);

beforeAll(ensureBuilt);
afterAll(() => rmSync(root, { recursive: true }));

const DAY = 86_400_000;
const NOON = Date.parse('2026-11-15T12:00:00Z');
const fileOf = (path: string): string => join(path, 'default/records/2026-11-15.ndjson');
const idsOf = async (store: Store, range?: RecordRange): Promise<string[]> =>
  (await collect(store.records?.(range) as AsyncIterable<RequestRecord>)).map(({ id }) => id);

const READ_ALL = `(async () => {
  const { openStore } = await import(process.env.BUILT + '/store/index.js');
  const store = await openStore({ path: process.env.STORE });
  await new Promise(setImmediate);
  let read = 0;
  for await (const _ of store.records()) read++;
  const { records: counted } = await store.stats();
  const { records: wouldRemove } = await store.prune({ maxBytes: 0, dryRun: true });
  await store.close();
  console.log(JSON.stringify({ read, counted, wouldRemove }));
})()`;

async function writeThree(path: string): Promise<void> {
  const store = await openStore({ path });
  for (const id of ['a', 'b', 'c']) await store.putRecords?.([recordOf(id, NOON)]);
  await store.close();
}

describe('the records of an embedded store', () => {
  it('survive a writer that was killed in the middle of a line, and the next one goes on behind them', async () => {
    const path = freshPath();
    await writeThree(path);
    const line = readFileSync(fileOf(path)).subarray(0, 100);
    appendFileSync(fileOf(path), line);
    const store = await openStore({ path });
    expect([await idsOf(store), await store.verify(), (await store.stats()).records]).toEqual([['a', 'b', 'c'], [], 3]);
    await store.putRecords?.([recordOf('d', NOON)]);
    expect([await idsOf(store), await store.verify(), (await store.stats()).records]).toEqual([
      ['a', 'b', 'c', 'd'],
      [],
      4,
    ]);
    await store.close();
  });

  it('that were acknowledged survive kill -9', async () => {
    const path = freshPath();
    const child = await ChildStore.open(path, 'write');
    for (let i = 0; i < 20; i++)
      await child.call('putRecords', [recordOf(`r${i}`, NOON), recordOf(`s${i}`, NOON - DAY)]);
    await child.end('SIGKILL');
    const store = await openStore({ path, mode: 'read' });
    expect((await idsOf(store)).length).toBe(40);
    await store.close();
  });

  it('that are damaged are left out and reported, until a repair gives them up', async () => {
    const path = freshPath();
    await writeThree(path);
    const lines = readFileSync(fileOf(path), 'utf8').split('\n');
    lines[1] = lines[1]?.replace('"status":200', '"status":201') ?? '';
    writeFileSync(fileOf(path), lines.join('\n'));
    const store = await openStore({ path });
    expect([await idsOf(store), (await store.stats()).records]).toEqual([['a', 'c'], 3]);
    expect(await store.verify()).toMatchObject([{ what: '1 record of requests on 2026-11-15 is damaged' }]);
    expect((await store.gc({ repair: true })).repaired).toBe(1);
    expect([await idsOf(store), await store.verify(), (await store.stats()).records]).toEqual([['a', 'c'], [], 2]);
    await store.close();
  });

  it('are counted where the last of them is damaged, and written behind it', async () => {
    const path = freshPath();
    await writeThree(path);
    writeFileSync(fileOf(path), readFileSync(fileOf(path), 'utf8').replace('"id":"c"', '"id":"x"'));
    const store = await openStore({ path });
    expect((await store.stats()).records).toBe(3);
    await store.putRecords?.([recordOf('d', NOON)]);
    expect([(await store.stats()).records, await idsOf(store)]).toEqual([4, ['a', 'b', 'd']]);
    await store.close();
  });

  it('are read by another process while they are written', async () => {
    const path = freshPath();
    const child = await ChildStore.open(path, 'write');
    await child.call('putRecords', [recordOf('first', NOON)]);
    const reader = await openStore({ path, mode: 'read' });
    expect(await idsOf(reader)).toEqual(['first']);
    await child.call('putRecords', [recordOf('second', NOON + 1)]);
    expect(await idsOf(reader)).toEqual(['first', 'second']);
    await expect(reader.putRecords?.([recordOf('x', NOON)])).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await reader.close();
    await child.end();
  });

  it('of a deleted session are in no file any more, while others are being written', async () => {
    const path = freshPath();
    const store = await openStore({ path });
    const batch = Array.from({ length: 3000 }, (_, i) =>
      recordOf(`r${i}`, NOON - (i % 3) * DAY, { session: i % 2 ? 'stays' : 'leaves' }),
    );
    await store.putRecords?.(batch);
    const [removed] = await Promise.all([
      store.delete('leaves'),
      ...Array.from({ length: 20 }, (_, i) => store.putRecords?.([recordOf(`later${i}`, NOON, { session: 'stays' })])),
    ]);
    expect([removed.records, (await idsOf(store)).length, (await store.stats()).records]).toEqual([1500, 1520, 1520]);
    await store.close();
    const folder = join(path, 'default/records');
    const files = readdirSync(folder);
    expect(files.sort()).toEqual(['2026-11-13.ndjson', '2026-11-14.ndjson', '2026-11-15.ndjson']);
    for (const file of files) {
      expect(readFileSync(join(folder, file), 'utf8')).not.toContain('leaves');
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    }
  });

  it('are found and counted without a call that blocks the process', async () => {
    const path = freshPath();
    await writeThree(path);
    // Node names every synchronous call after the first turn of its event loop, and where it was made.
    const { stderr, stdout } = spawnSync(process.execPath, ['--trace-sync-io', '-e', READ_ALL], {
      env: { ...process.env, BUILT: pathToFileURL(join(ROOT, 'dist')).href, STORE: path },
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout)).toEqual({ read: 3, counted: 3, wouldRemove: 3 });
    expect(stderr.split('WARNING').filter((call) => call.includes('record-files'))).toEqual([]);
  });

  it('are not written through a symbolic link', async () => {
    const path = freshPath();
    await writeThree(path);
    const outside = join(root, 'outside');
    writeFileSync(outside, '');
    symlinkSync(outside, join(path, 'default/records/2026-11-14.ndjson'));
    const store = await openStore({ path });
    await expect(store.putRecords?.([recordOf('x', NOON - DAY)])).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await store.close();
    expect(readFileSync(outside, 'utf8')).toBe('');
  });
});
