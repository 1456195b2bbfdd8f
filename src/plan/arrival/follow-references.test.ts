import { describe, expect, it } from 'vitest';
import { range, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/index.ts';
import type { ChatMessage } from '../../index.ts';
import { Ledger } from '../ledger/ledger.ts';
import { removalOf } from '../ledger/questions.ts';
import { leaveOut } from '../stages/drop.ts';
import { followReferences } from './follow-references.ts';

const A = range(1, 40)
  .map((n) => `const value${n} = compute(${n * 7919});`)
  .join('\n');
const REFERENCE = '[output lines 1–40: same as lines 1–40 of the last read_file src/a.ts above]';
const MASKED = '[read_file src/a.ts: 40 lines, 1400 chars masked]';

const ledgerOf = (...outputs: string[]): Ledger<ChatMessage> => {
  const turns = outputs.flatMap((output, i) =>
    toolTurn({ id: `c${i}`, tool: 'read_file', args: '{"path":"src/a.ts"}', output }),
  );
  return Ledger.of([user('Fix it.'), ...turns], chat);
};
const textsOf = (ledger: Ledger<ChatMessage>): string[] => ledger.observations.map(({ text }) => text);

/** Masks the first result. */
function maskFirst(ledger: Ledger<ChatMessage>): void {
  ledger.beginRequest();
  expect(ledger.mask(ledger.observations[0]?.segment ?? -1)).toBe(true);
}

describe('followReferences', () => {
  it('has nothing to follow in a history without references', () => {
    expect(followReferences(ledgerOf(A, A))).toBeUndefined();
    expect(followReferences(ledgerOf(A, MASKED))).toBeUndefined();
    expect(followReferences(ledgerOf())).toBeUndefined();
    expect(followReferences(ledgerOf(A, REFERENCE))).toBeDefined();
  });

  it('masks a result when the one that it refers to is masked', () => {
    const ledger = ledgerOf(A, REFERENCE, 'another text');
    const references = followReferences(ledger);
    expect(references?.repair()).toBe(false);
    expect(textsOf(ledger)).toEqual([A, REFERENCE, 'another text']);
    maskFirst(ledger);
    expect(references?.repair()).toBe(true);
    expect(ledger.observations.map(({ masked }) => masked)).toEqual([true, true, false]);
  });

  it('changes no result: all were sent', () => {
    const messy = `${A}  \n\n\n\n\u001b[32mdone\u001b[0m`;
    const ledger = ledgerOf(A, REFERENCE, A, messy);
    followReferences(ledger);
    expect(textsOf(ledger)).toEqual([A, REFERENCE, A, messy]);
  });

  it('masks a result that refers to a lost one through another', () => {
    const b = A.replaceAll('value', 'other');
    const ledger = ledgerOf(
      A,
      `${REFERENCE}\n${b}`,
      '[output lines 1–40: same as lines 2–41 of the last read_file src/a.ts above]',
      'ok',
    );
    const references = followReferences(ledger);
    maskFirst(ledger);
    references?.repair();
    expect(ledger.observations.map(({ masked }) => masked)).toEqual([true, true, true, false]);
  });

  it.each([
    ['the call that it shows is left out', 2, true],
    ['the turn before that call is left out', 1, false],
    ['the turn after it is left out', 3, false],
  ])('masks a result if %s: turn %i, %s', (_, left, isMasked) => {
    const args = JSON.stringify({ path: 'src/a.ts', content: A });
    const shown = '[output lines 1–40: same as content lines 1–40 of your last call of write_file src/a.ts above]';
    const ledger = Ledger.of(
      [
        user('Fix it.'),
        ...toolTurn({ id: 'c1', output: 'one' }),
        ...toolTurn({ id: 'c2', tool: 'write_file', args, output: 'written' }),
        ...toolTurn({ id: 'c3', output: 'three' }),
        ...toolTurn({ id: 'c4', output: shown }),
        ...toolTurn({ id: 'c5', output: 'five' }),
      ],
      chat,
    );
    const references = followReferences(ledger);
    ledger.beginRequest();
    leaveOut(ledger, removalOf(ledger, ledger.rows.slice(left, left + 1)));
    expect(references?.repair()).toBe(isMasked);
    expect(ledger.observations.find(({ callId }) => callId === 'c4')?.masked).toBe(isMasked);
  });

  it('masks a lost result also in the last turn', () => {
    const ledger = ledgerOf(A, REFERENCE);
    const references = followReferences(ledger);
    maskFirst(ledger);
    references?.repair();
    expect(ledger.observations.map(({ masked }) => masked)).toEqual([true, true]);
  });
});
