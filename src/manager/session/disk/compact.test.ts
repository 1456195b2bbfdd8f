import { describe, expect, it } from 'vitest';
import { RecordingDisk } from '../../../../test/support/store/recording-disk.ts';
import { replaceEvents } from './compact.ts';
import { UNSHARED } from './open-log.ts';

const DRAFT = '/s/events.jsonl.new';

/** Tries to put a draft in the place of the log. */
async function replace(
  { mayWrite = () => {}, onSync }: { mayWrite?: () => void; onSync?: () => never },
  disk: RecordingDisk,
) {
  disk.onSync = onSync;
  const { hasMoved, error } = await replaceEvents({ ...UNSHARED, disk, folder: '/s', mayWrite, onProblem: () => {} });
  return [hasMoved, error?.message, String(disk.files.get('/s/events.jsonl'))];
}

const diskWithDraft = (): RecordingDisk =>
  new RecordingDisk(
    new Map([
      ['/s/events.jsonl', Buffer.from('old')],
      [DRAFT, Buffer.from('new')],
    ]),
  );

describe('a log that is to be replaced', () => {
  it('has moved also if only the sync of its new name failed', async () => {
    const onSync = (): never => {
      throw new Error('the sync failed');
    };
    expect(await replace({ onSync }, diskWithDraft())).toEqual([true, 'the sync failed', 'new']);
  });

  it('has not moved if the next writer took the lock and removed the draft before the rename', async () => {
    const disk = diskWithDraft();
    const mayWrite = (): never => {
      disk.remove(DRAFT);
      throw new Error('the lock is lost');
    };
    expect(await replace({ mayWrite }, disk)).toEqual([false, 'the lock is lost', 'old']);
  });

  it('has not moved if the next writer removed the draft between the look at the lock and the rename', async () => {
    const disk = diskWithDraft();
    expect(await replace({ mayWrite: () => disk.remove(DRAFT) }, disk)).toEqual([false, `ENOENT: ${DRAFT}`, 'old']);
  });
});
