import { describe, expect, it } from 'vitest';
import type { Result } from '../ledger/rows.ts';
import type { ToolKind } from '../tool-kind.ts';
import { ReferenceGroups } from './reference-groups.ts';

const result = (segment: number, kind: ToolKind = 'read'): Result =>
  ({ segment, kind, masked: false, refersTo: [], group: undefined }) as unknown as Result;
const membersOf = ({ group }: Result): number[] => [...(group?.members ?? [])].map(({ segment }) => segment).sort();
const newestOf = ({ group }: Result): number[] => [...(group?.newest ?? [])].map(({ segment }) => segment).sort();

describe('results that refer to each other', () => {
  it('are one group, also through others', () => {
    const groups = new ReferenceGroups();
    const [a, b, c, d] = [result(1), result(2), result(3, 'shell'), result(4)];
    groups.link(b, [a]);
    groups.link(d, [c]);
    expect(membersOf(a)).toEqual([1, 2]);
    groups.link(d, [b, c]);
    for (const one of [a, b, c, d]) expect(membersOf(one)).toEqual([1, 2, 3, 4]);
    expect(newestOf(a)).toEqual([3, 4]);
  });

  it('are divided where the one that connected them has changed', () => {
    const groups = new ReferenceGroups();
    const [a, b, c, d] = [result(1), result(2), result(3), result(4)];
    groups.link(c, [a, b]);
    groups.link(d, [b]);
    groups.unlink(c);
    expect(c.refersTo).toEqual([]);
    expect(membersOf(d)).toEqual([1, 2, 4]);
    expect(groups.mend()).toBe(true);
    expect(groups.mend()).toBe(false);
    expect(a.group).toBeUndefined();
    expect(membersOf(b)).toEqual([2, 4]);
    expect(newestOf(b)).toEqual([4]);
  });

  it('know the newest of each kind, in whatever order they joined', () => {
    const groups = new ReferenceGroups();
    const [a, b, c, d] = [result(1), result(2), result(3), result(4, 'shell')];
    groups.link(b, [a]);
    groups.link(c, [b]);
    groups.link(d, [a]);
    expect(newestOf(a)).toEqual([3, 4]);
  });

  it('are no group where the target is masked', () => {
    const groups = new ReferenceGroups();
    const [a, b] = [result(1), result(2)];
    Object.assign(a, { masked: true });
    groups.link(b, [a]);
    expect(b.group).toBeUndefined();
    expect([...groups.referrersOf(a)]).toEqual([b]);
  });

  it('know that one of them was masked', () => {
    const groups = new ReferenceGroups();
    const [a, b, c, d, e] = [result(1), result(2), result(3), result(4), result(5)];
    groups.link(b, [a]);
    groups.link(c, [a]);
    groups.link(e, [d]);
    // Made smaller again, not masked.
    groups.unlink(e);
    Object.assign(b, { masked: true });
    groups.unlink(b);
    groups.mend();
    expect([a, c, d].map((each) => groups.hasLost(each))).toEqual([true, true, false]);
  });

  it('are one group again where a target is as it was', () => {
    const groups = new ReferenceGroups();
    const [a, b] = [result(1), result(2)];
    groups.link(b, [a]);
    Object.assign(a, { masked: true });
    groups.unlink(a);
    groups.mend();
    expect(b.group).toBeUndefined();
    Object.assign(a, { masked: false });
    groups.unlink(a);
    groups.mend();
    expect(membersOf(a)).toEqual([1, 2]);
    expect([...groups.referrersOf(a)]).toEqual([b]);
    expect(groups.mend()).toBe(false);
  });

  it('leave nothing behind when all of them are masked', () => {
    const groups = new ReferenceGroups();
    const [a, b] = [result(1), result(2)];
    groups.link(b, [a]);
    for (const one of [a, b]) Object.assign(one, { masked: true });
    for (const one of [a, b]) groups.unlink(one);
    expect(groups.mend()).toBe(false);
    expect([a.group, b.group]).toEqual([undefined, undefined]);
  });
});
