import { describe, expect, it } from 'vitest';
import { changedTurns, history } from '../../../test/support/chat.ts';
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
