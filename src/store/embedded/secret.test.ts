import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openStore } from '../open-store.ts';
import { nodeDisk } from './disk.ts';
import { keepSecret, readSecret } from './secret.ts';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function placed() {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-secret-'));
  folders.push(folder);
  return { disk: nodeDisk, folder };
}

describe('the secret of an embedded store', () => {
  it('is made once, however many make it at once, and only its owner can read it', async () => {
    const place = placed();
    const secrets = await Promise.all(Array.from({ length: 20 }, () => keepSecret(place)));
    expect(new Set(secrets).size).toBe(1);
    expect(secrets[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(readSecret(place)).toBe(secrets[0]);
    expect(statSync(join(place.folder, 'secret')).mode & 0o777).toBe(0o600);
  });

  it('is made again where its writer was killed, or it was damaged', async () => {
    const place = placed();
    const first = await keepSecret(place);
    const path = join(place.folder, 'secret');
    const flipped = readFileSync(path, 'utf8').replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    for (const left of ['', first, first.slice(0, 10), flipped]) {
      writeFileSync(path, left);
      expect(readSecret(place)).toBe(undefined);
      const next = await keepSecret(place);
      expect(next).not.toBe(first);
      expect(readSecret(place)).toBe(next);
    }
  });

  it('is not read through a link, which would let someone else choose it', async () => {
    const place = placed();
    await keepSecret(place);
    const other = placed();
    symlinkSync(join(place.folder, 'secret'), join(other.folder, 'secret'));
    await expect(keepSecret(other)).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
  });

  it('is the same for a writer and its readers, and after a compaction; a reader makes none', async () => {
    const { folder: path } = placed();
    const writer = await openStore({ path });
    const reader = await openStore({ path, mode: 'read' });
    expect(await reader.secret()).toBe(undefined);
    const secret = await writer.secret();
    await writer.put('x', { session: 's' });
    await writer.gc({ force: true });
    expect([await writer.secret(), await reader.secret()]).toEqual([secret, secret]);
    await reader.close();
    await writer.close();
    await expect(writer.secret()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  // Root may read every file.
  it.skipIf(process.getuid?.() === 0)('that may not be read is told', async () => {
    const { folder: path } = placed();
    const store = await openStore({ path });
    await store.secret();
    chmodSync(join(path, 'default', 'secret'), 0);
    await expect(store.secret()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await store.close();
  });
});
