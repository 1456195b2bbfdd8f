import { createHash } from 'node:crypto';
import { handleOf } from '../dist/index.js';

/** 1.2 to 2.8 KB, one in a hundred 50 KB, all different. Flat, as texts that were read from somewhere are. */
export function textOf(id) {
  const seed = createHash('sha256').update(String(id)).digest('hex');
  const length = id % 100 === 0 ? 50_000 : 1200 + ((id * 7919) % 1600);
  const text = `${id} ${seed}\n`.repeat(Math.ceil(length / (seed.length + String(id).length + 2)));
  return Buffer.from(text).toString('latin1', 0, length);
}

export function itemOf(id) {
  const text = textOf(id);
  return { id, text, handle: handleOf(text) };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
