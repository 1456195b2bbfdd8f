import { describe, expect, it } from 'vitest';
import { prose, range } from '../../test/support/chat.ts';
import {
  ObservationMaskingContextManager,
  type ObservationMaskingOptions,
} from './observation-masking-context-manager.ts';

const OMITTED = '[Observation omitted for brevity]';

function managed(
  turns: number,
  options?: ObservationMaskingOptions,
  observation = (i: number) => prose(400, `seen ${i}: `),
) {
  const manager = new ObservationMaskingContextManager(options);
  for (const i of range(1, turns)) manager.addTurn(`thought ${i}`, `act ${i}`, observation(i));
  return manager;
}
const visible = (context: string): number[] =>
  [...context.matchAll(/Observation: seen (\d+):/g)].map((m) => Number(m[1]));

describe('ObservationMaskingContextManager', () => {
  it('writes prompts and turns as one text', () => {
    expect(managed(1, {}, () => 'ok').getMaskedContext('You act.', 'Do it.')).toBe(
      'You act.\nDo it.\n\nTurn 1:\nReasoning: thought 1\nAction: act 1\nObservation: ok\n',
    );
    expect(new ObservationMaskingContextManager().getMaskedContext('a', 'b')).toBe('a\nb');
  });

  it('shows the observations of exactly the last windowSize turns, and all reasoning and actions', () => {
    for (const windowSize of [0, 1, 3, 10]) {
      const context = managed(12, { windowSize }).getMaskedContext('s', 'u');
      expect(visible(context)).toEqual(range(13 - windowSize, 12));
      expect(context.split(OMITTED).length - 1).toBe(12 - windowSize);
      for (const i of range(1, 12)) expect(context).toContain(`Reasoning: thought ${i}\nAction: act ${i}\n`);
    }
  });

  it('has a window of 10 where none is given', () => {
    expect(visible(managed(14).getMaskedContext('s', 'u'))).toEqual(range(5, 14));
  });

  it('writes the placeholder that it is given', () => {
    expect(
      managed(3, { windowSize: 1, placeholder: '[hidden]' }).getMaskedContext('s', 'u').split('[hidden]'),
    ).toHaveLength(3);
  });

  it('keeps an observation that is shorter than the placeholder', () => {
    expect(managed(3, { windowSize: 1 }, () => 'ok').getMaskedContext('s', 'u')).not.toContain(OMITTED);
  });

  it('tells what it saved, in tokens', () => {
    const manager = managed(12, { windowSize: 4 });
    const savings = manager.estimateTokenSavings();
    expect(savings).toMatchObject({ maskedTurns: 8, visibleTurns: 4 });
    const { totalObservationTokens, estimatedSavedTokens, reductionPercent } = savings;
    expect(estimatedSavedTokens).toBeGreaterThan(0);
    expect(estimatedSavedTokens).toBeLessThan(totalObservationTokens);
    expect(reductionPercent).toBeCloseTo((100 * estimatedSavedTokens) / totalObservationTokens);
    expect(managed(12, { windowSize: 12 }).estimateTokenSavings()).toMatchObject({
      maskedTurns: 0,
      estimatedSavedTokens: 0,
    });
  });

  it('tells zeros before the first turn', () => {
    expect(new ObservationMaskingContextManager().estimateTokenSavings()).toEqual({
      totalObservationTokens: 0,
      maskedTurns: 0,
      visibleTurns: 0,
      estimatedSavedTokens: 0,
      reductionPercent: 0,
    });
  });

  it.each([Number.NaN, -1, 1.5, '3', null])('refuses windowSize %s by its own name', (windowSize) => {
    // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
    expect(() => new ObservationMaskingContextManager({ windowSize } as any)).toThrowError(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('windowSize') }),
    );
  });

  it('refuses an option that it does not know', () => {
    // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
    expect(() => new ObservationMaskingContextManager({ window: 3 } as any)).toThrowError(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('window') }),
    );
  });
});
