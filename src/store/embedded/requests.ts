import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PalimpsestError } from '../../errors.ts';
import type { Store } from '../store.ts';

/** Upkeep that another process may ask of the one that writes. */
export type UpkeepMethod = 'delete' | 'prune' | 'gc';
const METHODS: readonly string[] = ['delete', 'prune', 'gc'] satisfies UpkeepMethod[];

export interface UpkeepRequest {
  readonly method: UpkeepMethod;
  readonly args: readonly unknown[];
}

const FOLDER = 'requests';
const LOOK_EVERY_MS = 1000;
const ASK_EVERY_MS = 50;
/** A process that serves requests has taken one by then. */
const TAKEN_WITHIN_MS = 15_000;
/** The lock of a process that lives is renewed every few seconds. */
const SILENT_MS = 60_000;
const MOST_BYTES = 1 << 16;

/**
 * Has the process that holds a store do something. The request is a file in the store's folder, which only its owner may
 * write to; the process takes it, does it, and leaves the answer beside it. No network, and no token.
 */
export async function askWriter(folder: string, request: UpkeepRequest): Promise<unknown> {
  const lock = readText(join(folder, 'lock'));
  const path = join(folder, FOLDER, randomUUID());
  fs.mkdirSync(join(folder, FOLDER), { recursive: true, mode: 0o700 });
  writeWhole(`${path}.request`, request);
  try {
    const answer = await answerTo(path, { folder, lock });
    if (answer.error) throw new PalimpsestError(answer.error.code, answer.error.message);
    return answer.value;
  } finally {
    for (const kind of ['request', 'taken', 'answer']) fs.rmSync(`${path}.${kind}`, { force: true });
  }
}

interface Answer {
  readonly value?: unknown;
  readonly error?: { readonly code: PalimpsestError['code']; readonly message: string };
}

async function answerTo(path: string, { folder, lock }: { folder: string; lock: string | undefined }): Promise<Answer> {
  const began = performance.now();
  for (;;) {
    const answer = readText(`${path}.answer`);
    if (answer !== undefined) return JSON.parse(answer);
    const isWaiting = fs.existsSync(`${path}.request`);
    if (isWaiting && performance.now() - began > TAKEN_WITHIN_MS) throw unanswered('does not take requests');
    if (!isHeld(folder, lock)) throw unanswered('ended before it answered');
    await setTimeout(ASK_EVERY_MS);
  }
}

/** Whether the process that held the store when it was asked may still be at it. */
function isHeld(folder: string, lock: string | undefined): boolean {
  const path = join(folder, 'lock');
  const renewedAt = fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readText(path) === lock && Date.now() - renewedAt < SILENT_MS;
}

const unanswered = (what: string): PalimpsestError =>
  new PalimpsestError(
    'STORE_LOCKED',
    `Expected the process that holds the store to do this but it ${what}; try again, or stop that process first`,
  );

/** Does what other processes ask of this one, which writes. Answers how to stop. */
export function serveRequests(folder: string, store: Store): () => void {
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      for (const path of requestsIn(folder)) await serve(path, store);
    } catch {
      // The folder is gone, or full: whoever asked is told that nobody answers.
    } finally {
      isBusy = false;
    }
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The paths of requests that nobody has taken. */
function requestsIn(folder: string): string[] {
  const place = join(folder, FOLDER);
  // A link would lead out of the store's folder.
  if (!fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory()) return [];
  return fs
    .readdirSync(place)
    .flatMap((name) => (/^[\w-]+\.request$/.test(name) ? [join(place, name.replace(/\.request$/, ''))] : []));
}

async function serve(path: string, store: Store): Promise<void> {
  fs.renameSync(`${path}.request`, `${path}.taken`);
  const answer = await perform(readText(`${path}.taken`), store);
  // Whoever asked has given up.
  if (!fs.existsSync(`${path}.taken`)) return;
  writeWhole(`${path}.answer`, answer);
}

async function perform(text: string | undefined, store: Store): Promise<Answer> {
  try {
    const { method, args } = JSON.parse(text ?? '') as UpkeepRequest;
    if (!METHODS.includes(method) || !Array.isArray(args)) throw new TypeError();
    const call = store[method] as (...values: readonly unknown[]) => Promise<unknown>;
    return { value: await call.apply(store, args) };
  } catch (error) {
    if (error instanceof PalimpsestError) return { error: { code: error.code, message: error.message } };
    return { error: { code: 'BAD_INPUT', message: 'Expected a request of palimpsest store but found something else' } };
  }
}

/** A file that appears with all that is in it. */
function writeWhole(path: string, value: object): void {
  fs.writeFileSync(`${path}.next`, JSON.stringify(value), { flag: 'wx', mode: 0o600 });
  fs.renameSync(`${path}.next`, path);
}

/** Undefined where there is no such file. No link is followed. */
function readText(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0));
    const bytes = Buffer.alloc(MOST_BYTES);
    return bytes.toString('utf8', 0, fs.readSync(file, bytes, 0, MOST_BYTES, 0));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}
