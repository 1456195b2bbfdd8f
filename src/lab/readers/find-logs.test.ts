import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { logFolder } from '../../../test/support/logs/log-folder.ts';
import { findLogs } from './find-logs.ts';

const folder = logFolder();

describe('findLogs', () => {
  it('finds the logs in a folder at any depth, sorted, and no other file or package', async () => {
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
    ['b/[9-0]*', []],
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

it.skipIf(process.platform === 'win32')(
  'findLogs leaves out pipes in a folder, which may never end, and tells so',
  async () => {
    const place = mkdtempSync(join(tmpdir(), 'palimpsest-pipes-'));
    try {
      execFileSync('mkfifo', [join(place, 'a.jsonl')]);
      symlinkSync('a.jsonl', join(place, 'b.jsonl'));
      writeFileSync(join(place, 'c.jsonl'), '{}');
      symlinkSync('c.jsonl', join(place, 'd.jsonl'));
      const skipped: string[] = [];
      expect(await findLogs([place], (path) => skipped.push(path))).toEqual(
        ['c.jsonl', 'd.jsonl'].map((name) => join(place, name)),
      );
      expect(skipped.sort()).toEqual(['a.jsonl', 'b.jsonl'].map((name) => join(place, name)));
      expect(await findLogs([join(place, 'a.jsonl')])).toEqual([join(place, 'a.jsonl')]);
    } finally {
      rmSync(place, { recursive: true });
    }
  },
);

async function found(...paths: readonly string[]): Promise<string[]> {
  return (await findLogs(paths)).map((file) => file.slice(folder.length + 1));
}
