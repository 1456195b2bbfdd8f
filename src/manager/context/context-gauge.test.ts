import { describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../errors.ts';
import { contextGauge } from './context-gauge.ts';

describe('contextGauge', () => {
  it.each([
    [0, '[░░░░░░░░░░] 0%', 'green'],
    [48, '[████░░░░░░] 48%', 'green'],
    [49.9, '[████░░░░░░] 50%', 'green'],
    [50, '[█████░░░░░] 50%', 'yellow'],
    [69.4, '[██████░░░░] 69%', 'yellow'],
    [70, '[███████░░░] 70%', 'red'],
    [100, '[██████████] 100%', 'red'],
    [130, '[██████████] 130%', 'red'],
  ])('draws %d %% as %s in %s', (usagePct, text, color) => {
    expect(contextGauge(usagePct)).toEqual({ text, color });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d', (usagePct) => {
    expect(() => contextGauge(usagePct)).toThrow(PalimpsestError);
  });
});
