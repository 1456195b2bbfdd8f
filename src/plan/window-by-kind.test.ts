import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { story, write } from '../../test/support/histories.ts';
import { type ChatMessage, createPlanner, type Policy } from '../index.ts';
import type { Observation, RequestView } from './policy.ts';
import { readToolUse, type ToolKind } from './tool-kind.ts';
import {
  type Ages,
  agesOf,
  hasLeftWindow,
  KIND_SHARES,
  leavesWindowAt,
  newlyOutside,
  startCursor,
  type WindowCursor,
} from './window-by-kind.ts';

describe('agesOf', () => {
  it('is the window for every kind where kinds make no difference', () => {
    expect(agesOf(10)).toEqual({ read: 10, search: 10, shell: 10, edit: 10, other: 10, isByKind: false });
    expect(agesOf(10, false)).toEqual(agesOf(10));
  });
  it('is ⅔ of it for searches, ⅓ for the shell and ⅕ for edits', () => {
    expect(agesOf(10, true)).toEqual({ read: 10, search: 7, shell: 4, edit: 2, other: 10, isByKind: true });
    expect(agesOf(15, true)).toEqual({ read: 15, search: 10, shell: 5, edit: 3, other: 15, isByKind: true });
    expect(agesOf(1, true)).toEqual({ ...agesOf(1), isByKind: true });
    expect(agesOf(0, true)).toEqual({ ...agesOf(0), isByKind: true });
  });
  it('takes shares of one’s own for some kinds, and keeps the others', () => {
    expect(agesOf(10, { edit: 0, read: 2 })).toEqual({ ...agesOf(10, true), edit: 0, read: 20 });
    expect(agesOf(10, {})).toEqual(agesOf(10, true));
  });
  it('is exact where the share of the window is a whole number', () => {
    // 100 * 0.07 is 7.000000000000001.
    expect(agesOf(100, { read: 0.07 }).read).toBe(7);
    for (let window = 0; window <= 3000; window += 15)
      expect(agesOf(window, true)).toEqual({
        read: window,
        search: (window * 2) / 3,
        shell: window / 3,
        edit: window / 5,
        other: window,
        isByKind: true,
      });
  });
});

/** The state of the probe: the cursor, and the segments that were returned. */
interface Told {
  readonly cursor: WindowCursor;
  readonly segments: readonly number[];
}

interface Probe {
  readonly ages: Ages;
  /** The turn that counts. */
  readonly turnOf?: (turns: number) => number;
  /** Masks everything outside the window on these requests. */
  readonly masksOn?: (turns: number) => boolean;
  readonly look?: (request: RequestView, told: Told, turns: number) => void;
}

/** A policy that asks `newlyOutside` on each request and shows what it answered. */
function probe({ ages, turnOf = (turns) => turns, masksOn = () => false, look }: Probe): Policy {
  const policy: Policy<Told> = {
    toolUse: readToolUse,
    init: () => ({ cursor: startCursor(), segments: [] }),
    step(state, request) {
      const turns = turnOf(request.turns);
      const { cursor, fresh } = newlyOutside(state.cursor, request, ages, turns);
      const told = { cursor, segments: [...state.segments, ...fresh.map(({ segment }) => segment)] };
      look?.(request, told, turns);
      const mask = masksOn(request.turns) ? outsideNow(request, ages, turns) : [];
      return { state: told, mask, because: { act: 'mask', because: 'the probe says so' } };
    },
  };
  return policy as Policy;
}

const outsideNow = (request: RequestView, ages: Ages, turns = request.turns): number[] =>
  request.observations
    .filter((observation) => hasLeftWindow(observation, { ...request, turns }, ages) && request.maskable(observation))
    .map(({ segment }) => segment);

type Turn = readonly (readonly [tool: string, args: object])[];

/** The names of the results that are told after each turn: the tool and its turn. */
function toldBy(turns: readonly Turn[], ages: Ages, turnOf?: Probe['turnOf']): string[][] {
  const answers: string[][] = [];
  let known = 0;
  const look = (request: RequestView, { segments }: Told): void => {
    const name = (segment: number): string => {
      const { tool, turn } = request.observations.find((o) => o.segment === segment) as Observation;
      return `${tool} ${turn}`;
    };
    answers[request.turns] = segments.slice(known).map(name).sort();
    known = segments.length;
  };
  const planner = createPlanner<ChatMessage>({
    format: 'chat',
    policy: probe({ ages, look, ...(turnOf ? { turnOf } : {}) }),
  });
  planner.add({ role: 'user', content: 'task' });
  for (const [t, calls] of turns.entries()) {
    const toolCalls = calls.map(([name, args], c) => ({ id: `${t} ${c}`, name, arguments: JSON.stringify(args) }));
    const results = toolCalls.map(({ id }) => ({
      role: 'tool' as const,
      toolCallId: id,
      content: 'output\n'.repeat(90),
    }));
    planner.add({ role: 'assistant', content: '', toolCalls }, ...results);
  }
  return answers.slice(1);
}

const nothing: Turn = [];

