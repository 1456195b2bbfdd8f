import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import wabt from 'wabt';
import { checksumInScratch, checksumOf, SCRATCH, scratch } from './checksum.ts';
import { XXHASH64 } from './xxhash64-wasm.ts';

const bytesOf = (length: number): Buffer => Buffer.from(Uint8Array.from({ length }, (_, i) => (i * i * 31 + i) >> 3));

describe('checksumOf', () => {
  it('is the low half of XXH64', () => {
    // ef46db3751d8e999, d24ec4f1a98c6e5b, 44bc2cf5ad770999 and 0b242d361fda71bc, as everybody has them.
    expect(checksumOf(Buffer.from(''))).toBe(0x51d8e999);
    expect(checksumOf(Buffer.from('a'))).toBe(0xa98c6e5b);
    expect(checksumOf(Buffer.from('abc'))).toBe(0xad770999);
    expect(checksumOf(Buffer.from('The quick brown fox jumps over the lazy dog'))).toBe(0x1fda71bc);
  });

  it('is the same for bytes in scratch', () => {
    for (const length of [0, 1, 3, 4, 7, 8, 31, 32, 33, 2000, SCRATCH - 32]) {
      const bytes = bytesOf(length);
      scratch.set(bytes, 32);
      expect(checksumInScratch(32, 32 + length)).toBe(checksumOf(bytes));
    }
  });

  it('sees one bit that is flipped anywhere, also in what is longer than the memory', () => {
    const lengths = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: SCRATCH - 2, max: 3 * SCRATCH + 2 }));
    fc.assert(
      fc.property(lengths, fc.nat(), fc.nat(7), (length, place, bit) => {
        const bytes = bytesOf(length);
        const before = checksumOf(bytes);
        bytes.writeUInt8(bytes.readUInt8(place % length) ^ (1 << bit), place % length);
        expect(checksumOf(bytes)).not.toBe(before);
      }),
    );
  });

  it('sees bytes that are missing or behind the end', () => {
    for (const length of [0, 31, 32, SCRATCH - 1, SCRATCH, SCRATCH + 1, 2 * SCRATCH]) {
      const longer = Buffer.concat([bytesOf(length), Buffer.of(0)]);
      expect(checksumOf(longer)).not.toBe(checksumOf(bytesOf(length)));
    }
  });

  it('is what its source says: node scripts/wasm.js', async () => {
    const { parseWat } = await wabt();
    const source = readFileSync(new URL('xxhash64.wat', import.meta.url), 'utf8');
    const { buffer } = parseWat('xxhash64.wat', source).toBinary({});
    expect(XXHASH64).toBe(Buffer.from(buffer).toString('base64'));
  });
});
