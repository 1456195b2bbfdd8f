import { expect, it } from 'vitest';
import { allocatedBytes } from '../../../test/support/store/allocated.ts';
import { RecordingDisk } from '../../../test/support/store/recording-disk.ts';
import { LogFile } from './log-file.ts';

it('reading logs, and finding where they end, allocates no large buffers', () => {
  const file = new RecordingDisk().open('/1.log', 'create');
  file.write(Buffer.alloc(1000, 1), 0);
  const bytes = allocatedBytes(() => {
    for (let n = 0; n < 20; n++) {
      const log = new LogFile(file, '1.log');
      expect(log.usedSize()).toBe(1000);
      expect(log.hasMore()).toBe(true);
    }
  });
  expect(bytes).toBeLessThan(500_000);
});