describe('newlyOutside', () => {
  it('tells each result on the request on which the window of its kind has passed', () => {
    const ages = agesOf(5, { read: 1, search: 0.8, shell: 0.6, edit: 0.4, other: 0.2 });
    const first: Turn = [
      ['read', { path: 'a' }],
      ['grep', {}],
      ['bash', { command: 'make' }],
      ['edit', {}],
      ['think', {}],
    ];
    expect(toldBy([first, nothing, nothing, nothing, nothing, nothing, nothing], ages)).toEqual([
      [],
      ['think 1'],
      ['edit 1'],
      ['bash 1'],
      ['grep 1'],
      ['read 1'],
      [],
    ]);
  });
  it('tells every result at once where the window is 0', () => {
    const calls: Turn = [
      ['read', { path: 'a' }],
      ['bash', { command: 'make' }],
    ];
    expect(toldBy([calls, nothing, calls], agesOf(0, true))).toEqual([['bash 1', 'read 1'], [], ['bash 3', 'read 3']]);
  });
  it('tells a read on the request on which a newer one covers it', () => {
    const read = (args: object): Turn => [['read', { path: 'a', ...args }]];
    const turns = [read({ offset: 5, limit: 5 }), read({ offset: 1, limit: 8 }), read({}), nothing];
    // The second shows lines 1 to 8, and the first 5 to 9; the third shows all.
    expect(toldBy(turns, agesOf(10, true))).toEqual([[], [], ['read 1', 'read 2'], []]);
  });
  it('tells a read once that has left its window before it is covered, or with the same request', () => {
    const read: Turn = [['read', { path: 'a' }]];
    expect(toldBy([read, nothing, nothing, read, nothing], agesOf(2, true))).toEqual([[], [], ['read 1'], [], []]);
    expect(toldBy([read, nothing, read, nothing], agesOf(2, true))).toEqual([[], [], ['read 1'], []]);
  });
  it('tells a read that another of the same reply covers', () => {
    const twice: Turn = [
      ['read', { path: 'a', limit: 5 }],
      ['cat', { path: 'a' }],
    ];
    expect(toldBy([twice, nothing], agesOf(1, true))).toEqual([['read 1'], ['cat 1']]);
  });
  it('tells a covered read on the next turn that counts, where not every turn does', () => {
    const read: Turn = [['read', { path: 'a' }]];
    const even = (turns: number): number => turns - (turns % 2);
    expect(toldBy([read, nothing, read, nothing, nothing], agesOf(10, true), even)).toEqual([
      [],
      [],
      [],
      ['read 1'],
      [],
    ]);
  });
  it('takes a read of another file, or of other lines, for what it is', () => {
    const turns: Turn[] = [
      [['read', { path: 'a' }]],
      [['read', { path: 'b' }]],
      [['read', { path: 'a', limit: 9 }]],
      [['bash', { command: 'cat a' }]],
    ];
    expect(toldBy(turns, agesOf(10, true))).toEqual([[], [], [], ['read 1', 'read 3']]);
  });

  const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 1000);
  const shares = fc.record(
    Object.fromEntries(Object.keys(KIND_SHARES).map((kind) => [kind, fc.constantFrom(0, 0.2, 0.5, 1, 2)])),
  ) as fc.Arbitrary<Record<ToolKind, number>>;
  const anyAges = fc
    .tuple(fc.nat({ max: 8 }), fc.oneof(fc.boolean(), shares))
    .map(([window, byKind]) => agesOf(window, byKind));

  it('returns each result that left its window once, whenever it is asked and whatever was masked', () => {
    fc.assert(
      fc.property(
        story,
        anyAges,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        (tale, ages, every, epoch) => {
          const look = (request: RequestView, { segments }: Told, turns: number): void => {
            const open = new Set(request.observations.filter(request.maskable).map(({ segment }) => segment));
            const outside = outsideNow(request, ages, turns);
            expect(new Set(segments).size).toBe(segments.length);
            expect(segments.filter((segment) => open.has(segment)).sort(byNumber)).toEqual(outside);
            const { fresh } = newlyOutside(startCursor(), request, ages, turns);
            const again = fresh.map(({ segment }) => segment).filter((segment) => open.has(segment));
            expect(again.sort(byNumber)).toEqual(outside);
          };
          const policy = probe({
            ages,
            look,
            turnOf: (turns) => turns - (turns % every),
            masksOn: (turns) => turns % epoch === 0,
          });
          const planner = createPlanner<object>({ format: 'openai-chat', policy });
          const { head, turns } = write(tale, 'openai-chat');
          for (const part of [head, ...turns]) planner.add(...part);
        },
      ),
      { numRuns },
    );
  });
});

const byNumber = (a: number, b: number): number => a - b;

describe('leavesWindowAt', () => {
  const result = (turn: number, kind: ToolKind, coveredBy?: { turn: number }): Observation =>
    ({ turn, kind, coveredBy }) as unknown as Observation;
  it('is the turn and the window of its kind together', () => {
    expect(leavesWindowAt(result(3, 'read'), agesOf(10, true))).toBe(13);
    expect(leavesWindowAt(result(3, 'edit'), agesOf(10, true))).toBe(5);
  });
  it('is the turn of the covering read where that comes first', () => {
    expect(leavesWindowAt(result(3, 'read', { turn: 5 }), agesOf(10, true))).toBe(5);
    expect(leavesWindowAt(result(3, 'read', { turn: 50 }), agesOf(10, true))).toBe(13);
  });
  it('is not that of a covering read where kinds make no difference, though another policy has them read', () => {
    expect(leavesWindowAt(result(3, 'read', { turn: 5 }), agesOf(10))).toBe(13);
  });
  it('is that of the last of its group, for all that refer to each other', () => {
    const [first, last] = [result(1, 'read'), result(4, 'read')];
    for (const member of [first, last])
      Object.assign(member, { group: { newest: [last], members: [first, last] }, coveredBy: { turn: 2 } });
    expect([first, last].map((member) => leavesWindowAt(member, agesOf(10)))).toEqual([14, 14]);
    const shell = Object.assign(result(5, 'shell'), { group: { newest: [last] } });
    expect(leavesWindowAt(shell, agesOf(10, true))).toBe(14);
  });
});
