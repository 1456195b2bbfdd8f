import { describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../errors.ts';
import { Calibration } from './calibration.ts';

describe('Calibration', () => {
  it('changes nothing while nothing is known', () => {
    expect(new Calibration().toReal('gpt-5', 1000)).toBe(1000);
  });

  it('learns the ratio of real to estimated tokens, each model apart', () => {
    const calibration = new Calibration();
    calibration.learn('claude', { estimated: 1000, real: 1300 });
    expect(calibration.toReal('claude', 10_000)).toBe(13_000);
    expect(calibration.toReal('gpt-5', 10_000)).toBe(10_000);
  });

  it('is the mean of the first ten, then follows what changes', () => {
    const calibration = new Calibration();
    for (const real of [1000, 1200, 1400]) calibration.learn('m', { estimated: 1000, real });
    expect(calibration.ratio('m')).toBeCloseTo(1.2);
    for (let i = 0; i < 60; i++) calibration.learn('m', { estimated: 1000, real: 2000 });
    expect(calibration.ratio('m')).toBeGreaterThan(1.99);
  });

  it('is bounded: no provider counts a hundred tokens where we see one', () => {
    const calibration = new Calibration();
    for (const real of [100_000, 1_000_000]) calibration.learn('high', { estimated: 1000, real });
    for (const real of [1, 1]) calibration.learn('low', { estimated: 1000, real });
    expect([calibration.ratio('high'), calibration.ratio('low')]).toEqual([4, 0.25]);
  });

  it.each([
    [0, 500],
    [500, 0],
    [Number.NaN, 500],
    [500, Number.NaN],
    [-1, 500],
  ])('learns nothing from an estimate of %d and a count of %d', (estimated, real) => {
    const calibration = new Calibration();
    calibration.learn('m', { estimated, real });
    expect(calibration.learned()).toEqual({});
  });

  it('goes on from what it learned before', () => {
    const first = new Calibration();
    first.learn('m', { estimated: 1000, real: 1500 });
    const second = new Calibration(JSON.parse(JSON.stringify(first.learned())));
    expect(second.ratio('m')).toBe(1.5);
    second.learn('m', { estimated: 1000, real: 1700 });
    expect(second.ratio('m')).toBeCloseTo(1.6);
  });

  it('refuses what it cannot have learned', () => {
    expect(() => new Calibration({ m: { ratio: Number.NaN, samples: 1 } })).toThrow(PalimpsestError);
    expect(() => new Calibration({ m: { ratio: 1, samples: 0.5 } })).toThrow(PalimpsestError);
    expect(() => new Calibration({ m: null as never })).toThrow(PalimpsestError);
  });

  it('forgets all rather than growing with every name that a client makes up', () => {
    const calibration = new Calibration();
    for (let i = 0; i < 1001; i++) calibration.learn(`model-${i}`, { estimated: 100, real: 200 });
    expect(Object.keys(calibration.learned())).toEqual(['model-1000']);
  });
});
