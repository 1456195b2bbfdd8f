import { PalimpsestError } from '../../errors.ts';
import { XXHASH64 } from './xxhash64-wasm.ts';

/** The part of WebAssembly that is used here. Node has it, but only the types of browsers declare it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface XxHash64 {
  readonly memory: { readonly buffer: ArrayBuffer };
  xxh64(at: number, end: number, seed: bigint): bigint;
  /** The low half of the hash. */
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

/** Half of the WebAssembly memory is for readers. The other half holds copies of data from elsewhere. */
export const SCRATCH = 1 << 16;
const copy = new Uint8Array(memory.buffer, SCRATCH, SCRATCH);

/** Reused memory whose checksum needs no copy, as bytes and as words. */
export const scratch = Buffer.from(memory.buffer, 0, SCRATCH);
export const scratchWords = new Uint32Array(memory.buffer, 0, SCRATCH / 4);

/** The checksum of a part of `scratch`. */
export const checksumInScratch = (from: number, to: number, seed = 0): number => checksum(from, to, seed) >>> 0;

/** The low half of XXH64. Longer data is hashed in parts of 64 KB: each hash is the seed of the next. */
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
