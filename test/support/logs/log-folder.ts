import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll } from 'vitest';

const talk = JSON.stringify([
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Hello!' },
]);

/** A folder with logs at several depths, one of them broken, a package, and a link that leads in a circle. It is removed after the tests. */
export function logFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-logs-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of ['b', 'a/deep/er', 'a/[x]', 'b/node_modules/x'])
    mkdirSync(join(folder, path), { recursive: true });
  for (const name of ['b/2.json', 'b/10.jsonl', 'a/deep/er/run.traj', 'a/notes.md', 'a/run.log', 'a/[x]/1.json'])
    writeFileSync(join(folder, name), talk);
  writeFileSync(join(folder, 'b/3.json.gz'), gzipSync(talk));
  writeFileSync(join(folder, 'b/broken.json'), '{"messages":[');
  writeFileSync(join(folder, 'b/node_modules/x/package.json'), '{"name":"x"}');
  symlinkSync(folder, join(folder, 'a/circle'));
  return folder;
}
