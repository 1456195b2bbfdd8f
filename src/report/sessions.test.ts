import { describe, expect, it } from 'vitest';
import type { RequestRecord } from './request-record.ts';
import { createSessionReader, type DollarsOf, type Range, SETTLE_MS } from './sessions.ts';

const RANGE: Range = { since: 1000, until: 1000 + 24 * SETTLE_MS };

const record = (more: Partial<RequestRecord> = {}): RequestRecord => ({
  id: 'r',
  at: 2000,
  session: 's',
  conversation: 'c',
  arm: 'treated',
  api: 'anthropic',
  model: 'known',
  prices: { name: 'anthropic-5m', read: 0.1, write: 1.25 },
  status: 200,
  act: 'wait',
  masked: 0,
  newMasks: 0,
  billed: { cached: 1000, written: 100, output: 50 },
  expected: { sent: { cached: 1000, written: 80 }, without: { cached: 2000, written: 80 } },
  without: { cached: 2000, written: 100 },
  signs: { results: 2, failed: 1, repeated: 0, recalls: 0, isFinal: true },
  ...more,
});

const read = (records: readonly RequestRecord[], dollarsOf?: DollarsOf) => {
  const reader = createSessionReader(RANGE, { dollarsOf });
  for (const one of records) reader.add(one);
  return reader.read();
};

const NONE = {
  ...{ beganBefore: 0, justBegan: 0, severalArms: 0, notDrawn: 0, otherShare: 0, neverBilled: 0 },
  ...{ unbilledRequests: 0, failedRequests: 0 },
};

