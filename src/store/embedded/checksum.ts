import { XXHASH64 } from './xxhash64-wasm.ts';

/** As much of it as is used here: it belongs to browsers' types, and Node has it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface XxHash64 {
  readonly memory: { readonly buffer: ArrayBuffer };
  checksum(at: number, end: number, seed: number): number;
}

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(XXHASH64, 'base64')));
const { memory, checksum } = exports as XxHash64;

/** Half of that memory is for whoever reads, the other half for what stands elsewhere. */
export const SCRATCH = 1 << 16;
const copy = new Uint8Array(memory.buffer, SCRATCH, SCRATCH);

/** Memory for one thing after the other, whose checksum needs no copy. To be looked at as bytes and as words. */
export const scratch = Buffer.from(memory.buffer, 0, SCRATCH);
export const scratchWords = new Uint32Array(memory.buffer, 0, SCRATCH / 4);

/** Of a part of what stands in `scratch`. */
export const checksumInScratch = (from: number, to: number): number => checksum(from, to, 0) >>> 0;

/** The low half of XXH64. Of what is longer than 64 KB, each 64 KB are the seed for the next. */
export function checksumOf(bytes: Uint8Array): number {
  if (bytes.length <= SCRATCH) return checksumOfPart(bytes, 0);
  let seed = 0;
  for (let at = 0; at < bytes.length; at += SCRATCH) seed = checksumOfPart(bytes.subarray(at, at + SCRATCH), seed);
  return seed;
}

function checksumOfPart(bytes: Uint8Array, seed: number): number {
  copy.set(bytes);
  return checksum(SCRATCH, SCRATCH + bytes.length, seed) >>> 0;
}
