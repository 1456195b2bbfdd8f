import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small disk of its own that can be filled to the last byte. */
export interface SmallDisk {
  readonly path: string;
  fill(): void;
  free(): void;
  remove(): void;
}

/** A tmpfs, or why there is none. */
export function mountSmallDisk(megabytes: number): SmallDisk | { readonly reason: string } {
  if (process.platform !== 'linux') return { reason: 'a tmpfs needs Linux' };
  const path = mkdtempSync(join(tmpdir(), 'palimpsest-chaos-disk-'));
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    rmSync(path, { recursive: true });
    return { reason: `no tmpfs can be mounted: ${stderr?.trim() || 'there is no mount program'}` };
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill: () => {
      const file = openSync(filler, 'a');
      for (const size of [1 << 20, 4096]) {
        const chunk = Buffer.alloc(size, 1);
        try {
          for (;;) writeSync(file, chunk);
        } catch {
          // Full for writes of this size.
        }
      }
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    remove: () => {
      spawnSync('umount', [path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
