import { type ParseArgsConfig, parseArgs } from 'node:util';
import { nearest } from '../options.ts';
import { UsageError } from './io.ts';

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>>;
export type FlagsOf<T extends Options> = Parsed<T>['values'];

/** Reads flags and files. For a misspelt flag, the error suggests the nearest known one. */
export function parseOptions<const T extends Options>(args: readonly string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(message);
    const flag = /'(--?[^']*)'/.exec(message)?.[1] ?? '';
    const near = nearest(flag.replace(/^-+/, ''), Object.keys(options));
    throw new UsageError(`unknown option ${flag}${near ? `; did you mean --${near}?` : ''}`);
  }
}

/** "; did you mean X?" for a misspelt word. Empty if no known word is near. */
export function hintFor(word: string, known: readonly string[]): string {
  const near = word === '' ? undefined : nearest(word, known);
  return near && near !== word ? `; did you mean ${near}?` : '';
}

export function readCount(flag: string, value: string, least = 1): number {
  if (/^\d+$/.test(value) && Number(value) >= least) return Number(value);
  throw new UsageError(`expected ${flag} to be a whole number of ${least} or more but found '${value}'`);
}
