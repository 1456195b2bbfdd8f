import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PalimpsestError } from '../../errors.ts';
import { storeLimits } from '../../limits.ts';
import type { Store } from '../store.ts';

/** Upkeep that another process may request from the writer. */
export type UpkeepMethod = 'delete' | 'prune' | 'gc';
const METHODS: readonly string[] = ['delete', 'prune', 'gc'] satisfies UpkeepMethod[];

export interface UpkeepRequest {
  readonly method: UpkeepMethod;
  readonly args: readonly unknown[];
}

/** A request as its file holds it. */
interface SentRequest extends UpkeepRequest {
  /** The nonce of the writer's lock. Another process does not carry out the request. */
  readonly to: string;
}

const FOLDER = 'requests';
const LOOK_EVERY_MS = 1000;
const ASK_EVERY_MS = 50;
const { requestBytes, requestWaitMs, requestSilentMs, writerSilentMs, answerMs } = storeLimits;

/**
 * Requests upkeep from the process that writes to a store. The request is a file in the store's folder, which only its owner may
 * write to. The writer takes it, carries it out, and leaves the answer next to it. No network or token is needed.
 */
export async function askWriter(folder: string, request: UpkeepRequest): Promise<unknown> {
  const lock = readText(join(folder, 'lock'));
  makeFolder(join(folder, FOLDER));
  const path = join(folder, FOLDER, randomUUID());
  const sent: SentRequest = { ...request, to: nonceIn(lock) };
  writeWhole(`${path}.request`, sent);
  try {
    const answer = await answerTo(path, { folder, lock });
    if (answer.error) throw new PalimpsestError(answer.error.code, answer.error.message);
    return answer.value;
  } finally {
    for (const kind of KINDS) fs.rmSync(`${path}.${kind}`, { force: true });
  }
}

function makeFolder(place: string): void {
  const found = fs.lstatSync(place, { throwIfNoEntry: false });
  if (!found) fs.mkdirSync(place, { recursive: true, mode: 0o700 });
  else if (!found.isDirectory())
    throw new PalimpsestError(
      'STORE_FAILED',
      `Expected ${place} to be a folder but found ${found.isSymbolicLink() ? 'a symbolic link' : 'a file'}; remove it and run the command again`,
    );
}

/** The files of a request, in the order in which they appear. */
const KINDS = ['request', 'taken', 'answer'];

interface Answer {
  readonly value?: unknown;
  readonly error?: { readonly code: PalimpsestError['code']; readonly message: string };
}

async function answerTo(path: string, { folder, lock }: { folder: string; lock: string | undefined }): Promise<Answer> {
  const began = performance.now();
  for (;;) {
    const isWaiting = renew(path);
    const isGone = !isWaiting && KINDS.every((kind) => !fs.existsSync(`${path}.${kind}`));
    const answer = readText(`${path}.answer`);
    if (answer !== undefined) return JSON.parse(answer);
    if (isGone) throw unanswered('removed the request', MAYBE_DONE);
    if (!isHeld(folder, lock)) throw unanswered('ended before it answered', withdraw(path) ? NOT_DONE : MAYBE_DONE);
    const isLate = isWaiting && performance.now() - began > requestWaitMs;
    if (isLate && withdraw(path))
      throw unanswered(`did not take the request within ${requestWaitMs / 1000} s`, NOT_DONE);
    await setTimeout(ASK_EVERY_MS);
  }
}

/** Shows the writer that the requesting process still runs. Returns whether the request is not taken yet. */
function renew(path: string): boolean {
  const now = new Date();
  const isRenewed = (kind: string): boolean => {
    try {
      fs.utimesSync(`${path}.${kind}`, now, now);
      return true;
    } catch {
      return false;
    }
  };
  if (isRenewed('request')) return true;
  isRenewed('taken');
  return false;
}

/** Withdraws the request. Returns false if the writer has already taken it. */
function withdraw(path: string): boolean {
  try {
    fs.rmSync(`${path}.request`);
    return true;
  } catch {
    return false;
  }
}

/** Whether the process that held the store at the time of the request may still run. */
function isHeld(folder: string, lock: string | undefined): boolean {
  const path = join(folder, 'lock');
  const renewedAt = fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readText(path) === lock && Date.now() - renewedAt < writerSilentMs;
}

function nonceIn(lock: string | undefined): string {
  try {
    return String((JSON.parse(lock ?? '') as { nonce?: unknown }).nonce);
  } catch {
    return '';
  }
}

