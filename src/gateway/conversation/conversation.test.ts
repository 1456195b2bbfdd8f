import { describe, expect, it } from 'vitest';
import { Conversation } from './conversation.ts';

const COLD = { kind: 'cold-cache', prefix: 'p', order: 1, model: 'm' } as const;

describe('what is known of a conversation', () => {
  it('has one of two events that were decided at once, whichever is learnt first', () => {
    const [mine, other] = [{ ...COLD, kind: 'hands-off', because: 'a', wasEdited: true } as const, COLD];
    const theirs = { ...mine, because: 'b' };
    for (const events of [
      [mine, theirs, other],
      [other, theirs, mine],
    ]) {
      const conversation = new Conversation();
      conversation.learn(events);
      expect(new Set(conversation.eventsAt('p'))).toEqual(new Set([mine, other]));
    }
  });

  it('takes back only what is not recorded', () => {
    const conversation = new Conversation();
    conversation.decide([COLD]);
    expect([conversation.isPending(COLD), conversation.nextOrder]).toEqual([true, 2]);
    conversation.takeBack([COLD]);
    expect(conversation.eventsAt('p')).toEqual([]);
    conversation.decide([COLD]);
    conversation.learn([{ ...COLD }]);
    conversation.takeBack([COLD]);
    expect(conversation.eventsAt('p')).toEqual([COLD]);
  });

  it('still has to record what it decided where another gateway recorded the same later', () => {
    const conversation = new Conversation();
    const theirs = { ...COLD, order: 2 };
    conversation.decide([COLD]);
    conversation.learn([theirs]);
    expect([conversation.isPending(COLD), conversation.eventsAt('p')]).toEqual([true, [COLD]]);
    conversation.learn([{ ...COLD, order: 0 }]);
    expect([conversation.isPending(COLD), conversation.eventsAt('p')]).toEqual([false, [{ ...COLD, order: 0 }]]);
  });
});
