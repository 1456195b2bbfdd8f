import { describe, expect, it } from 'vitest';
import { contents, history, omitted, prose, reply, system, talk, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { Ledger } from '../ledger/ledger.ts';
import { drop, leastSize, leaveOut, removable } from './drop.ts';
import type { Budget, DropStage } from './stage.ts';
import { summariseTurns } from './summarise.ts';

const ledgerOf = (messages: readonly ChatMessage[]): Ledger<ChatMessage> => {
  const ledger = Ledger.of(messages, chat);
  ledger.beginRequest();
  return ledger;
};

const budgetOf = (max: number, more: Partial<Budget> = {}): Budget => ({
  max,
  target: max,
  measure: 'chars',
  stages: [],
  window: 2,
  ...more,
});

function dropped(messages: readonly ChatMessage[], what: DropStage['what'], budget: Budget): Ledger<ChatMessage> {
  const ledger = ledgerOf(messages);
  drop(ledger, { kind: 'drop', what }, budget);
  return ledger;
}

describe('removable', () => {
  const numbers = (upTo: number, keepMessages?: number): number[] =>
    removable(ledgerOf(history(6)), upTo, keepMessages === undefined ? {} : { keepMessages }).flatMap((group) =>
      group.map((turn) => turn.number),
    );

  it('is every turn up to a number but the newest and the task', () => {
    expect(numbers(6)).toEqual([1, 2, 3, 4, 5]);
    expect(numbers(3)).toEqual([1, 2, 3]);
    expect(numbers(0)).toEqual([]);
  });

  it('is no turn that begins in the messages to keep', () => {
    expect(numbers(6, 4)).toEqual([2, 3, 4, 5]);
    expect(numbers(6, 5)).toEqual([3, 4, 5]);
  });

  it('is no turn with the newest words of a user', () => {
    const messages = [...history(3), user('Go on.'), ...toolTurn({ id: 'x', output: 'y' }), ...history(1).slice(2)];
    const texts = removable(ledgerOf(messages), 9).flatMap((group) =>
      group.flatMap(({ from, to }) => contents(messages.slice(from, to))),
    );
    expect(texts).not.toContain('Go on.');
    expect(texts).toContain('step 1');
  });
});

describe('drop', () => {
  it('leaves out as few of the oldest turns as bring the history to the target', () => {
    const left = (target: number): (string | undefined)[] => {
      const sent = dropped(history(6), 'turns', budgetOf(target)).sent();
      return contents(sent.filter(({ role }) => role === 'assistant'));
    };
    // A turn has 1006 characters, the head 41, the notice 51.
    expect(left(4 * 1006 + 41 + 51)).toEqual(['step 3', 'step 4', 'step 5', 'step 6']);
    expect(left(4 * 1006 + 41 + 50)).toEqual(['step 4', 'step 5', 'step 6']);
    expect(left(1)).toEqual(['step 6']);
  });

  it('adds to the notice that is there', () => {
    const ledger = dropped(history(6), 'turns', budgetOf(5000));
    expect(ledger.notes.notice?.omitted).toBe(4);
    drop(ledger, { kind: 'drop', what: 'turns' }, budgetOf(3000));
    expect(ledger.notes.notice?.omitted).toBe(8);
    expect(contents(ledger.sent())).toContain(omitted(8));
    expect(ledger.hidden.at(-1)?.text.startsWith(`${omitted(4)}\n`)).toBe(true);
  });

  it('leaves nothing out for a notice that is larger than the messages it counts', () => {
    const short = [
      system('s'),
      user('u'),
      ...toolTurn({ id: 'a', output: 'x' }),
      ...toolTurn({ id: 'b', output: 'y' }),
    ];
    expect(dropped(short, 'turns', budgetOf(1)).sent()).toEqual(short);
  });

  it('keeps the conversation before the loop as long as the stage is for turns', () => {
    const messages = [...talk(3), user('Fix the build.'), ...history(4).slice(2)];
    const budget = budgetOf(1, { keepMessages: 8 });
    const kept = dropped(messages, 'turns', budget).sent();
    expect(messages.slice(0, 8).every((message) => kept.includes(message))).toBe(true);
    expect(contents(kept)).toContain(omitted(6));
    const rest = contents(dropped(messages, 'conversation', budget).sent());
    expect(rest).toContain(contents(messages)[1]);
    expect(rest).not.toContain(contents(messages)[3]);
  });

  it('takes words apart that were never answered, only where there is no reply at all', () => {
    const words = [system('s'), user(prose(400, 'first ')), user(prose(400, 'second ')), user(prose(400, 'third '))];
    const left = (messages: ChatMessage[], what: DropStage['what']): number =>
      dropped(messages, what, budgetOf(1)).sent().length;
    expect(left(words, 'unanswered')).toBe(4);
    expect(contents(dropped(words, 'unanswered', budgetOf(1)).sent())).not.toContain(words[2]?.content);
    expect(left([...words, reply('Yes.')], 'unanswered')).toBe(5);
    expect(left([...words, reply('Yes.')], 'messages')).toBe(5);
  });

  it('puts a notice in the place of a summary, and counts the messages that the summary covers', () => {
    const ledger = ledgerOf(history(6));
    summariseTurns(ledger, {}, { upTo: 4, keepsQuestion: false });
    expect(ledger.notes.summary).toBeDefined();
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes).toEqual({ notice: { omitted: 8, handle: '' } });
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes.notice?.omitted).toBe(8);
  });

  it('takes every note away', () => {
    const ledger = dropped(history(6), 'turns', budgetOf(3000));
    drop(ledger, { kind: 'drop', what: 'notes' }, budgetOf(1));
    expect(ledger.notes).toEqual({});
  });
});

describe('leaveOut', () => {
  it('does nothing without turns', () => {
    const ledger = ledgerOf(history(2));
    expect([leaveOut(ledger, []), ledger.notes]).toEqual([false, {}]);
  });
});

describe('leastSize', () => {
  it('is what the newest turn, the task and a notice need', () => {
    expect(leastSize(ledgerOf(history(6)), budgetOf(1))).toBe(41 + 1006 + omitted(10).length);
    expect(leastSize(ledgerOf(history(6)), budgetOf(1, { measure: 'messages' }))).toBe(5);
  });
});
