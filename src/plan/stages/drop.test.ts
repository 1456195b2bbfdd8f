import { describe, expect, it } from 'vitest';
import {
  answer,
  chars,
  contents,
  history,
  omitted,
  parallelCalls,
  prose,
  range,
  reply,
  system,
  talk,
  toolTurn,
  user,
} from '../../../test/support/chat.ts';
import { anthropic } from '../../formats/anthropic.ts';
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

  it('is nothing where signed reasoning must stay: its signature covers the turns before it', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'abc' };
    const messages = range(1, 5).flatMap((n) => [
      { role: 'user', content: prose(900, `${n} `) },
      { role: 'assistant', content: [thinking, { type: 'text', text: prose(900, `${n} `) }] },
    ]);
    const left = (keepSigned: boolean): number => {
      const ledger = Ledger.of(messages, anthropic, { keepSigned });
      ledger.beginRequest();
      return removable(ledger, 9).length;
    };
    expect([left(false), left(true)]).toEqual([3, 0]);
  });
});

/** A message that cannot be serialised, as a framework may put its own objects into it. */
const unwritable = (message: ChatMessage): ChatMessage => ({ ...message, id: 1n }) as never;

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

  it('counts the digits of the notice', () => {
    const left = (target: number): number =>
      dropped(history(9), 'turns', budgetOf(target))
        .sent()
        .filter(({ role }) => role === 'assistant').length;
    // Ten messages are omitted: the notice has 52 characters.
    expect([left(4 * 1006 + 41 + 52), left(4 * 1006 + 41 + 51)]).toEqual([4, 3]);
  });

  describe('and calls that are answered in a later turn', () => {
    const [a, b] = [answer('a', prose(900, 'a ')), answer('b', prose(900, 'b '))];
    const between = toolTurn({ id: 'c', output: prose(900, 'c ') });
    const last = history(3).slice(2);
    const list = [system('s'), user('Fix it.'), parallelCalls('a', 'b'), a, ...between, b, ...last];

    it('leaves the turns of such a pair out together, and counts both', () => {
      const kept = chars([...list.slice(0, 2), ...last]) + omitted(5).length;
      expect(dropped(list, 'turns', budgetOf(kept)).notes.notice?.omitted).toBe(5);
      expect(dropped(list, 'turns', budgetOf(kept - 1)).notes.notice?.omitted).toBe(7);
    });

    it('hides them in the order of the conversation', () => {
      const inner = toolTurn({ id: 'd', output: prose(300, 'd ') });
      const nested = [...list.slice(0, 4), ...inner, reply('so far'), b, ...last];
      const [hidden] = dropped(nested, 'turns', budgetOf(1)).hidden;
      const lines = hidden?.text.split('\n') ?? [];
      expect(lines).toEqual(nested.slice(2, -2).map((message) => JSON.stringify(message)));
    });
  });

  it('keeps turns that cannot be serialised, since they could not be recalled', () => {
    const list = history(6).map((message, i) => (i === 4 ? unwritable(message) : message));
    const sent = dropped(list, 'turns', budgetOf(2500)).sent();
    expect(contents(sent.filter(({ role }) => role === 'assistant'))).toEqual(['step 2', 'step 6']);
    expect(contents(sent)).toContain(omitted(8));
    const none = history(6).map((message, i) => (i >= 2 ? unwritable(message) : message));
    expect(dropped(none, 'turns', budgetOf(2500)).sent()).toEqual(none);
  });

  it('says that turns were left out', () => {
    const ledger = dropped(history(6), 'turns', budgetOf(5000));
    expect(ledger.hidden.map(({ why }) => why)).toEqual(['drop']);
  });

  it('counts the notice in tokens where the budget does', () => {
    const begun = (turns: number): Ledger<ChatMessage> => {
      const ledger = Ledger.of(history(turns), chat, { counter: (text) => Math.ceil(text.length / 10) });
      ledger.beginRequest();
      return ledger;
    };
    const withoutTwo = begun(4).tokens;
    for (const room of range(0, 20)) {
      const ledger = begun(6);
      drop(ledger, { kind: 'drop', what: 'turns' }, budgetOf(withoutTwo + room, { measure: 'tokens' }));
      expect(ledger.tokens).toBeLessThanOrEqual(withoutTwo + room);
      // The notice has 6 tokens and the framing of a message.
      if (room === 20) expect(ledger.notes.notice?.omitted).toBe(4);
    }
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
    // A budget of messages counts messages: six become five.
    expect(dropped(short, 'turns', budgetOf(1, { measure: 'messages' })).sent()).toHaveLength(5);
  });

  it('leaves a turn out only if it is larger than its notice, in characters and in tokens', () => {
    const list = (length: number): ChatMessage[] => [
      system('s'),
      user('u'),
      ...toolTurn({ id: 'a', output: prose(length) }),
      ...toolTurn({ id: 'b', output: 'y' }),
    ];
    const isDropped = (length: number, counter: (text: string) => number): boolean => {
      const ledger = Ledger.of(list(length), chat, { counter });
      ledger.beginRequest();
      drop(ledger, { kind: 'drop', what: 'turns' }, budgetOf(1));
      return ledger.notes.notice !== undefined;
    };
    const { length } = omitted(2);
    const perCharacter = (text: string): number => text.length;
    expect([length, length + 1].map((size) => isDropped(size, () => 1))).toEqual([false, true]);
    expect(isDropped(length + 100, perCharacter)).toBe(true);
    expect(isDropped(length + 100, (text) => (text === omitted(2) ? 1000 : text.length))).toBe(false);
  });

  it('leaves no single message out for a notice, where the budget counts messages', () => {
    const list = [system('s'), user('u'), reply(prose(900)), reply('last')];
    expect(dropped(list, 'turns', budgetOf(1, { measure: 'messages' })).sent()).toEqual(list);
    expect(dropped(list, 'turns', budgetOf(1)).notes.notice?.omitted).toBe(1);
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

  it('leaves no more of the conversation out than needed', () => {
    const messages = [...talk(5, 400), user('Fix the build.'), ...history(4).slice(2)];
    const target = chars(messages) - 500;
    const ledger = dropped(messages, 'conversation', budgetOf(target, { keepMessages: 12 }));
    expect([ledger.notes.notice?.omitted, chars(ledger.sent()) <= target]).toEqual([3, true]);
  });

  it('takes words apart that were never answered, only where there is no reply at all', () => {
    const words = [system('s'), user(prose(400, 'first ')), user(prose(400, 'second ')), user(prose(400, 'third '))];
    const left = (messages: ChatMessage[], what: DropStage['what']): number =>
      dropped(messages, what, budgetOf(1)).sent().length;
    expect(left(words, 'unanswered')).toBe(4);
    expect(contents(dropped(words, 'unanswered', budgetOf(1)).sent())).not.toContain(words[2]?.content);
    const answered = [...words, reply('Yes.')];
    expect(dropped(answered, 'unanswered', budgetOf(1)).sent()).toEqual(answered);
    expect(dropped(history(6), 'unanswered', budgetOf(1)).sent()).toEqual(history(6));
    expect(contents(dropped(answered, 'messages', budgetOf(1)).sent())).not.toContain(words[2]?.content);
    expect(dropped(answered, 'turns', budgetOf(1)).sent()).toEqual(answered);
    expect(dropped(words, 'turns', budgetOf(1)).sent()).toEqual(words);
  });

  it('takes words apart again where an earlier cut did, and keeps the system prompt', () => {
    const words = ['first ', 'second ', 'third ', 'fourth '].map((start) => user(prose(400, start)));
    const ledger = dropped([system(prose(300, 's ')), ...words], 'messages', budgetOf(1700));
    expect(ledger.notes.notice?.omitted).toBe(1);
    drop(ledger, { kind: 'drop', what: 'messages' }, budgetOf(1));
    expect(contents(ledger.sent())).toEqual([prose(300, 's '), words[0]?.content, omitted(2), words[3]?.content]);
  });

  it('puts a notice in the place of a summary, and counts the messages that the summary covers', () => {
    const ledger = ledgerOf(history(6));
    summariseTurns(ledger, {}, { upTo: 4 });
    expect(ledger.notes.summary).toBeDefined();
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes).toEqual({ notice: { omitted: 8, handle: '' } });
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes.notice?.omitted).toBe(8);
  });

  it('counts the messages of a notice and of the summary beside it, and hides both', () => {
    const ledger = dropped(history(8), 'turns', budgetOf(7000));
    summariseTurns(ledger, {}, { upTo: 4 });
    const { summary, notice } = ledger.notes;
    expect([notice?.omitted, summary?.includes('Covers: 8 earlier messages')]).toEqual([4, true]);
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes.notice?.omitted).toBe(12);
    expect(ledger.hidden.at(-1)).toMatchObject({ why: 'drop', text: `${summary}\n${omitted(4)}` });
  });

  it('counts a summary as one message if the words of a model do not say how many it covers', () => {
    const ledger = ledgerOf(history(6));
    summariseTurns(ledger, { summarize: () => 'The build is broken.' }, { upTo: 4 });
    expect(ledger.notes.summary).toContain('The build is broken.');
    drop(ledger, { kind: 'drop', what: 'summary' }, budgetOf(1));
    expect(ledger.notes.notice?.omitted).toBe(1);
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

  it('is the same after some of the turns have been left out', () => {
    for (const measure of ['chars', 'messages'] as const) {
      const least = leastSize(ledgerOf(history(6)), budgetOf(1, { measure }));
      const target = measure === 'chars' ? 5000 : 11;
      const ledger = dropped(history(6), 'turns', budgetOf(target, { measure }));
      expect(ledger.notes.notice).toBeDefined();
      expect(leastSize(ledger, budgetOf(1, { measure }))).toBe(least);
    }
  });
});
