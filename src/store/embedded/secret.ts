import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Folder } from './current.ts';

/** Reads the secret of a store. Undefined if it is missing or incomplete. */
export function readSecret({ disk, folder }: Folder): string | undefined {
  const path = join(folder, SECRET);
  if (!disk.exists(path)) return undefined;
  const file = disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(128);
    const text = bytes.toString('latin1', 0, file.read(bytes, 0));
    const secret = text.slice(0, SECRET_CHARS);
    return text === lineOf(secret) ? secret : undefined;
  } finally {
    file.close();
  }
}

/** Reads the secret, or creates one. It is durable before it is used. */
export async function keepSecret(place: Folder): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const secret = readSecret(place);
    if (secret !== undefined) return secret;
    // Another process may still be writing it. After several attempts it counts as damaged and is replaced.
    if (attempt === ATTEMPTS) place.disk.remove(join(place.folder, SECRET));
    if (!(await makeSecret(place))) await delay(WAIT_MS);
  }
}

/** Creates the file exclusively. If two processes try at once, the second reads the secret of the first. */
async function makeSecret({ disk, folder }: Folder): Promise<boolean> {
  const path = join(folder, SECRET);
  if (disk.exists(path)) return false;
  try {
    const file = disk.open(path, 'create');
    try {
      file.write(Buffer.from(lineOf(randomBytes(SECRET_CHARS / 2).toString('hex'))), 0);
      await file.sync();
    } finally {
      file.close();
    }
    await disk.syncFolder(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

const SECRET = 'secret';
const SECRET_CHARS = 64;
const ATTEMPTS = 20;
const WAIT_MS = 10;

const lineOf = (secret: string): string => `${secret} ${crc32(secret).toString(16).padStart(8, '0')}\n`;
