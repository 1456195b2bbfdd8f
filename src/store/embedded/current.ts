import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Disk } from './disk.ts';
import { Generation } from './generation.ts';
import { START } from './log.ts';

/** The location of a store. */
export interface Folder {
  readonly disk: Disk;
  readonly folder: string;
}

export interface Written extends Folder {
  /** Throws if another process has taken over. */
  mayWrite?(): void;
}

const CURRENT = 'current';

/** The number of the current generation in the file. Undefined if the file is missing or damaged. */
function readCurrent({ disk, folder }: Folder): number | undefined {
  const path = join(folder, CURRENT);
  if (!disk.exists(path)) return undefined;
  const bytes = Buffer.alloc(64);
  try {
    const file = disk.open(path, 'read');
    const text = bytes.toString('latin1', 0, file.read(bytes, 0));
    file.close();
    const number = Number.parseInt(text, 10);
    return number > 0 && text === lineOf(number) ? number : undefined;
  } catch {
    // A link, or just removed. `chooseCurrent` has other ways to find the number.
    return undefined;
  }
}

/** Makes a generation the current one. */
export async function writeCurrent(place: Written, number: number): Promise<void> {
  await prepareCurrent(place, number);
  await switchCurrent(place, number);
}

/** Writes everything that needs disk space. Two writers never use the same number. */
export async function prepareCurrent({ disk, folder }: Folder, number: number): Promise<void> {
  const next = join(folder, draftOf(number));
  disk.remove(next);
  const file = disk.open(next, 'create');
  try {
    file.write(Buffer.from(lineOf(number)), 0);
    await file.sync();
  } finally {
    file.close();
  }
}

/**
 * Switches to the prepared file. A writer that lost its lock either learns so here, or the new writer finds the prepared file and
 * removes it.
 */
export async function switchCurrent({ disk, folder, mayWrite }: Written, number: number): Promise<void> {
  mayWrite?.();
  await disk.rename(join(folder, draftOf(number)), join(folder, CURRENT));
}

/** Stops another writer from switching to its generation. */
export function removeDrafts({ disk, folder }: Folder): void {
  for (const name of disk.list(folder)) if (/^\d+\.current$/.test(name)) disk.remove(join(folder, name));
}

const draftOf = (number: number): string => `${number}.current`;

/** One more than the highest number of any file in the folder. No writer still uses it for another generation. */
export function nextNumber({ disk, folder }: Folder): number {
  return 1 + disk.list(folder).reduce((most, name) => Math.max(most, numberIn(name) ?? 0), 0);
}

const numberIn = (name: string): number | undefined => {
  const found = /^([1-9]\d{0,8})\.(?:log|index|current|(?:journal|meta)(?:\.next)?)$/.exec(name)?.[1];
  return found === undefined ? undefined : Number(found);
};

const lineOf = (number: number): string => `${number} ${crc32(String(number)).toString(16).padStart(8, '0')}\n`;

/**
 * The current generation. If the file that names it is missing or damaged: the oldest one that is not marked as moved, since the
 * next may be unfinished. None if no store was ever finished in the folder.
 */
export function chooseCurrent(place: Folder): { readonly number?: number; readonly problem?: string } {
  const named = readCurrent(place);
  if (named !== undefined && place.disk.exists(join(place.folder, `${named}.log`))) return { number: named };
  const numbers = logsIn(place);
  if (named !== undefined && numbers.length === 0) return { number: named };
  if (numbers.length === 0 || isUnfinished(place, numbers, named)) return {};
  const number = numbers.find((one) => !Generation.isMoved({ ...place, number: one })) ?? (numbers.at(-1) as number);
  return { number, problem: `the file current was missing or damaged; generation ${number} was taken` };
}

/** The process that created the store was killed before it finished, so nothing was acknowledged. */
function isUnfinished({ disk, folder }: Folder, numbers: readonly number[], named: number | undefined): boolean {
  if (named !== undefined || numbers.length !== 1 || numbers[0] !== 1) return false;
  const log = disk.open(join(folder, '1.log'), 'read');
  try {
    return log.size() <= START;
  } finally {
    log.close();
  }
}

const logsIn = ({ disk, folder }: Folder): number[] =>
  (disk.exists(folder) ? disk.list(folder) : [])
    .flatMap((name) => (/^[1-9]\d{0,8}\.log$/.test(name) ? [Number.parseInt(name, 10)] : []))
    .sort((a, b) => a - b);

/**
 * Removes the files of other generations: unfinished compactions and replaced generations. Returns whether there were any. It
 * lists the files before it calls `mayWrite`, so it never lists files of a writer that took over. Logs are removed last, the
 * highest number at the end: until then `nextNumber` cannot reuse a number.
 */
export function removeOthers(place: Written, number: number): boolean {
  const { disk, folder } = place;
  const names = disk.list(folder).filter((name) => (numberIn(name) ?? number) !== number);
  const logs = logsIn(place).filter((other) => other !== number);
  place.mayWrite?.();
  for (const old of logs) if (old < number) leave({ ...place, number: old });
  for (const name of names) if (!name.endsWith('.log')) disk.remove(join(folder, name));
  for (const other of logs) disk.remove(join(folder, `${other}.log`));
  return names.length > 0;
}

/** Marks the log as moved for processes that still read it, in case its writer was killed before it did. */
function leave(place: Folder & { readonly number: number }): void {
  try {
    if (!Generation.isMoved(place)) Generation.markMoved(place);
  } catch {
    // A log that cannot be opened has no readers.
  }
}
