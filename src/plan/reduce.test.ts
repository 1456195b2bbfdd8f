import { describe, expect, it } from 'vitest';
import { changedTurns, chars, contents, history, results } from '../../test/support/chat.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage } from '../message.ts';
import { Ledger } from './ledger/ledger.ts';
import { reduce } from './reduce.ts';
import type { Budget, Stage } from './stages/stage.ts';

/** Twelve turns with a result of 1000 characters each. */
const messages = history(12);

function reduced(stages: readonly Stage[], budget: Partial<Budget> = {}, list: readonly ChatMessage[] = messages) {
  const ledger = Ledger.of(list, chat);
  ledger.beginRequest();
  const { max = 6000 } = budget;
  const stage = reduce(ledger, { max, target: max, measure: 'chars', window: 2, stages, ...budget }, { window: 4 });
  return { stage, ledger, sent: ledger.sent() };
}

const OUTSIDE: Stage = { kind: 'mask', which: 'outside' };
const INSIDE: Stage = { kind: 'mask', which: 'inside' };
const ALL: Stage = { kind: 'mask', which: 'all' };
const SUMMARISE: Stage = { kind: 'summarise' };
const DROP: Stage = { kind: 'drop', what: 'turns' };
const CLIP: Stage = { kind: 'clip', what: 'results', to: 'max' };

describe('reduce', () => {
  it('changes nothing in a history that has exactly the size of its budget', () => {
    expect(reduced([DROP], { max: chars(messages) })).toMatchObject({ stage: undefined, sent: messages });
    expect(reduced([DROP], { max: chars(messages) - 1 }).stage).toBe('fallback');
  });

  it.each<[string, Stage]>([
    ['masking', OUTSIDE],
    ['masking', INSIDE],
    ['fallback', ALL],
    ['summarization', SUMMARISE],
    ['fallback', DROP],
    ['fallback', CLIP],
  ])('says %s for %j', (said, stage) => {
    expect(reduced([stage]).stage).toBe(said);
  });

  it('stops at the first stage that is enough', () => {
    const { stage, ledger, sent } = reduced([OUTSIDE, SUMMARISE, DROP], { max: 6000 });
    expect([stage, ledger.notes, changedTurns(messages, sent)]).toEqual(['masking', {}, [1, 2, 3, 4, 5, 6, 7, 8]]);
  });

  it('masks inside the window down to the target, and leaves the rest alone below the maximum', () => {
    const { stage, sent } = reduced([OUTSIDE, INSIDE, DROP], { max: 5000, target: 3000 });
    expect([stage, changedTurns(messages, sent)]).toEqual(['masking', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]);
    expect(reduced([OUTSIDE, DROP], { max: 5000, target: 3000 }).ledger.notes).toEqual({});
  });

  it('takes a summary back that is not enough, and keeps the masks before it', () => {
    const stages: Stage[] = [OUTSIDE, { kind: 'summarise', onlyIfEnough: true }];
    const kept = reduced(stages, { max: 1000 });
    expect([kept.stage, kept.ledger.notes]).toEqual(['summarization', {}]);
    expect(changedTurns(messages, kept.sent)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(reduced(stages, { max: 3500 }).ledger.notes.summary).toBeDefined();
    expect(reduced([OUTSIDE, SUMMARISE], { max: 1000 }).ledger.notes.summary).toBeDefined();
  });

  it('masks nothing inside the window of a history within its budget, however low the target', () => {
    expect(reduced([INSIDE], { max: chars(messages), target: 1000 }).stage).toBeUndefined();
  });

  it('leaves out nothing where a mask or a summary brings the history to exactly its budget', () => {
    const masked = chars(reduced([OUTSIDE]).sent);
    expect(reduced([OUTSIDE, DROP], { max: masked }).stage).toBe('masking');
    const stages: Stage[] = [OUTSIDE, { kind: 'summarise', onlyIfEnough: true }];
    const summarised = chars(reduced(stages, { max: 3500 }).sent);
    expect(reduced(stages, { max: summarised }).ledger.notes.summary).toBeDefined();
  });

  it('masks nothing outside the window below the maximum, however low the target', () => {
    const { sent, ledger } = reduced([CLIP, OUTSIDE], { max: 6000, target: 1000 });
    expect([ledger.maskedCount, results(sent).length]).toEqual([0, 12]);
  });

  it('asks the policy which results are outside its window', () => {
    const ledger = Ledger.of(messages, chat);
    ledger.beginRequest();
    const budget: Budget = { max: 9000, target: 9000, measure: 'chars', window: 2, stages: [OUTSIDE] };
    reduce(ledger, budget, { outside: ({ observations }) => observations.slice(2, 4).map(({ segment }) => segment) });
    expect(changedTurns(messages, ledger.sent())).toEqual([3, 4]);
  });

  it('takes the window of the budget where no policy is given', () => {
    const ledger = Ledger.of(messages, chat);
    ledger.beginRequest();
    reduce(ledger, { max: 9000, target: 9000, measure: 'chars', window: 3, stages: [OUTSIDE] });
    expect(changedTurns(messages, ledger.sent())).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('counts messages where the budget does', () => {
    const left = (max: number): number => reduced([DROP], { measure: 'messages', max, target: max }).sent.length;
    expect([26, 25, 11, 10].map(left)).toEqual([26, 25, 11, 9]);
    const { sent } = reduced([DROP], { measure: 'messages', max: 10, target: 10 });
    expect(contents(sent).slice(0, 4)).toEqual([
      'You are a careful engineer.',
      'Fix the build.',
      '[conversation truncated — 18 older messages omitted]',
      'step 10',
    ]);
  });
});
