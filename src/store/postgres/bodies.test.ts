import { afterEach, describe, expect, it } from 'vitest';
import { digestOf } from '../handle.ts';
import { toBytes } from '../text-bytes.ts';
import { BATCH_BYTES, bodiesOf, type EncodedBatch, encode, giveBack, giveUp, storedLength } from './bodies.ts';

const TEXTS = ['', 'plain', 'ü and €', '🙂', 'lone \ud800 surrogate', 'a\0b', 'plain', '\ud800'];

describe('encode', () => {
  const open: EncodedBatch[] = [];
  afterEach(() => {
    for (const batch of open.splice(0)) giveUp(batch);
  });

  function encoded(texts: readonly string[]): EncodedBatch {
    const batch = encode(texts.map((text) => ({ text })));
    if (!batch) throw new Error('Expected a batch but it is too large');
    open.push(batch);
    return batch;
  }

  const bodiesIn = ({ bytes, starts, lengths }: EncodedBatch): Buffer[] =>
    starts.map((start, i) => Buffer.from(bytes.subarray(start, start + (lengths[i] as number))));

  it('has the bytes and the digest of each text', () => {
    const batch = encoded(TEXTS);
    expect(bodiesIn(batch)).toEqual(TEXTS.map(toBytes));
    expect(batch.digests).toEqual(TEXTS.map(digestOf));
    expect(batch.lengths).toEqual(TEXTS.map(storedLength));
  });

  it('holds equal texts once', () => {
    const batch = encoded(['a'.repeat(1000), 'b', 'a'.repeat(1000)]);
    expect(batch.bytes.length).toBe(1001);
    expect(batch.starts).toEqual([0, 1000, 0]);
  });

  it('is undefined for more than one statement holds', () => {
    expect(encode([{ text: 'a'.repeat(BATCH_BYTES - 1) }, { text: 'bc' }])).toBeUndefined();
    // A third of the characters that fit, and more bytes than fit.
    expect(encode([{ text: '€'.repeat(BATCH_BYTES / 3 + 1) }])).toBeUndefined();
    expect(encoded(['a'.repeat(BATCH_BYTES - 1), 'b']).bytes.length).toBe(BATCH_BYTES);
  });

  it('never changes the bytes of a batch that is being written', () => {
    const first = encoded(['first']);
    const second = encoded(['other']);
    const third = encoded(['third']);
    expect([first, second, third].map(({ bytes }) => String(bytes))).toEqual(['first', 'other', 'third']);
  });

  it('uses the memory of a batch that was written again', () => {
    const first = encoded(['first']);
    giveBack(first);
    expect(encoded(['other']).memory).toBe(first.memory);
  });

  it('uses the memory again after a batch that was too large', () => {
    const first = encoded(['first']);
    giveBack(first);
    encode([{ text: 'a'.repeat(BATCH_BYTES + 1) }]);
    expect(encoded(['other']).memory).toBe(first.memory);
  });

  it('never uses the memory of a batch that failed again: its bytes may be on their way', () => {
    const failed = encoded(['failed']);
    giveUp(failed);
    const next = encoded(['other!']);
    expect(next.memory).not.toBe(failed.memory);
    expect(String(failed.bytes)).toBe('failed');
    giveBack(failed);
    expect(encoded(['third!']).memory).not.toBe(next.memory);
    expect(String(next.bytes)).toBe('other!');
  });
});

describe('bodiesOf', () => {
  it('has the bytes of each text, and leaves out those without one', () => {
    const { bytes, starts } = bodiesOf(['ü', undefined, '\ud800', 'x']);
    expect(starts).toEqual([0, 2, 2, 5]);
    expect(bytes).toEqual(Buffer.concat([toBytes('ü'), toBytes('\ud800'), toBytes('x')]));
  });
});
