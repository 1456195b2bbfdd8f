import { PalimpsestError } from '../../../errors.ts';
import { sessionLimits } from '../../../limits.ts';

/** Marks values that JSON cannot express. */
const MARK = '$palimpsest';

/**
 * Writes a value as JSON that reads back as the same value. Bytes, dates and URLs are marked. Values that would read back
 * differently are refused.
 */
export function encodeValue(value: unknown): string {
  return JSON.stringify(toPlain(value, [], 0));
}

/** Reads what `encodeValue` wrote. */
export function decodeValue(json: string): unknown {
  return json.includes(MARK) ? JSON.parse(json, (_key, value) => fromMarked(value)) : JSON.parse(json);
}

type Path = readonly (string | number)[];

function toPlain(value: unknown, path: Path, depth: number): unknown {
  if (depth > sessionLimits.depth) throw refused(path, 'something nested too deeply, or in a circle');
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return Array.from(value, (item, i) => toPlain(item, [...path, i], depth + 1));
  if (typeof value === 'object') return isPlain(value) ? plainObject(value, path, depth) : toMarked(value, path);
  throw refused(path, typeof value === 'number' ? String(value) : typeof value);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function plainObject(value: object, path: Path, depth: number): unknown {
  if (Object.hasOwn(value, MARK)) throw refused([...path, MARK], 'a name that is used to mark bytes and dates');
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  // Not by assignment: a key may be `__proto__`.
  return Object.fromEntries(entries.map(([key, item]) => [key, toPlain(item, [...path, key], depth + 1)]));
}

function toMarked(value: object, path: Path): unknown {
  if (value instanceof Uint8Array) return { [MARK]: 'bytes', value: base64(value) };
  if (value instanceof ArrayBuffer) return { [MARK]: 'buffer', value: base64(new Uint8Array(value)) };
  if (value instanceof URL) return { [MARK]: 'url', value: value.href };
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { [MARK]: 'date', value: value.toISOString() };
  throw refused(path, `an instance of ${value.constructor?.name ?? 'a class'}`);
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

function fromMarked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MARK)) return value;
  const { [MARK]: kind, value: text } = value as { [MARK]: string; value: string };
  if (kind === 'bytes') return new Uint8Array(Buffer.from(text, 'base64'));
  if (kind === 'buffer') return new Uint8Array(Buffer.from(text, 'base64')).buffer;
  if (kind === 'url') return new URL(text);
  return kind === 'date' ? new Date(text) : value;
}

function refused(path: Path, found: string): PalimpsestError {
  const where = path.length === 0 ? 'it' : path.join('.');
  return new PalimpsestError(
    'BAD_INPUT',
    `Expected what can be written as JSON but found ${found} at ${where}; add plain objects, texts, numbers and lists`,
  );
}

/** Whether an error means that a string would be too long. */
export const isTooLong = (error: unknown): boolean =>
  error instanceof RangeError || (error as { code?: string }).code === 'ERR_STRING_TOO_LONG';
