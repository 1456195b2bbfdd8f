import { describe, expect, it } from 'vitest';
import { isPlaceholder } from '../../src/index.ts';
import { anthropicBody, anthropicMessages, Desk, maskedIn, parsed, resultsIn } from './requests.test-data.ts';

describe('decide', () => {
  it('sends a short conversation as it came', () => {
    const desk = new Desk();
    const asked = desk.ask(anthropicBody(anthropicMessages(3)));
    expect(asked.body).toBeUndefined();
    expect(asked.decision).toMatchObject({ act: 'wait', masked: 0, prices: { name: 'anthropic-5m' } });
  });

  it('masks old results of a long one once it pays, and waits in between', () => {
    const desk = new Desk();
    const acts: string[] = [];
    let last = desk.ask(anthropicBody(anthropicMessages(1)));
    for (let turn = 2; turn <= 40; turn++) {
      last = desk.ask(anthropicBody(anthropicMessages(turn)));
      acts.push(last.decision.act);
    }
    expect(acts).toContain('mask');
    expect(acts.filter((act) => act === 'wait').length).toBeGreaterThan(25);
    expect(maskedIn(last.out).filter(Boolean).length).toBeGreaterThan(5);
    expect(last.decision.masked).toBe(maskedIn(last.out).filter(Boolean).length);
    for (const content of resultsIn(parsed(last.out)).slice(0, 3)) expect(isPlaceholder(content as string)).toBe(true);
  });
});
