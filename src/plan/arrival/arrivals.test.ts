import { describe, expect, it } from 'vitest';
import { range, results, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/index.ts';
import { type ChatMessage, handleOf, never } from '../../index.ts';
import { allParts } from '../parts/all-parts.ts';
import { Planner, type PlannerOptions } from '../planner.ts';

const file = range(1, 40)
  .map((n) => `${n}\tconst value${n} = compute(${n * 37});`)
  .join('\n');
const turnOf = (n: number): ChatMessage[] =>
  toolTurn({ id: `c${n}`, tool: 'read_file', args: '{"path":"src/a.ts"}', output: `${file}\n41\t// read ${n}` });
const messages: ChatMessage[] = [user('Fix it.'), ...range(1, 5).flatMap(turnOf)];

const OFF = { clean: false, references: false, shellOutput: undefined, truncate: undefined };

function sent(options: Partial<PlannerOptions<ChatMessage>>): string[] {
  const planner = new Planner(chat, { policy: never(), parts: allParts, handleOf, show: 'handle', ...options });
  planner.take(messages);
  return results(planner.messages());
}

const isShaped = (text: string): boolean => text.includes('[shortened from');

describe('arrival periods', () => {
  it('leave results before the first alone, and each later stretch has its own options', () => {
    const arrivalPeriods = [
      { ...OFF, references: true, fromMessage: 5 },
      { ...OFF, fromMessage: 8 },
      { ...OFF, truncate: 100, fromMessage: 10 },
    ];
    const texts = sent({ arrivalPeriods });
    expect(texts.map(isShaped)).toEqual([false, false, true, false, false]);
    expect(texts[2]).toContain('same as lines 1–40 of the last read_file src/a.ts above');
    expect(texts[4]).toContain('[truncated: ');
    expect(texts[3]).toBe(results(messages)[3]);
  });

  it('may be added for messages that are yet to come', () => {
    const arrivalPeriods = [{ ...OFF, references: true, fromMessage: 99 }];
    const planner = new Planner(chat, { policy: never(), parts: allParts, handleOf, show: 'handle', arrivalPeriods });
    planner.take(messages.slice(0, 7));
    arrivalPeriods.splice(0, 1, { ...OFF, references: true, fromMessage: 8 });
    planner.take(messages.slice(7));
    expect(results(planner.messages()).map(isShaped)).toEqual([false, false, false, true, true]);
  });
});

describe('a result that went out as it came', () => {
  it('stays so, and later references are to its own lines', () => {
    const arrivalPeriods = [{ ...OFF, references: true, fromMessage: 0 }];
    const planner = new Planner(chat, { policy: never(), parts: allParts });
    planner.take(messages.slice(0, 5));
    const second = planner.ledger.segments.length - 1;
    const texts = sent({ arrivalPeriods, sentWhole: new Set([second]) });
    expect(texts.map(isShaped)).toEqual([false, false, true, true, true]);
    expect(texts[1]).toBe(results(messages)[1]);
    expect(texts[2]).toContain('of the last read_file src/a.ts above');
  });
});
