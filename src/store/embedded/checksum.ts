import { PalimpsestError } from '../../errors.ts';
import { XXHASH64 } from './xxhash64-wasm.ts';

/** As much of it as is used here: it belongs to browsers' types, and Node has it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface XxHash64 {
  readonly memory: { readonly buffer: ArrayBuffer };
  xxh64(at: number, end: number, seed: bigint): bigint;
  /** Its low half. */
  checksum(at: number, end: number, seed: number): number;
}

const { memory, xxh64, checksum } = instantiate();

function instantiate(): XxHash64 {
  try {
    const module = new WebAssembly.Module(Buffer.from(XXHASH64, 'base64'));
    return new WebAssembly.Instance(module).exports as XxHash64;
  } catch (error) {
    throw new PalimpsestError(
      'STORE_FAILED',
      `Expected a process with WebAssembly, for checksums, but found: ${(error as Error).message}; ` +
        'run it without --jitless and with 16 GB of addresses (ulimit -v), or use another store',
    );
  }
}

/** Half of that memory is for whoever reads, the other half for what stands elsewhere. */
export const SCRATCH = 1 << 16;
const copy = new Uint8Array(memory.buffer, SCRATCH, SCRATCH);

/** Memory for one thing after the other, whose checksum needs no copy. To be looked at as bytes and as words. */
export const scratch = Buffer.from(memory.buffer, 0, SCRATCH);
export const scratchWords = new Uint32Array(memory.buffer, 0, SCRATCH / 4);

/** Of a part of what stands in `scratch`. */
export const checksumInScratch = (from: number, to: number, seed = 0): number => checksum(from, to, seed) >>> 0;

/** The low half of XXH64. Of what is longer than 64 KB, the XXH64 of each 64 KB is the seed for the next. */
export function checksumOf(bytes: Uint8Array, seed = 0): number {
  if (bytes.length > SCRATCH) return checksumOfParts(bytes, seed);
  copy.set(bytes);
  return checksum(SCRATCH, SCRATCH + bytes.length, seed) >>> 0;
}

function checksumOfParts(bytes: Uint8Array, seed: number): number {
  let hash = BigInt(seed);
  for (let at = 0; at < bytes.length; at += SCRATCH) {
    const part = bytes.subarray(at, at + SCRATCH);
    copy.set(part);
    hash = xxh64(SCRATCH, SCRATCH + part.length, hash);
  }
  return Number(BigInt.asUintN(32, hash));
}
