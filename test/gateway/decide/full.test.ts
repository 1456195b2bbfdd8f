import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { slidingWindow } from '../../../src/index.ts';
import { memoryLimits } from '../../../src/limits.ts';
import { anthropicBody, anthropicMessages, Desk, maskedIn, successor } from '../../support/gateway/requests.ts';

const policy = () => slidingWindow({ turns: 2 });
const bodyOf = (turns: number) => anthropicBody(anthropicMessages(turns));
const masks = (bytes: Buffer): number => maskedIn(bytes).filter(Boolean).length;

/** Events of other lines of the same conversation. */
const others = (count: number): GatewayEvent[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'cold-cache', prefix: `other-${i}`, order: i + 1, model: 'm' }));

describe('a conversation with as many events as can be recorded', () => {
  it('gets no mask that needs a new one, and says so', () => {
    const { conversation } = new Desk().look(bodyOf(1));
    const full = successor({ conversation }, others(memoryLimits.eventsPerConversation), { policy });
    for (const turns of [8, 9]) {
      const asked = full.ask(bodyOf(turns));
      expect(asked.events).toEqual([]);
      expect(asked.body).toBeUndefined();
      expect(asked.explanation).toMatchObject({ act: 'wait', reason: 'too-many-events' });
    }
    const almost = successor({ conversation }, others(memoryLimits.eventsPerConversation - 1), { policy });
    expect(masks(almost.ask(bodyOf(8)).out)).toBe(6);
  });

  it('keeps what was masked, here and in another process, and masks on where that needs no event', () => {
    const desk = new Desk({ policy });
    const first = desk.ask(bodyOf(8));
    const all = [...first.events, ...others(memoryLimits.eventsPerConversation)];
    desk.memory.learnEvents(first.conversation, all);
    const elsewhere = successor(first, all, { policy });
    for (const turns of [8, 9, 10]) {
      const here = desk.ask(bodyOf(turns));
      expect(masks(here.out)).toBe(turns - 2);
      expect(maskedIn(elsewhere.ask(bodyOf(turns)).out)).toEqual(maskedIn(here.out));
    }
  });

  it('keeps what was masked where a request would need another event to mask more', () => {
    // Above the limit, all that the window lets go is masked, with an event.
    const facts = { maxTokens: 9000 };
    const desk = new Desk(facts);
    const first = desk.ask(bodyOf(20));
    expect(first.events.map(({ kind }) => kind)).toEqual(['settings', 'over-limit']);
    const open = successor(first, first.events, facts).look(bodyOf(30));
    expect(open.events.map(({ kind }) => kind)).toEqual(['over-limit']);
    const all = [...first.events, ...others(memoryLimits.eventsPerConversation)];
    desk.memory.learnEvents(first.conversation, all);
    for (const full of [desk, successor(first, all, facts)])
      for (const turns of [30, 31]) {
        const asked = full.ask(bodyOf(turns));
        expect(masks(asked.out)).toBe(masks(first.out));
        expect(maskedIn(asked.out).slice(0, 20)).toEqual(maskedIn(first.out));
        expect(asked.explanation).toMatchObject({ act: 'wait', reason: 'too-many-events' });
        expect(asked.events).toEqual([]);
      }
  });
});
