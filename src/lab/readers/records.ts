import { createReadStream } from 'node:fs';
import { pipeline, type Transform } from 'node:stream';
import zlib, { createGunzip } from 'node:zlib';
import { PalimpsestError } from '../../errors.ts';
import { type Fields, JsonValues } from './json-values.ts';

/** The source of records, and the function that is called for unreadable ones. */
export interface RecordOptions {
  /** The content of the file `-`. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  onDamage?(reason: string): void;
}

/**
 * The JSON objects of a file, one after the other: its lines, the elements of its array, or its only object. Only the object being read is
 * held in memory. Damage is reported and skipped.
 */
export async function* readRecords(
  file: string,
  { stdin, onDamage = () => {} }: RecordOptions = {},
): AsyncGenerator<Fields, void, undefined> {
  const values = new JsonValues(onDamage);
  let found = 0;
  try {
    const source = file === '-' && stdin ? stdin : createReadStream(file, { highWaterMark: 1 << 18 });
    for await (const record of recordsIn(await openText(source), values)) {
      found += 1;
      yield record;
    }
  } catch (error) {
    const reason = reasonOf(error);
    if (found === 0) throw new PalimpsestError('BAD_INPUT', `Expected a file to read but ${reason}`);
    onDamage(reason);
  }
  values.end();
}

/** Looks at the first bytes without losing them: a pipe cannot be read twice. */
async function openText(source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const chunks = source[Symbol.asyncIterator]();
  const begin = await firstBytes(chunks, ZSTD.length);
  const whole = joined(begin, chunks);
  const isZstd = begin.subarray(0, ZSTD.length).equals(ZSTD);
  if (isZstd && !createZstdDecompress) {
    await chunks.return?.();
    throw new Error('it is compressed with zstd, which needs Node 22.15 or newer');
  }
  if (!isZstd && !begin.subarray(0, GZIP.length).equals(GZIP)) return whole;
  const unzipped = isZstd && createZstdDecompress ? createZstdDecompress() : createGunzip({ chunkSize: 1 << 18 });
  // Errors reach the reader of the unzipped stream.
  pipeline(whole, unzipped, () => {});
  return unzipped;
}

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Codex compresses old sessions with zstd, which Node has since 22.15. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };

/** Reads at least this many bytes, if there are as many. */
async function firstBytes(chunks: AsyncIterator<Uint8Array>, least: number): Promise<Buffer> {
  let begin = Buffer.alloc(0);
  while (begin.length < least) {
    const { done, value } = await chunks.next();
    if (done) break;
    begin = Buffer.concat([begin, value]);
  }
  return begin;
}

async function* joined(begin: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield begin;
    yield* { [Symbol.asyncIterator]: () => chunks };
  } finally {
    await chunks.return?.();
  }
}

async function* recordsIn(
  stream: AsyncIterable<Uint8Array>,
  values: JsonValues,
): AsyncGenerator<Fields, void, undefined> {
  const decoder = new TextDecoder();
  let begun = '';
  for await (const chunk of stream) {
    const lines = `${begun}${decoder.decode(chunk, { stream: true })}`.split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) yield* values.line(line);
    if (begun.length <= LONG_LINE) continue;
    yield* values.part(begun);
    begun = '';
  }
  yield* values.line(`${begun}${decoder.decode()}`);
}

/** Longer lines are parsed in pieces, so that an array on one line need not be held in memory. */
const LONG_LINE = 1 << 22;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  Z_BUF_ERROR: 'its gzip data ends too early',
  Z_DATA_ERROR: 'its gzip data is damaged',
};

export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[String(code)] ?? message ?? String(error);
}
