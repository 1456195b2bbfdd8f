import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type OpenStoreOptions, openStore } from './open-store.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-open-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const isRoot = process.getuid?.() === 0;

describe('openStore', () => {
  it.each([[{}], [{ path: '' }], [{ path: undefined }], [{ path: 7 }], [{ path: null }]])(
    'refuses %j, and does not take the working folder for it',
    async (options) => {
      await expect(openStore(options as unknown as OpenStoreOptions)).rejects.toMatchObject({
        name: 'PalimpsestError',
        code: 'BAD_OPTION',
        message: expect.stringContaining('openStore option path'),
      });
    },
  );

  it.each(['write', 'read'] as const)('for mode %s refuses an address without showing its password', async (mode) => {
    const opened = openStore({ path: 'postgres://me:secret@db.example/agents', mode });
    await expect(opened).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/^Expected openStore option path .* found postgres:\/\/…; createPostgresStore /),
    });
  });

  it.each(['write', 'read'] as const)('for mode %s says of a path that cannot be a folder what it is', async (mode) => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    const loop = join(root, `loop-${mode}`);
    symlinkSync(loop, loop);
    for (const [path, code] of [
      [file, 'ENOTDIR'],
      [join(file, 'deep'), 'ENOTDIR'],
      [loop, 'ELOOP'],
    ] as const)
      await expect(openStore({ path, mode })).rejects.toMatchObject({
        name: 'PalimpsestError',
        code: 'STORE_FAILED',
        message: expect.stringContaining(code),
        cause: expect.objectContaining({ code }),
      });
  });

  it.skipIf(isRoot)('tells a folder that it may not use (root may use all)', async () => {
    const path = join(root, 'forbidden');
    mkdirSync(path);
    chmodSync(path, 0);
    for (const mode of ['write', 'read'] as const)
      await expect(openStore({ path, mode })).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('EACCES'),
      });
    chmodSync(path, 0o700);
  });
});
