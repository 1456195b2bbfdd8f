import { expect, it } from 'vitest';
import { allocatedBytes } from '../../../test/support/store/allocated.ts';
import { RecordingDisk } from '../../../test/support/store/recording-disk.ts';
import { readJournal, writeJournal } from './journal.ts';
import { FORMAT } from './log.ts';
import { copyPages, PAGE, type Page } from './pages.ts';

it('a journal of many pages is read as it was written, and copied to where its pages belong', () => {
  const disk = new RecordingDisk();
  const file = disk.open('/journal', 'create');
  // Neighbours by the hundred, more of them than are moved at once, and some that have none.
  const ids = Array.from({ length: 1000 }, (_, n) => 1 + n + Math.floor(n / 300) + (n > 990 ? 2 * n : 0));
  const pages = ids.map((id) => pageOf(id));
  const { start } = writeJournal(file, meta, pages);
  const read = readJournal(disk.files.get('/journal'));
  expect(read?.meta).toEqual(meta);
  expect(read?.ids).toEqual(ids);
  expect(read?.pages.equals(Buffer.concat(pages.map(({ bytes }) => bytes)))).toBe(true);
  const index = disk.open('/index', 'create');
  copyPages({ from: file, start, ids, to: index });
  const found = Buffer.alloc(PAGE);
  for (const { id, bytes } of pages) {
    index.read(found, id * PAGE);
    expect(found.equals(bytes)).toBe(true);
  }
});

it('a checkpoint of few pages allocates room for these only', () => {
  const disk = new RecordingDisk();
  const ids = [1, 2, 5];
  const pages = ids.map((id) => pageOf(id));
  const to = disk.open('/index', 'create');
  const bytes = allocatedBytes(() => {
    for (let n = 0; n < 5; n++) {
      const from = disk.open(`/journal${n}`, 'create');
      const { start } = writeJournal(from, meta, pages);
      copyPages({ from, start, ids, to });
    }
  });
  expect(bytes).toBeLessThan(1_000_000);
});

function pageOf(id: number): Page {
  const bytes = Buffer.alloc(PAGE, `page ${id} `);
  return { id, bytes, words: new Uint32Array(0), isDirty: false, isUsed: false };
}

const meta = {
  version: FORMAT,
  log: 1,
  checkpoint: 16,
  counts: {
    texts: 0,
    turns: 0,
    notes: 0,
    sessions: 0,
    textBytes: 0,
    deadBytes: 0,
    deletions: 0,
    orphans: 0,
    newestUse: 0,
  },
  shape: { id: 1, epoch: 1, level: 1, next: 0, entries: 0, pages: 1, free: [], buckets: [] },
  lost: [],
};
