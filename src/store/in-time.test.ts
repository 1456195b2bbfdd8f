import { describe, expect, it } from 'vitest';
import { inTime } from './in-time.ts';

const never = new Promise<string>(() => {});
const failing = () => Promise.reject(new Error('failed'));

describe('inTime', () => {
  it('is the outcome of the work, also with an endless wait', async () => {
    expect(await inTime(Promise.resolve('done'), 0, () => 'late')).toBe('done');
    expect(await inTime(Promise.resolve('done'), Number.POSITIVE_INFINITY, () => 'late')).toBe('done');
    await expect(inTime(failing(), 1000, () => 'late')).rejects.toThrow('failed');
  });

  it('is that of late once the time is over', async () => {
    expect(await inTime(never, 1, () => 'late')).toBe('late');
    await expect(
      inTime(never, 1, () => {
        throw new Error('too slow');
      }),
    ).rejects.toThrow('too slow');
  });

  it('leaves work that fails later without a listener missing', async () => {
    let fail = (_error: Error): void => {};
    const work = new Promise<string>((_resolve, reject) => {
      fail = reject;
    });
    expect(await inTime(work, 1, () => 'late')).toBe('late');
    fail(new Error('afterwards'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
