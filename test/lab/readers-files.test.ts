import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findLogs } from '../../src/lab/readers/find-logs.ts';
import { readRuns } from '../../src/lab/readers/read-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-logs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const talk = JSON.stringify([
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Hello!' },
]);

beforeAll(() => {
  for (const path of ['b', 'a/deep/er', 'a/[x]']) mkdirSync(join(folder, path), { recursive: true });
  for (const name of ['b/2.json', 'b/10.jsonl', 'a/deep/er/run.traj', 'a/notes.md', 'a/run.log', 'a/[x]/1.json'])
    writeFileSync(join(folder, name), talk);
  writeFileSync(join(folder, 'b/3.json.gz'), gzipSync(talk));
  writeFileSync(join(folder, 'b/broken.json'), '{"messages":[');
  symlinkSync(folder, join(folder, 'a/circle'));
});

describe('findLogs', () => {
  it('finds the logs in a folder at any depth, sorted, and no other file', async () => {
    expect(await found(folder)).toEqual([
      'a/[x]/1.json',
      'a/deep/er/run.traj',
      'b/10.jsonl',
      'b/2.json',
      'b/3.json.gz',
      'b/broken.json',
    ]);
  });

  it('takes a file that is named whatever its name, and none twice', async () => {
    expect(await found(join(folder, 'a/run.log'), join(folder, 'b/2.json'), join(folder, 'b'))).toEqual([
      'a/run.log',
      'b/10.jsonl',
      'b/2.json',
      'b/3.json.gz',
      'b/broken.json',
    ]);
  });

  it.each([
    ['b/*.json', ['b/2.json', 'b/broken.json']],
    ['b/?.json', ['b/2.json']],
    ['b/{2,10}.json*', ['b/10.jsonl', 'b/2.json']],
    ['b/[0-9]*', ['b/10.jsonl', 'b/2.json', 'b/3.json.gz']],
    ['b/[!0-9]*', ['b/broken.json']],
    ['**/*.traj', ['a/deep/er/run.traj']],
    ['**/deep/**/*.traj', ['a/deep/er/run.traj']],
    ['a/d*', ['a/deep/er/run.traj']],
    ['*/*.{md,log}', ['a/notes.md', 'a/run.log']],
    ['a/[x]/*.json', []],
    ['a/[x]', ['a/[x]/1.json']],
    ['a/{deep,[x]}/{*', []],
    ['b/[', []],
  ])('takes %s for a glob', async (glob, files) => {
    expect(await found(join(folder, glob))).toEqual(files);
  });

  it('tells of paths that lead nowhere', async () => {
    const skipped: string[] = [];
    await findLogs([join(folder, 'no.json'), join(folder, 'no/*.json')], (path, reason) =>
      skipped.push(`${path.slice(folder.length + 1)}: ${reason}`),
    );
    expect(skipped).toEqual(['no.json: there is no such file', 'no/*.json: it matches no file']);
  });
});

describe('readRuns', () => {
  it('reads all logs, tells of those it cannot read, and goes on', async () => {
    const skipped: string[] = [];
    const files: string[] = [];
    const onSkip = (file: string, reason: string) => skipped.push(`${file.slice(folder.length + 1)}: ${reason}`);
    for await (const { file } of readRuns([folder, join(folder, 'gone')], { onSkip }))
      files.push(file.slice(folder.length + 1));
    expect(files).toEqual(['a/[x]/1.json', 'a/deep/er/run.traj', 'b/10.jsonl', 'b/2.json', 'b/3.json.gz']);
    expect(skipped).toEqual([
      'gone: there is no such file',
      'b/broken.json: Expected the log of an agent but found no JSON object; the JSON that begins in line 1 is cut off',
    ]);
  });

  it('throws for a format that there is not, which is a mistake of the caller', async () => {
    await expect(readRuns([join(folder, 'gone')]).next()).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('gone but there is no such file'),
    });
    await expect(readRuns([join(folder, '*.nothing')]).next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(readRuns([folder], { format: 'cobol' as 'codex' }).next()).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });
});

async function found(...paths: readonly string[]): Promise<string[]> {
  return (await findLogs(paths)).map((file) => file.slice(folder.length + 1));
}
