import { describe, expect, it } from 'vitest';
import { RecordingDisk } from '../../../../test/support/store/recording-disk.ts';
import type { Snapshot } from '../log/snapshot.ts';
import { UNSHARED } from './open-log.ts';
import { readSnapshot, writeSnapshot } from './snapshot-file.ts';

const nasty = [
  ...Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)),
  '\u2028\u2029\ufeff\ufffe\uffff\ud800 \udc00 \ud83d\ude00',
  '  - not: a list # and no comment',
  '...\n---\n',
].join('');

const snapshot: Snapshot<unknown> = {
  id: 'chat',
  format: 'chat',
  seq: 7,
  time: '2026-01-01T00:00:00.000Z',
  offset: 700,
  archive_bytes: 0,
  state: {
    number: 2,
    status: 'paused',
    turns: 3,
    turns_before: 0,
    total_masked: 1,
    winding_down: true,
    usage: { prompt_tokens: 5, view_tokens: 4, completion_tokens: 6 },
    cut: { messages: 3, omitted: 1, steps: [] },
    approvals: { [nasty]: { tool: nasty, arguments: { path: nasty } } },
    skipped: { c: nasty },
    left_out: ['2', '3.1'],
    masks: [
      { message: '4', segment: 0, text: nasty },
      { message: '5.0', segment: 2, text: '[masked]' },
    ],
    notes: [{ before: '4', note: { role: 'system', content: nasty, bytes: new Uint8Array([1]) } }, { note: 'last' }],
  },
  messages: [
    ['2', { offset: 0, bytes: 100 }],
    ['3.1', { offset: 100, bytes: 7 }],
  ],
};

describe('a snapshot', () => {
  it('reads as it was written, whatever the characters', async () => {
    const disk = new RecordingDisk();
    await writeSnapshot({ ...UNSHARED, disk, folder: '/s', onProblem: () => {} }, snapshot);
    expect(readSnapshot(disk, '/s')).toEqual(snapshot);
  });

  it('of an empty session too', async () => {
    const disk = new RecordingDisk();
    const { usage: _usage, cut: _cut, ...state } = snapshot.state;
    const empty = {
      ...snapshot,
      state: { ...state, approvals: {}, skipped: {}, left_out: [], masks: [], notes: [] },
      messages: [],
    };
    await writeSnapshot({ ...UNSHARED, disk, folder: '/s', onProblem: () => {} }, empty);
    expect(readSnapshot(disk, '/s')).toEqual(empty);
  });

  it('is not there before it is written, and is the old one or the new one at every moment', async () => {
    const disk = new RecordingDisk();
    expect(readSnapshot(disk, '/s')).toBeUndefined();
    await writeSnapshot({ ...UNSHARED, disk, folder: '/s', onProblem: () => {} }, snapshot);
    const written = disk.operations.length;
    await writeSnapshot({ ...UNSHARED, disk, folder: '/s', onProblem: () => {} }, { ...snapshot, seq: 8 });
    for (let length = written; length <= disk.operations.length; length++) {
      for (const choice of [0, 0.3, 0.6, 0.99]) {
        const files = disk.afterPowerLoss(length, { choose: () => choice });
        expect([7, 8]).toContain(readSnapshot(new RecordingDisk(files), '/s')?.seq);
      }
    }
    expect(readSnapshot(disk, '/s')?.seq).toBe(8);
  });
});
