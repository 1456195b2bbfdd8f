import { describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { openOn } from '../../support/store/stores.ts';

const BATCH = 5000;
const TURN = { reasoning: '', action: '', observation: '', masked: false };
const textAt = (index: number): string => `a short text, number ${index}`;

/** How often other events were handled before this resolved. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

/** A store with a session of so many texts and turns. */
async function storeOf(texts: number): Promise<EmbeddedStore> {
  const store = await openOn(new RecordingDisk(), 'write');
  for (let from = 0; from < texts; from += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, i) => from + i);
    await store.putMany(numbers.map((n) => ({ text: textAt(n), about: { session: 's', turn: n } })));
    await store.putTurns(numbers.map((turn) => ({ ...TURN, session: 's', turn })));
  }
  return store;
}

describe('a session of many short records', { timeout: 120_000 }, () => {
  it('is found in steps, in which other events are handled, before its first text is given', async () => {
    // A step ends after 10 ms: a fast machine finds 20,000 records in two or three of them.
    const store = await storeOf(60_000);
    expect(await turnsDuring(store.list('s').next())).toBeGreaterThan(3);
    expect(await turnsDuring(store.turns('s').next())).toBeGreaterThan(3);
    await store.close();
  });

  it('is listed whole and in order while a compaction moves its records', async () => {
    const store = await storeOf(20_000);
    const listing = store.list('s');
    const first = listing.next();
    const compacted = store.gc({ force: true });
    const texts = [(await first).value?.text];
    for await (const { text } of listing) texts.push(text);
    await compacted;
    expect(texts).toEqual(Array.from({ length: 20_000 }, (_, n) => textAt(n)));
    await store.close();
  });
});
