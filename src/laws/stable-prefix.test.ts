import { describe, expect, it } from 'vitest';
import type { Edit, Plan } from '../message.ts';
import { extendsPlan } from './stable-prefix.ts';

const plan = (...edits: Edit[]): Plan => ({ version: 1, edits });
const mask = (segment: number, text = '[observation masked — 9 chars]'): Edit => ({
  kind: 'replace',
  segment,
  text,
  why: 'mask',
});
const drop = (from: number, to: number): Edit => ({ kind: 'drop', from, to });
const note: Edit = { kind: 'insert', before: 0, role: 'system', text: 'note' };
const same = (segment: number): number => segment;

describe('extendsPlan', () => {
  it('lets a plan grow by masks, drops and notes', () => {
    expect(extendsPlan(plan(), plan(mask(1), drop(2, 4)), same)).toBe(true);
    expect(extendsPlan(plan(mask(1)), plan(mask(1), mask(2)), same)).toBe(true);
    expect(extendsPlan(plan(drop(2, 4), note), plan(drop(2, 6)), same)).toBe(true);
    expect(extendsPlan(plan(drop(2, 4)), plan(drop(1, 3), drop(3, 4)), same)).toBe(true);
  });
  it('refuses one that removes a mask or writes it again', () => {
    expect(extendsPlan(plan(mask(1)), plan(), same)).toBe(false);
    expect(extendsPlan(plan(mask(1)), plan(mask(2)), same)).toBe(false);
    expect(extendsPlan(plan(mask(1)), plan(mask(1, '[Observation omitted for brevity]')), same)).toBe(false);
  });
  it('refuses one that brings a message back', () => {
    expect(extendsPlan(plan(drop(2, 5)), plan(drop(2, 4)), same)).toBe(false);
    expect(extendsPlan(plan(drop(2, 5)), plan(drop(2, 3), drop(4, 5)), same)).toBe(false);
  });
  it('lets a mask go with its turn', () => {
    expect(extendsPlan(plan(mask(7)), plan(drop(3, 4)), (segment) => segment - 4)).toBe(true);
  });
  it('lets a clipped result be cut further, but not come back', () => {
    const clip = mask(1, 'the head of a result...');
    expect(extendsPlan(plan(clip), plan(mask(1)), same)).toBe(true);
    expect(extendsPlan(plan(clip), plan(), same)).toBe(false);
  });
});
