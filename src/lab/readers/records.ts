import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PalimpsestError } from '../../errors.ts';
import { type Fields, JsonValues } from './json-values.ts';

/**
 * The JSON objects of a file, one after the other: its lines, the elements of its array, or the one that it is.
 * No more of the file is held than the object being read, however large it is. Damage is told, and passed over.
 */
export async function* readRecords(
  file: string,
  onDamage: (reason: string) => void = () => {},
): AsyncGenerator<Fields, void, undefined> {
  const values = new JsonValues(onDamage);
  let found = 0;
  try {
    for await (const record of recordsIn(await openText(file), values)) {
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

async function openText(file: string): Promise<Readable> {
  const isGzip = await startsWith(file, [0x1f, 0x8b]);
  const stream = createReadStream(file, { highWaterMark: 1 << 18 });
  if (!isGzip) return stream;
  const unzipped = createGunzip({ chunkSize: 1 << 18 });
  stream.on('error', (error) => unzipped.destroy(error));
  unzipped.on('close', () => stream.destroy());
  return stream.pipe(unzipped);
}

async function startsWith(file: string, bytes: readonly number[]): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(bytes.length), 0, bytes.length, 0);
    return bytes.every((byte, i) => buffer[i] === byte);
  } finally {
    await handle.close();
  }
}

async function* recordsIn(stream: Readable, values: JsonValues): AsyncGenerator<Fields, void, undefined> {
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

/** Longer lines are looked through as they come, so that an array on one line need not be held. */
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
