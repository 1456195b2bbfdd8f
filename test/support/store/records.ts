import type { RequestRecord } from '../../../src/report/request-record.ts';

/** A record with as little in it as possible. */
export function recordOf(id: string, at: number, changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    ...{ id, at, session: 'session', conversation: 'conversation', arm: 'treated', api: 'anthropic' },
    prices: { name: 'anthropic-5m', read: 0.1, write: 1.25 },
    ...{ status: 200, act: 'wait', masked: 0, newMasks: 0 },
    expected: { sent: { cached: 10, written: 5 }, without: { cached: 10, written: 5 } },
    without: { cached: 10, written: 5 },
    signs: { results: 0, failed: 0, repeated: 0, recalls: 0 },
    ...changes,
  };
}
