import { describe, expect, it } from 'vitest';
import { showBytes, showGc, showProblems, showStats, sumOf } from './show-store.ts';

const gateway = { sessions: 0, texts: 0, textBytes: 0 };

describe('showStats', () => {
  it('leaves out what the store does not know', () => {
    const stats = { kind: 'postgres', texts: 1, turns: 0, notes: 0, sessions: 1200, textBytes: 0, gateway } as const;
    expect(showStats(stats, { where: 'db', tenant: 'default' })).toBe(
      'store    db (postgres)\nholds    1 text of 1,200 sessions, 0 turns\ntext     0 bytes\nkeeps    everything\n',
    );
  });

  it('names the events of a gateway apart', () => {
    const stats = { kind: 'embedded', texts: 9, turns: 0, notes: 0, sessions: 5, textBytes: 5000 } as const;
    const own = { sessions: 3, texts: 7, textBytes: 700 };
    expect(showStats({ ...stats, gateway: own }, { where: 'x', tenant: 'default' })).toContain(
      `holds    2 texts of 2 sessions, 0 turns
text     4.3 KB
gateway  7 events of its own, such as masks that were sent: 700 bytes
`,
    );
  });

  it('counts notes where there are any', () => {
    const stats = { kind: 'postgres', texts: 1, turns: 0, notes: 1, sessions: 1, textBytes: 0, gateway } as const;
    expect(showStats(stats, { where: 'db', tenant: 'default' })).toContain('1 text of 1 session, 0 turns, 1 note\n');
    const sum = sumOf([stats, { ...stats, notes: 2 }]);
    expect(sum?.notes).toBe(3);
  });

  it('tells what can be freed, and how', () => {
    const stats = {
      kind: 'embedded',
      texts: 2,
      turns: 0,
      notes: 0,
      sessions: 1,
      textBytes: 1e6,
      diskBytes: 2e6,
      gateway,
    } as const;
    expect(showStats({ ...stats, deadBytes: 5e5 }, { where: 'x', tenant: 'default' })).toContain(
      'on disk  2.0 MB, 2.00 times the text\nto free  500.0 KB (25 %); palimpsest store gc\n',
    );
    expect(showStats({ ...stats, deadBytes: 0 }, { where: 'x', tenant: 'default' })).toContain('to free  nothing\n');
  });
});

describe('showStats of a store with times', () => {
  const stats = {
    kind: 'embedded',
    texts: 1,
    turns: 0,
    notes: 0,
    sessions: 1,
    textBytes: 9e6,
    weekBytes: 7e6,
    gateway,
  } as const;
  const [oldestAt, newestAt] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 1, 1, 12)];

  it('tells its age, its growth and what is kept', () => {
    const retention = { maxAgeMs: 90 * 86_400_000, maxBytes: 1e10 };
    expect(showStats({ ...stats, oldestAt, newestAt }, { where: 'x', tenant: 'default', retention })).toContain(
      `stored   2026-01-01 00:00 to 2026-02-01 12:00 UTC
grows    1.0 MB a day, over the last 7 days
keeps    what was used in the last 90 days, 10.0 GB at most (a gateway that serves removes the rest)
`,
    );
  });

  it('divides by its age where it is younger than a week', () => {
    const young = { ...stats, oldestAt: newestAt - 2 * 86_400_000, newestAt };
    expect(showStats(young, { where: 'x', tenant: 'default' })).toContain(
      'grows    3.5 MB a day, over the last 2 days',
    );
  });

  it('adds up tenants', () => {
    const sum = sumOf([
      { ...stats, oldestAt, newestAt: newestAt - 5 },
      { ...stats, oldestAt: oldestAt + 5, newestAt },
    ]);
    expect([sum?.oldestAt, sum?.newestAt, sum?.weekBytes]).toEqual([oldestAt, newestAt, 14e6]);
  });
});

describe('showProblems', () => {
  it('tells each with where it is and what to do', () => {
    const problems = [
      { what: 'a record is damaged', remedy: 'run gc --repair', handle: 'p_x', at: 4096 },
      { what: 'the index is missing', remedy: 'open the store for writing' },
    ];
    expect(showProblems(problems, { where: 'x', tenant: 'default' })).toBe(
      [
        'x: 2 problems',
        '  a record is damaged (p_x, at byte 4,096)',
        '    run gc --repair',
        '  the index is missing',
        '    open the store for writing',
        '',
      ].join('\n'),
    );
  });

  it('does not fill the screen', () => {
    const problems = Array.from({ length: 1020 }, (_, at) => ({ what: 'damaged', remedy: 'repair', at }));
    const shown = showProblems(problems, { where: 'x', tenant: 'default' });
    expect(shown).toContain('  … and 1,000 more; --json lists all\n');
    expect(shown.split('\n').length).toBeLessThan(50);
  });
});

it('showGc says what was done', () => {
  expect(showGc({ freedBytes: 0, removedTexts: 0, repaired: 0 })).toBe('nothing to free\n');
  expect(showGc({ freedBytes: 1234, removedTexts: 1, repaired: 0 })).toBe('freed 1.2 KB, removed 1 text\n');
  expect(showGc({ freedBytes: 0, removedTexts: 0, repaired: 2 })).toBe(
    'freed 0 bytes, removed 0 texts; gave up 2 damaged records\n',
  );
});

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.0 KB'],
  [999_949, '999.9 KB'],
  [999_950, '1.0 MB'],
  [1.5e9, '1.5 GB'],
  [3e15, '3000.0 TB'],
])('showBytes: %d is %s', (bytes, shown) => {
  expect(showBytes(bytes)).toBe(shown);
});
