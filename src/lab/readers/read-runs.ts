import { type ErrorCode, PalimpsestError } from '../../errors.ts';
import { badOption } from '../../options.ts';
import type { Context, RunFormat } from '../run.ts';
import { detectRunFormat, logReaders } from './detect-run-format.ts';
import { findLogs } from './find-logs.ts';
import type { Fields } from './json-values.ts';
import type { LogReader } from './log-reader.ts';
import { readRecords } from './records.ts';

/** How logs are read, and callbacks for unreadable parts. */
export interface ReadOptions {
  /** Reads every file in this format, whatever it looks like. @default detected */
  readonly format?: RunFormat | undefined;
  /** The content of the file `-`. @default none */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  /** Called for every file that could not be read. Without it, a missing path throws NOT_FOUND. @default none */
  onSkip?(file: string, reason: string): void;
  /** Called for unreadable records in a file that is otherwise read. @default none */
  onDamage?(file: string, reason: string): void;
}

/**
 * Reads the runs in files, folders and globs, one context at a time. Unreadable parts are reported and skipped.
 *
 * @example
 * ```ts
 * import { readRuns } from 'palimpsest/lab';
 *
 * for await (const { file, format, messages } of readRuns(['logs'])) console.log(file, format, messages.length);
 * ```
 */
export async function* readRuns(
  paths: readonly string[],
  options: ReadOptions = {},
): AsyncGenerator<Context, void, undefined> {
  if (options.format !== undefined) readerOf(options.format);
  // The letters of a text would be taken for paths.
  if (typeof paths === 'string') throw badOption('the paths of readRuns', 'a list of texts', paths);
  for (const file of await findLogs(paths, options.onSkip ?? throwForMissing(paths))) {
    try {
      yield* readLog(file, options);
    } catch (error) {
      options.onSkip?.(file, error instanceof Error ? error.message : String(error));
    }
  }
}

/** A misspelt folder must not look like one without runs. */
function throwForMissing(paths: readonly string[]): NonNullable<ReadOptions['onSkip']> {
  return (path, reason) => {
    if (paths.includes(path)) throw new PalimpsestError('NOT_FOUND', `Expected logs at ${path} but ${reason}`);
  };
}

/**
 * Reads one file, whatever it is called. Throws if there is no run in it.
 *
 * @example
 * ```ts
 * import { readLog } from 'palimpsest/lab';
 *
 * for await (const { messages } of readLog('logs/run.jsonl')) console.log(messages.length);
 * ```
 */
export async function* readLog(
  file: string,
  { format, stdin, onDamage }: ReadOptions = {},
): AsyncGenerator<Context, void, undefined> {
  const damage = new Damage();
  const records = readRecords(file, { stdin, onDamage: (reason) => damage.add(reason) });
  const begin = format === undefined ? await untilKnown(records) : [];
  const known = format ?? begin.map(detectRunFormat).find((found) => found !== undefined);
  if (known === undefined) throw unknownLog(begin, damage);
  const reader = readerOf(known);
  let contexts = 0;
  for await (const draft of reader.read(chain(begin, records), file)) {
    contexts += 1;
    yield { file, format: known, ...draft };
  }
  if (contexts === 0) throw noCall(known, damage);
  if (damage.text !== '') onDamage?.(file, damage.text);
}

function readerOf(format: RunFormat): LogReader {
  const found = logReaders.find((reader) => reader.format === format);
  const known = logReaders.map((reader) => reader.format);
  if (!found) throw badOption('the option format', `one of ${known.join(', ')}`, format);
  return found;
}

/** The records up to the first whose format is known. */
async function untilKnown(records: AsyncIterator<Fields>): Promise<Fields[]> {
  const begin: Fields[] = [];
  while (begin.length < MANY_RECORDS) {
    const { done, value } = await records.next();
    if (done) break;
    begin.push(value);
    if (detectRunFormat(value) !== undefined) break;
  }
  return begin;
}

/** The format of a log shows in fewer records. */
const MANY_RECORDS = 200;

async function* chain(begin: readonly Fields[], rest: AsyncIterable<Fields>): AsyncGenerator<Fields, void, undefined> {
  yield* begin;
  yield* rest;
}

/** The first unreadable part and the number of all of them: a broken file may have millions. */
class Damage {
  #first = '';
  #others = -1;

  add(reason: string): void {
    if (this.#others++ < 0) this.#first = reason;
  }

  get text(): string {
    return this.#others > 0 ? `${this.#first}, and ${this.#others} more are unreadable` : this.#first;
  }
}

function unknownLog([first]: readonly Fields[], damage: Damage): PalimpsestError {
  const keys = Object.keys(first ?? {}).slice(0, 6);
  const found = first ? (keys.length > 0 ? `objects with ${keys.join(', ')}` : 'empty objects') : 'no JSON object';
  return readError('UNKNOWN_FORMAT', `Expected the log of an agent but found ${found}`, damage);
}

function noCall(format: RunFormat, damage: Damage): PalimpsestError {
  return readError('BAD_INPUT', `Expected a call of a model in a ${format} log but found none`, damage);
}

const readError = (code: ErrorCode, text: string, damage: Damage): PalimpsestError =>
  new PalimpsestError(code, [text, damage.text].filter((part) => part !== '').join('; '));
