import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The token of this user's gateway: the one in the file, otherwise a new one. Only the user can read it. */
export function keepToken(path: string): string {
  return readToken(path) ?? writeToken(path);
}

function readToken(path: string): string | undefined {
  let file: number;
  try {
    // With a link in its place, someone else could choose the token.
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  try {
    const isOpen = (fstatSync(file).mode & 0o077) !== 0 && process.platform !== 'win32';
    const token = readFileSync(file, 'utf8').trim();
    // A token that others could read is no longer secret.
    return isOpen || !TOKEN.test(token) ? undefined : token;
  } finally {
    closeSync(file);
  }
}

const TOKEN = /^[A-Za-z0-9_-]{32,}$/;

function writeToken(path: string): string {
  const token = randomBytes(32).toString('base64url');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx' });
  return token;
}
