import { hash } from 'node:crypto';
import type { Digest } from '../handle.ts';
import { toBytes } from '../text-bytes.ts';

/** The bodies of several texts in one value, and where each begins. */
export interface Bodies {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

/** The bodies of a batch, equal ones once. */
export interface EncodedBatch extends Bodies {
  readonly digests: readonly Digest[];
  readonly lengths: readonly number[];
  readonly memory: Buffer;
}

/**
 * Encodes each text once: the bytes that are hashed are those that are sent. Returns undefined if they are more than `BATCH_BYTES`.
 * The memory must not change before the batch is written: see `giveBack`.
 */
export function encode(items: readonly { readonly text: string }[]): EncodedBatch | undefined {
  const memory = takeMemory(items);
  const [starts, lengths, digests]: [number[], number[], Digest[]] = [[], [], []];
  const known = new Map<Digest, number>();
  let end = 0;
  for (const { text } of items) {
    if (!fits(text, memory.length - end)) {
      giveBack({ memory });
      return undefined;
    }
    const length = writeBody(text, memory, end);
    const digest = hash('sha256', memory.subarray(end, end + length), 'binary');
    const start = known.get(digest) ?? end;
    if (start === end) {
      known.set(digest, start);
      end += length;
    }
    starts.push(start);
    lengths.push(length);
    digests.push(digest);
  }
  return { bytes: memory.subarray(0, end), starts, lengths, digests, memory };
}

/** A character has at most three bytes for each of its UTF-16 units. To count them takes as long as to write them. */
const fits = (text: string, bytes: number): boolean => 3 * text.length <= bytes || storedLength(text) <= bytes;

/** The bodies of these texts. `undefined` stands for a text without one. */
export function bodiesOf(texts: readonly (string | undefined)[]): Bodies {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + (text === undefined ? 0 : storedLength(text)), 0));
  let end = 0;
  const starts = texts.map((text) => {
    const start = end;
    if (text !== undefined) end += writeBody(text, bytes, end);
    return start;
  });
  return { bytes, starts };
}

/** The size of `toBytes`. */
export const storedLength = (text: string): number =>
  text.isWellFormed() ? Buffer.byteLength(text) : 1 + 2 * text.length;

const writeBody = (text: string, bytes: Buffer, start: number): number =>
  text.isWellFormed() ? bytes.write(text, start) : toBytes(text).copy(bytes, start);

/** The bodies that one statement stores. */
export const BATCH_BYTES = 8_000_000;

/**
 * Memory for one batch at a time, of all stores of the process: to get new pages from the system takes longer than to fill them. Pages
 * that no batch has filled yet take no space.
 */
let spare: Buffer | undefined;
let isLent = false;

function takeMemory(items: readonly { readonly text: string }[]): Buffer {
  if (isLent)
    return Buffer.allocUnsafe(Math.min(BATCH_BYTES, 3 * items.reduce((sum, { text }) => sum + text.length, 1)));
  isLent = true;
  spare ??= Buffer.allocUnsafeSlow(BATCH_BYTES);
  return spare;
}

/** To be called when a batch is written. */
export function giveBack({ memory }: { readonly memory: Buffer }): void {
  if (memory === spare) isLent = false;
}

/** To be called when a batch has failed: its bytes may still be on their way, so its memory is not used again. */
export function giveUp({ memory }: { readonly memory: Buffer }): void {
  if (memory !== spare) return;
  spare = undefined;
  isLent = false;
}