const NOT_DONE = 'nothing was done, and nothing will be; try again, or stop that process first';
const MAYBE_DONE =
  'the work may be done, in whole or in part, or may still happen; look with palimpsest store stats before you try again';

const unanswered = (what: string, outcome: string): PalimpsestError =>
  new PalimpsestError(
    'STORE_LOCKED',
    `Expected the process that holds the store to do this but it ${what}; ${outcome}`,
  );

/**
 * Carries out requests of other processes. `nonce` returns the nonce of the writer's lock. Requests to another writer, and
 * requests whose process is gone, are refused. Returns a function that stops it.
 */
export function serveRequests(folder: string, store: Store, nonce: () => string): () => void {
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      removeLeftovers(folder);
      for (const path of requestsIn(folder)) await serve(path, store, nonce());
    } catch {
      // The folder is gone, or the disk is full. The requesting process gives up after a while.
    } finally {
      isBusy = false;
    }
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The paths of requests that no process has taken. */
function requestsIn(folder: string): string[] {
  return namesIn(folder).flatMap((name) =>
    /^[\w-]+\.request$/.test(name) ? [join(folder, FOLDER, name.replace(/\.request$/, ''))] : [],
  );
}

/** Removes files of processes that were killed, or of an earlier writer. */
function removeLeftovers(folder: string): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, FOLDER, name);
    if (/^[\w-]+\.(?:request|taken|answer)(?:\.next)?$/.test(name) && ageOf(path) > answerMs)
      fs.rmSync(path, { force: true });
  }
}

function namesIn(folder: string): string[] {
  const place = join(folder, FOLDER);
  // A link would lead out of the store's folder.
  return fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ? fs.readdirSync(place) : [];
}

/** The age of a file, in both directions: a clock may have been set back. */
function ageOf(path: string): number {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  return found ? Math.abs(Date.now() - found.mtimeMs) : 0;
}

async function serve(path: string, store: Store, nonce: string): Promise<void> {
  try {
    fs.renameSync(`${path}.request`, `${path}.taken`);
  } catch {
    // The sender withdrew the request.
    return;
  }
  const request = readRequest(readText(`${path}.taken`));
  const refusal = refusalOf(request, { nonce, silentMs: ageOf(`${path}.taken`) });
  if (refusal !== undefined) {
    // The sender may only be paused. It looks for an answer when it continues.
    writeWhole(`${path}.answer`, { error: { code: 'STORE_LOCKED', message: unanswered(refusal, NOT_DONE).message } });
    fs.rmSync(`${path}.taken`, { force: true });
    return;
  }
  const answer = await perform(request, store);
  // The requesting process has given up.
  if (!fs.existsSync(`${path}.taken`)) return;
  writeWhole(`${path}.answer`, answer);
}

function refusalOf(
  request: SentRequest | undefined,
  { nonce, silentMs }: { readonly nonce: string; readonly silentMs: number },
): string | undefined {
  if (silentMs > requestSilentMs)
    return `refused, because the request was not renewed for more than ${requestSilentMs / 1000} s`;
  return request && request.to !== nonce ? 'ended before it took the request' : undefined;
}

/** Undefined if the text is no request. */
function readRequest(text: string | undefined): SentRequest | undefined {
  try {
    const request = JSON.parse(text ?? '') as Partial<SentRequest>;
    const isRequest =
      METHODS.includes(request.method ?? '') && Array.isArray(request.args) && typeof request.to === 'string';
    return isRequest ? (request as SentRequest) : undefined;
  } catch {
    return undefined;
  }
}

async function perform(request: SentRequest | undefined, store: Store): Promise<Answer> {
  try {
    if (!request) throw new TypeError();
    const call = store[request.method] as (...values: readonly unknown[]) => Promise<unknown>;
    return { value: await call.apply(store, [...request.args]) };
  } catch (error) {
    if (error instanceof PalimpsestError) return { error: { code: error.code, message: error.message } };
    return { error: { code: 'BAD_INPUT', message: 'Expected a request of palimpsest store but found something else' } };
  }
}

/** Writes a file under another name first, so that a reader finds all of it or none. */
function writeWhole(path: string, value: object): void {
  fs.writeFileSync(`${path}.next`, JSON.stringify(value), { flag: 'wx', mode: 0o600 });
  fs.renameSync(`${path}.next`, path);
}

/** Undefined if the file does not exist. Links are not followed. */
function readText(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0));
    const bytes = Buffer.alloc(requestBytes);
    return bytes.toString('utf8', 0, fs.readSync(file, bytes, 0, requestBytes, 0));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}
