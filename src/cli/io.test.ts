import { describe, expect, it } from 'vitest';
import { readAll, UsageError } from './io.ts';

async function* chunks(...parts: (string | Uint8Array)[]): AsyncIterable<string | Uint8Array> {
  yield* parts;
}

describe('readAll', () => {
  it('joins strings and bytes', async () => {
    expect(await readAll(chunks('a', Uint8Array.of(0xc3), Uint8Array.of(0xa9), 'z'))).toBe('aéz');
    expect(await readAll(chunks())).toBe('');
  });
  it('does not guess at bytes that are no UTF-8, nor at a character that is cut off', async () => {
    await expect(readAll(chunks(Uint8Array.of(0xff)))).rejects.toThrow();
    await expect(readAll(chunks(Uint8Array.of(0xc3)))).rejects.toThrow();
  });
});

it('a UsageError is an error with a text for the user', () => {
  expect(new UsageError('say which')).toMatchObject({ message: 'say which' });
});
