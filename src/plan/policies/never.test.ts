import { describe, expect, it } from 'vitest';
import { history } from '../../../test/support/chat.ts';
import { fit } from '../../index.ts';
import { never } from './never.ts';

describe('never', () => {
  it('masks nothing, and says so', () => {
    const messages = history(40);
    const { plan, report, messages: fitted, hidden } = fit(messages, { policy: never() });
    expect([plan.edits, hidden]).toEqual([[], []]);
    expect(fitted).toEqual(messages);
    expect(report.decision).toEqual({ act: 'off', because: 'the policy never masks' });
  });
  it('leaves it to the budget to cut', () => {
    const { report } = fit(history(40), { policy: never(), maxTokens: 4000 });
    expect(report.maskedCount).toBeGreaterThan(0);
    expect(report.tokens.after).toBeLessThanOrEqual(4000);
  });
});
