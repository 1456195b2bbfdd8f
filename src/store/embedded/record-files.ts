import { constants as fsConstants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RequestRecord } from '../../report/request-record.ts';
import { counted } from '../../text.ts';
import { dayOf, isInRange, type RemovedRecords, startOf } from '../request-records.ts';
import type { Problem, RecordRange } from '../store.ts';
import { nodeDisk } from './disk.ts';

/** Runs around each change. */
export type Guard = <T>(change: () => Promise<T>) => Promise<T>;

/**
 * The records of requests: a file for each day, a line for each record. Lines are only appended; a deletion writes the file
 * of a day again. All of it is asynchronous, so that a slow disk delays no request.
 */
export class RecordFiles {
  readonly #folder: string;
  readonly #guard: Guard;
  /** The last change that began. Changes run one at a time. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(folder: string, guard: Guard) {
    this.#folder = folder;
    this.#guard = guard;
  }

  /** Appends records. Durable when it resolves. On failure none is written, so a retry duplicates nothing. */
  append(records: readonly RequestRecord[]): Promise<void> {
    return this.#guard(async () => {
      const days = new Map<number, string[]>();
      for (const record of records) {
        const all = days.get(dayOf(record.at)) ?? [];
        days.set(dayOf(record.at), all);
        all.push(JSON.stringify(record));
      }
      await this.#alone(() => this.#appendAll(days));
    });
  }

  async #appendAll(days: ReadonlyMap<number, readonly string[]>): Promise<void> {
    const begun: Begun[] = [];
    try {
      for (const [day, all] of days) await this.#append(day, all, begun);
    } catch (error) {
      for (const { path, end } of begun) await fs.truncate(path, end).catch(() => {});
      throw error;
    }
  }

  async #append(day: number, all: readonly string[], begun: Begun[]): Promise<void> {
    const path = this.#pathOf(day);
    const number = await this.#countIn(day);
    const file = await this.#openToAppend(path);
    try {
      const { end, size } = await tailOf(file);
      if (end < size) await file.truncate(end);
      begun.push({ path, end });
      await file.writeFile(all.map((json, i) => lineOf(number + i + 1, json)).join(''));
      await file.datasync();
      if (end === 0) await nodeDisk.syncFolder(this.#folder);
    } finally {
      await file.close();
    }
  }

  async #openToAppend(path: string): Promise<fs.FileHandle> {
    try {
      return await fs.open(path, APPEND, 0o600);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await nodeDisk.makeFolder(this.#folder);
      return fs.open(path, APPEND, 0o600);
    }
  }

  async *read(range: RecordRange): AsyncGenerator<RequestRecord> {
    const { since = 0, until = Number.POSITIVE_INFINITY } = range;
    for (const day of await this.days()) {
      if (startOf(day + 1) <= since || startOf(day) >= until) continue;
      for await (const line of linesIn(this.#pathOf(day))) {
        const record = recordIn(line);
        if (!record) range.onDamaged?.();
        else if (isInRange(record, range)) yield record;
      }
    }
  }

  /** The days, in order. */
  async days(): Promise<number[]> {
    const names = await namesIn(this.#folder);
    return names.flatMap(dayIn).sort((a, b) => a - b);
  }

  async bytes(): Promise<number> {
    let sum = 0;
    for (const day of await this.days()) sum += await this.#sizeOf(day);
    return sum;
  }

  async count(): Promise<number> {
    let sum = 0;
    for (const day of await this.days()) sum += await this.#countIn(day);
    return sum;
  }

  /** The number of the last line. If that line is unreadable, all lines are counted. */
  async #countIn(day: number): Promise<number> {
    let file: fs.FileHandle | undefined;
    try {
      file = await fs.open(this.#pathOf(day), READ);
      const { end, last } = await tailOf(file);
      const read = end === 0 ? undefined : readLine(last);
      if (end === 0 || read) return read?.number ?? 0;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    } finally {
      await file?.close();
    }
    let lines = 0;
    for await (const _ of linesIn(this.#pathOf(day))) lines += 1;
    return lines;
  }

  removeDay(day: number, { dryRun }: { readonly dryRun: boolean }): Promise<RemovedRecords> {
    return this.#change({ dryRun }, async () => {
      const removed = { records: await this.#countIn(day), bytes: await this.#sizeOf(day) };
      if (!dryRun) await this.#remove(day);
      return removed;
    });
  }

  removeWhere(
    isMeant: (record: RequestRecord) => boolean,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<RemovedRecords> {
    return this.#change({ dryRun }, async () => {
      const total = { records: 0, bytes: 0 };
      for (const day of await this.days()) {
        const found = { records: 0, bytes: 0 };
        for await (const line of linesIn(this.#pathOf(day))) {
          const record = recordIn(line);
          if (!record || !isMeant(record)) continue;
          found.records += 1;
          found.bytes += line.length + 1;
        }
        if (found.records > 0 && !dryRun)
          await this.#rewrite(day, (line) => {
            const record = recordIn(line);
            return !record || !isMeant(record);
          });
        total.records += found.records;
        total.bytes += found.bytes;
      }
      return total;
    });
  }

  /** The days that have damaged lines. */
  async problems(): Promise<Problem[]> {
    const problems: Problem[] = [];
    for (const day of await this.days()) {
      const damaged = await this.#damagedIn(day);
      if (damaged > 0)
        problems.push({
          what: `${counted(damaged, 'record')} of requests on ${dateOf(day)} ${damaged === 1 ? 'is' : 'are'} damaged`,
          remedy: 'palimpsest store gc --repair gives them up; all others are read',
        });
    }
    return problems;
  }

  /** Removes damaged lines. Returns how many. */
  repair(): Promise<number> {
    return this.#change({ dryRun: false }, async () => {
      let sum = 0;
      for (const day of await this.days()) {
        const damaged = await this.#damagedIn(day);
        if (damaged > 0) await this.#rewrite(day, (line) => recordIn(line) !== undefined);
        sum += damaged;
      }
      return sum;
    });
  }

  async #damagedIn(day: number): Promise<number> {
    let damaged = 0;
    for await (const line of linesIn(this.#pathOf(day))) if (!recordIn(line)) damaged += 1;
    return damaged;
  }

  /** Writes a new file and renames it over the old one, so readers always find a complete file. */
  async #rewrite(day: number, keeps: (line: Buffer) => boolean): Promise<void> {
    const path = this.#pathOf(day);
    const file = await fs.open(`${path}.next`, REPLACE, 0o600);
    try {
      let kept: (Buffer | string)[] = [];
      let number = 0;
      const flush = async (): Promise<void> => {
        await file.writeFile(Buffer.concat(kept.map((line) => Buffer.from(line))));
        kept = [];
      };
      for await (const line of linesIn(path)) {
        if (!keeps(line)) continue;
        number += 1;
        const read = readLine(line);
        kept.push(read ? lineOf(number, read.json) : Buffer.concat([line, NEWLINE]));
        if (kept.length > LINES_AT_ONCE) await flush();
      }
      await flush();
      await file.datasync();
    } catch (error) {
      // Its part of a full disk is room for texts.
      await fs.rm(`${path}.next`, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    await nodeDisk.rename(`${path}.next`, path);
    if ((await this.#sizeOf(day)) === 0) await this.#remove(day);
  }

  async #remove(day: number): Promise<void> {
    await fs.rm(this.#pathOf(day), { force: true });
    await nodeDisk.syncFolder(this.#folder);
  }

  #change<T>({ dryRun }: { readonly dryRun: boolean }, work: () => Promise<T>): Promise<T> {
    return dryRun ? this.#alone(work) : this.#guard(() => this.#alone(work));
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#changing.then(work);
    this.#changing = run.catch(() => {});
    return run;
  }

  async #sizeOf(day: number): Promise<number> {
    try {
      return (await fs.stat(this.#pathOf(day))).size;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  #pathOf(day: number): string {
    return join(this.#folder, `${dateOf(day)}.ndjson`);
  }
}

const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fsConstants;
/** Follows no symbolic link, and does not wait for a pipe. */
const CAREFUL = O_NOFOLLOW | O_NONBLOCK;
const APPEND = O_RDWR | O_APPEND | O_CREAT | CAREFUL;
const REPLACE = O_WRONLY | O_TRUNC | O_CREAT | CAREFUL;
const READ = O_RDONLY | CAREFUL;

const LINES_AT_ONCE = 1000;

const LF = 10;
const NEWLINE = Buffer.from('\n');

/** An open file and its size before the append. */
interface Begun {
  readonly path: string;
  readonly end: number;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const dateOf = (day: number): string => new Date(startOf(day)).toISOString().slice(0, 10);

function dayIn(name: string): number[] {
  const date = /^(\d{4}-\d\d-\d\d)\.ndjson$/.exec(name)?.[1];
  const time = Date.parse(date ?? '');
  return Number.isNaN(time) ? [] : [dayOf(time)];
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await fs.readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A line: a checksum in hexadecimal, then the line's number, a space and the JSON. The checksum covers all of these. */
function lineOf(number: number, json: string): string {
  const rest = `${number} ${json}`;
  return `${checksumOf(rest)} ${rest}\n`;
}

const checksumOf = (rest: string | Buffer): string => crc32(rest).toString(16).padStart(8, '0');

/** Undefined if the line is damaged. */
function readLine(line: Buffer): { readonly number: number; readonly json: string } | undefined {
  if (line.toString('latin1', 0, 9) !== `${checksumOf(line.subarray(9))} `) return undefined;
  const rest = line.toString('utf8', 9);
  const space = rest.indexOf(' ');
  return { number: Number(rest.slice(0, space)), json: rest.slice(space + 1) };
}

function recordIn(line: Buffer): RequestRecord | undefined {
  const read = readLine(line);
  return read && (JSON.parse(read.json) as RequestRecord);
}

/** The complete lines of a file. A last line without a newline is still being written, or its writer was killed. */
async function* linesIn(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    const file = await fs.open(path, READ);
    for await (const chunk of file.createReadStream()) {
      const bytes: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk as Buffer]) : (chunk as Buffer);
      let from = 0;
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
        yield bytes.subarray(from, end);
        from = end + 1;
      }
      rest = bytes.subarray(from);
    }
  } catch (error) {
    // Retention removed the file meanwhile.
    if (!isMissing(error)) throw error;
  }
}

/** The size of a file, the end of its last complete line, and that line. */
async function tailOf(file: fs.FileHandle): Promise<{ size: number; end: number; last: Buffer }> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(Math.min(size, LONGEST_LINE));
  await file.read(tail, 0, tail.length, size - tail.length);
  const newline = tail.lastIndexOf(LF);
  const start = newline <= 0 ? 0 : tail.lastIndexOf(LF, newline - 1) + 1;
  return { size, end: size - tail.length + newline + 1, last: tail.subarray(start, Math.max(0, newline)) };
}

/** A record is much shorter: its names have at most 256 characters. */
const LONGEST_LINE = 64 * 1024;