describe('readSessions', () => {
  it('takes the arm of a session from requests whose arm is known', () => {
    const drawn = { session: 'a', arm: 'held-out', holdoutShare: 0.1 } as const;
    const assumed = record({ session: 'a', at: 1500, isArmUnknown: true });
    const other = record({ session: 'b', holdoutShare: 0.1 });
    for (const records of [
      [assumed, record(drawn), other],
      [record(drawn), { ...assumed, at: 2500 }, other],
    ])
      expect(read(records)).toMatchObject({
        leftOut: NONE,
        drawn: { share: 0.1, treated: 1, heldOut: 1 },
        sessions: [{ arm: 'held-out', requests: 2 }, { arm: 'treated' }],
      });
    const never = record({ session: 'c', isArmUnknown: true });
    expect(read([record(drawn), other, never]).leftOut).toEqual({ ...NONE, notDrawn: 1 });
  });

  it('adds up the requests of a session at the multiples of their price list', () => {
    const { sessions, leftOut, unit } = read([record(), record({ at: 3000, conversation: 'sub-agent' })]);
    expect(unit).toBe('tokens');
    expect(leftOut).toEqual(NONE);
    expect(sessions).toEqual([
      {
        arm: 'treated',
        requests: 2,
        attempts: 2,
        billedRequests: 2,
        costs: { billed: 450, expectedWithout: 600, expectedSent: 400, receiptWithout: 650 },
        inputTokens: 2200,
        windowRequests: 0,
        windowShares: 0,
        output: 100,
        results: 4,
        failed: 2,
        repeated: 0,
        recalls: 0,
        refused: 0,
        isFinished: true,
      },
    ]);
  });

  it('counts a session with its forks and resumes as one', () => {
    const resumed = { session: 'resumed', root: 's', conversation: 'c2' };
    const { sessions, leftOut } = read([record(), record({ at: 3000, ...resumed }), record({ session: 'other' })]);
    expect(sessions.map(({ requests }) => requests)).toEqual([2, 1]);
    expect(leftOut).toEqual(NONE);
  });

  it('leaves a resume out whose session began before the records, or in another store', () => {
    const { sessions, leftOut } = read([record({ session: 'resumed', root: 's' }), record({ session: 'other' })]);
    expect([sessions.length, leftOut]).toEqual([1, { ...NONE, beganBefore: 1 }]);
  });

  it('stays in dollars while at most one billed request in a hundred has no price, and counts no cost for it', () => {
    const priced: DollarsOf = ({ model }, { cached, written }) => (model === 'known' ? cached + written : undefined);
    const known = Array.from({ length: 99 }, (_, i) => record({ session: `s${i}` }));
    const mixed = read([...known, record({ session: 's0', model: 'unknown' })], priced);
    expect(mixed).toMatchObject({ unit: 'dollars', unpricedRequests: 1 });
    expect(mixed.sessions[0]).toMatchObject({
      ...{ requests: 2, billedRequests: 1, inputTokens: 2200 },
      costs: { billed: 1100, expectedWithout: 2080, expectedSent: 1080, receiptWithout: 2100 },
    });
    const half = ({ cached }: { cached: number }): boolean => cached === 1000;
    const partly: DollarsOf = ({ model }, prompt) => (model === 'known' || half(prompt) ? 1 : undefined);
    const { sessions } = read([...known, record({ session: 's0', model: 'unknown' })], partly);
    expect(sessions[0]?.costs).toMatchObject({ billed: 1, expectedWithout: 1 });
    const more = read([...known.slice(1), record({ session: 's0', model: 'unknown' })], priced);
    expect(more).toMatchObject({ unit: 'tokens', unpricedRequests: 1 });
    expect(more.sessions.at(-1)).toMatchObject({ billedRequests: 1, costs: { billed: 225 } });
  });

  it('costs tokens that were not written to the cache at the base price', () => {
    const { sessions } = read([record({ billed: { cached: 1000, written: 100, uncached: 40, output: 50 } })]);
    expect(sessions[0]?.costs.billed).toBe(100 + 75 + 40);
  });

  it('is in dollars where every billed request has a price, else in tokens', () => {
    const dollarsOf: DollarsOf = ({ model }, { cached, written }) =>
      model === 'known' ? (cached + written) / 1e6 : undefined;
    expect(read([record()], dollarsOf)).toMatchObject({ unit: 'dollars', unpricedRequests: 0 });
    expect(read([record()], dollarsOf).sessions[0]?.costs.billed).toBeCloseTo(0.0011);
    const mixed = read([record(), record({ session: 't', model: 'unknown' })], dollarsOf);
    expect(mixed).toMatchObject({ unit: 'tokens', unpricedRequests: 1 });
    expect(mixed.sessions.map(({ costs }) => costs.billed)).toEqual([225, 225]);
  });

  it('leaves out a session that began before the range, and ignores one that ended before it', () => {
    const records = [record({ at: 500 }), record(), record({ session: 'old', at: 600 })];
    expect(read(records)).toMatchObject({ sessions: [], leftOut: { ...NONE, beganBefore: 1 } });
  });

  it('leaves out a session that began in the last hour, and requests behind the range', () => {
    const late = record({ session: 'late', at: RANGE.until - SETTLE_MS });
    const behind = record({ at: RANGE.until });
    const { sessions, leftOut } = read([record(), late, behind]);
    expect(sessions).toHaveLength(1);
    expect(sessions[0]?.requests).toBe(1);
    expect(leftOut.justBegan).toBe(1);
  });

  it('leaves out a session with requests in both arms', () => {
    const { sessions, leftOut } = read([record(), record({ arm: 'held-out' })]);
    expect(sessions).toEqual([]);
    expect(leftOut.severalArms).toBe(1);
  });

  it('leaves out treated sessions that were not drawn, or only later, where others were held out', () => {
    const reader = createSessionReader({ since: 0, until: 100 * SETTLE_MS });
    const drawn = { holdoutShare: 0.1 };
    const treated = [record({ session: 'a' }), record({ session: 'b' }), record({ session: 'b', ...drawn })];
    for (const one of [...treated, record({ session: 'c', ...drawn }), record({ session: 'd', arm: 'shadow' })])
      reader.add(one);
    expect(reader.read()).toMatchObject({ sessions: { length: 4 }, leftOut: { notDrawn: 0 } });
    reader.add(record({ session: 'e', arm: 'held-out', ...drawn }));
    expect(reader.read()).toMatchObject({ sessions: { length: 3 }, leftOut: { notDrawn: 2 } });
  });

  it('compares sessions of the newest share only, and counts the others', () => {
    const old = { holdoutShare: 0.5, at: 2000 };
    const now = { holdoutShare: 0.1, at: 3000 };
    const records = [
      record({ session: 'a', ...now }),
      record({ session: 'b', arm: 'held-out', ...now }),
      record({ session: 'c', ...old }),
      record({ session: 'd', arm: 'held-out', ...old }),
      record({ session: 'd', arm: 'held-out', holdoutShare: 0.5, at: 9000 }),
      record({ session: 'e', at: 9000 }),
      record({ session: 'f', arm: 'shadow' }),
    ];
    const found = {
      sessions: [{ arm: 'treated' }, { arm: 'held-out' }, { arm: 'shadow' }],
      leftOut: { ...NONE, otherShare: 2, notDrawn: 1 },
      drawn: { share: 0.1, treated: 1, heldOut: 1 },
    };
    expect(read(records)).toMatchObject(found);
    expect(read(records.toReversed()).leftOut).toEqual(found.leftOut);
  });

  it('keeps all sessions where the newest share has only one arm: nothing is compared', () => {
    const old = [record({ session: 'c', holdoutShare: 0.5 }), record({ arm: 'held-out', holdoutShare: 0.5 })];
    expect(read([...old, record({ session: 'a', at: 3000, holdoutShare: 0.1 })])).toMatchObject({
      ...{ sessions: { length: 3 }, leftOut: NONE, drawn: { share: 0.1, treated: 1, heldOut: 0 } },
    });
  });

  it('counts no cost for requests without usage, and leaves out a session that has only such', () => {
    const { billed: _, ...unbilled } = record();
    expect(read([unbilled])).toMatchObject({ sessions: [], leftOut: { neverBilled: 1 } });
    const { sessions, leftOut } = read([unbilled, record()]);
    expect(sessions[0]).toMatchObject({ requests: 2, billedRequests: 1, costs: { billed: 225, expectedWithout: 300 } });
    expect(leftOut.unbilledRequests).toBe(1);
  });

  it('keeps a session whose requests all failed, at no cost', () => {
    const { sessions, leftOut } = read([record({ status: 500 }), record({ status: 0 })]);
    expect(sessions[0]).toMatchObject({ requests: 0, attempts: 2, costs: { billed: 0 }, isFinished: false });
    expect(leftOut.failedRequests).toBe(2);
  });

  it('counts refusals of the edited request and of the request itself, but not a limit of rate', () => {
    const records = [record({ refused: 400 }), record({ status: 413 }), record({ status: 429 }), record()];
    expect(read(records).sessions[0]?.refused).toBe(2);
  });

  const noSigns = { results: 0, failed: 0, repeated: 0, recalls: 0 };

  it('looks for the last word in the last conversation with tool results, whatever the order of the records', () => {
    const working = { ...noSigns, results: 1, isFinal: false };
    const finished = record({ conversation: 'compacted', at: 9000 });
    const before = [3000, 4000, 5000].map((at) => record({ at, signs: working }));
    expect(read([finished, ...before]).sessions[0]?.isFinished).toBe(true);
    expect(read([...before, finished]).sessions[0]?.isFinished).toBe(true);
    const title = record({ conversation: 'title', at: 9000, signs: { ...noSigns, isFinal: true } });
    expect(read([title, ...before]).sessions[0]?.isFinished).toBe(false);
    expect(read([record({ signs: noSigns })]).sessions[0]?.isFinished).toBeUndefined();
  });

  it('looks for it in the longest conversation of a session without tool results', () => {
    const open = { signs: { ...noSigns, isFinal: false } };
    const title = record({ conversation: 'title', at: 9000, signs: { ...noSigns, isFinal: true } });
    const records = [title, record({ at: 4000, ...open }), record({ at: 3000, ...open })];
    expect(read(records).sessions[0]?.isFinished).toBe(false);
  });

  it('does not judge the end of a session that was active in the last hour', () => {
    expect(read([record(), record({ at: RANGE.until - 1 })]).sessions[0]?.isFinished).toBeUndefined();
  });
});
