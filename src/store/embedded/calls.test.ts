import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Calls } from './calls.ts';

/** A call that runs until it is told to end. */
function longCall(): { readonly work: () => Promise<void>; end(): void } {
  let end = (): void => {};
  const done = new Promise<void>((resolve) => (end = resolve));
  return { work: () => done, end: () => end() };
}

describe('calls of a store', () => {
  it('that write are finished before the store is closed, also those that began inside of others', async () => {
    const calls = new Calls('write');
    const [outer, inner] = [longCall(), longCall()];
    const finished: string[] = [];
    void calls.during(async () => {
      await outer.work();
      await calls.during(inner.work);
      finished.push('call');
    });
    const closing = calls.close(async () => void finished.push('store'));
    outer.end();
    await setImmediate();
    expect(finished).toEqual([]);
    inner.end();
    await closing;
    expect(finished).toEqual(['call', 'store']);
  });

  it('are refused once the store closes, which it does once', async () => {
    const calls = new Calls('write');
    let closed = 0;
    const finish = async (): Promise<void> => {
      closed += 1;
    };
    expect(() => calls.check()).not.toThrow();
    await Promise.all([calls.close(finish), calls.close(finish)]);
    expect(closed).toBe(1);
    expect(calls.isClosing).toBe(true);
    expect(() => calls.check()).toThrow(expect.objectContaining({ code: 'STORE_CLOSED' }));
  });

  it('that failed do not keep it open', async () => {
    const calls = new Calls('write');
    const failing = calls.during(async () => {
      await setImmediate();
      throw new Error('no room');
    });
    const closing = calls.close(async () => {});
    await expect(failing).rejects.toThrow('no room');
    await closing;
  });

  it('that write are refused by a reader', async () => {
    const call = new Calls('read').during(async () => {});
    await expect(call).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });
});
