import { describe, expect, it } from 'vitest';
import { changedTurns, history, prose, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Prices } from '../prices.ts';
import { insideWindow, mask, maskAll, outsideWindow, segmentsOf } from './mask.ts';
import type { Budget, MaskStage } from './stage.ts';

/** Twelve turns with a result of 1000 tokens each; a mask saves 966 of them. */
const messages = history(12);
const counter = (text: string): number => text.length;

/** The newest turn is new in this request. All others were sent before. */
const begun = (): Ledger<ChatMessage> => {
  const style = { write: () => 'masked'.padEnd(34, '.') };
  const ledger = Ledger.of(messages.slice(0, -2), chat, { counter, style });
  ledger.beginRequest();
  ledger.endRequest();
  for (const message of messages.slice(-2)) ledger.append(message);
  ledger.beginRequest();
  return ledger;
};

function masked(which: MaskStage['which'], target = 6000, prices?: Pick<Prices, 'read' | 'write'>): number[] {
  const ledger = begun();
  const budget: Budget = { max: 8000, target, measure: 'tokens', stages: [], window: 2, prices };
  mask(ledger, { kind: 'mask', which }, budget, { window: 4 });
  return changedTurns(messages, ledger.sent());
}

const upTo = (turn: number): number[] => Array.from({ length: turn }, (_, i) => i + 1);

describe('mask', () => {
  it('masks what is outside the window, whatever the target', () => {
    expect(masked('outside', 1)).toEqual(upTo(8));
    expect(masked('outside', 100_000)).toEqual(upTo(8));
  });

  it('masks every result as a last resort, the newest too', () => {
    expect(masked('all')).toEqual(upTo(12));
  });

  it('masks the oldest results inside the window until the target is reached, and never the newest', () => {
    expect(masked('inside', 6000)).toEqual(upTo(7));
    expect(masked('inside', 1)).toEqual(upTo(11));
    expect(masked('inside', 100_000)).toEqual([]);
  });

  it('goes on below the target until the cut earns what it costs', () => {
    const deep = (read: number, write: number): number => masked('inside', 7000, { read, write }).length;
    expect(masked('inside', 7000)).toEqual(upTo(6));
    expect([deep(1, 1), deep(0.5, 1), deep(0.25, 1), deep(0.1, 1), deep(0, 1)]).toEqual([6, 6, 7, 9, 11]);
    // A cut that costs nothing earns that at once.
    expect(deep(0, 0)).toBe(6);
  });

  it('masks nothing below the target, whatever a cut would earn', () => {
    expect(masked('inside', 100_000, { read: 0.1, write: 1 })).toEqual([]);
  });

  it('stops where the target is reached exactly', () => {
    const ledger = begun();
    for (const { segment } of ledger.observations.slice(0, 7)) ledger.mask(segment);
    expect(masked('inside', ledger.tokens)).toEqual(upTo(7));
    expect(masked('inside', ledger.tokens - 1)).toEqual(upTo(8));
  });

  describe('below the target, expects further turns to be as large as those since the last mask', () => {
    /** The number of masks, after two turns that were masked before and ten more, with replies of these sizes. */
    const depth = (before: number, since: readonly number[]): number => {
      const list = [before, before, ...since].flatMap((size, i) =>
        toolTurn({ id: `t${i}`, text: prose(size), output: prose(1000) }),
      );
      const ledger = Ledger.of([user('Fix it.'), ...list.slice(0, -2)], chat, { counter });
      ledger.beginRequest();
      maskAll(ledger, segmentsOf(ledger.observations.slice(0, 2)));
      ledger.endRequest();
      for (const message of list.slice(-2)) ledger.append(message);
      ledger.beginRequest();
      const max = ledger.tokens - 1;
      const prices = { read: 0.1, write: 1 };
      const budget: Budget = { max, target: max, measure: 'tokens', stages: [], window: 2, prices };
      mask(ledger, { kind: 'mask', which: 'inside' }, budget, {});
      return ledger.maskedCount - 2;
    };
    const ten = (size: number): number[] => Array(10).fill(size);

    it('so that a cut lasts longer, and goes less deep, if they are small', () => {
      expect([0, 200, 500].map((size) => depth(0, ten(size)))).toEqual([6, 7, 9]);
    });

    it('whatever was before', () => {
      expect([0, 5000, 20_000].map((before) => depth(before, ten(0)))).toEqual([6, 6, 6]);
    });

    it('on average', () => {
      const nine = Array<number>(9).fill(200);
      expect([depth(0, [...nine, 2000]), depth(0, [2000, ...nine])]).toEqual([8, 8]);
    });
  });

  it('passes over segments that are no results', () => {
    const ledger = begun();
    const segments = [0, ...segmentsOf(ledger.observations).slice(0, 2), 999];
    const budget: Budget = { max: 1, target: 1, measure: 'tokens', stages: [], window: 2 };
    mask(ledger, { kind: 'mask', which: 'inside' }, budget, { inside: () => segments });
    expect(changedTurns(messages, ledger.sent())).toEqual(upTo(2));
  });
});

describe('maskAll', () => {
  it('answers how many it masked', () => {
    const ledger = begun();
    const segments = segmentsOf(ledger.observations);
    expect([maskAll(ledger, segments.slice(0, 3)), maskAll(ledger, segments.slice(0, 5))]).toEqual([3, 2]);
  });
});

describe('candidates', () => {
  it('are the results of turns that left a window of 10, where nothing is said', () => {
    const ledger = begun();
    const segments = segmentsOf(ledger.observations);
    expect(outsideWindow(ledger, {})).toEqual(segments.slice(0, 2));
    expect(outsideWindow(ledger, { window: 11 })).toEqual(segments.slice(0, 1));
    expect(outsideWindow(ledger, { outside: () => [7] })).toEqual([7]);
  });

  it('are all results inside it, where the policy names none', () => {
    const ledger = begun();
    expect(insideWindow(ledger, {})).toEqual(segmentsOf(ledger.observations));
    expect(insideWindow(ledger, { inside: () => [7] })).toEqual([7]);
  });
});
