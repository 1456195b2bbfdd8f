import { randomInt } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { getHeapSnapshot } from 'node:v8';
import { expect, it } from 'vitest';
import { StoreGate } from '../../../src/gateway/exchange/store-gate.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';

it('the name of a user is known without keeping the key in memory', async () => {
  const gate = new StoreGate(createMemoryStore());
  await gate.learnSecret();
  // Joined here, so that the key is a string of its own, which nothing holds afterwards.
  const nameOf = (...parts: (string | number)[]) => gate.ownerOf(parts.join('-'));
  expect(nameOf('sk', 'test', randomInt(10 ** 12, 10 ** 13))).toMatch(/^[0-9a-f]{32}$/);
  const heap = await text(getHeapSnapshot());
  expect(heap.match(/sk-test-\d{13}/g)).toBeNull();
  expect(nameOf('sk', 'other')).toBeDefined();
});
