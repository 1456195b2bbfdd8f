import { describe, expect, it } from 'vitest';
import { ConversationMemory } from '../../../src/gateway/conversation/conversation-memory.ts';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { loadEvents, toItems } from '../../../src/gateway/conversation/events.ts';
import { afterRefusal, originalOf, withoutStore } from '../../../src/gateway/decide/decide.ts';
import { slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/index.ts';
import {
  type Asked,
  anthropicBody,
  anthropicMessages,
  Desk,
  type Json,
  maskedIn,
  parsed,
  resultsIn,
  successor,
} from '../../support/gateway/requests.ts';

const HOUR = 3_600_000;
const count = (asked: Asked): number => maskedIn(asked.out).filter(Boolean).length;

/** Asks turn by turn, and keeps every event that was to be recorded. */
function run(desk: Desk, from: number, to: number): { last: Asked; events: GatewayEvent[] } {
  const events: GatewayEvent[] = [];
  let last = desk.ask(anthropicBody(anthropicMessages(from)));
  for (let turn = from + 1; turn <= to; turn++) {
    last = desk.ask(anthropicBody(anthropicMessages(turn)));
    events.push(...last.events);
  }
  return { last, events };
}

describe('a cold cache', () => {
  const desk = new Desk();
  const { last: warm } = run(desk, 1, 14);
  desk.now += HOUR;
  const cold = desk.ask(anthropicBody(anthropicMessages(15)));
  const next = desk.ask(anthropicBody(anthropicMessages(16)));

  it('is a free epoch: everything outside the window goes', () => {
    expect(count(warm)).toBe(0);
    expect(cold.explanation).toMatchObject({ act: 'cold-cache', epoch: 1 });
    expect(count(cold)).toBeGreaterThan(0);
  });

  it('is recorded with the settings it was decided under', () => {
    expect(cold.events.map(({ kind }) => kind)).toEqual(['settings', 'cold-cache']);
    expect(next.events).toEqual([]);
  });

  it('stays masked on the next request, with the same bytes', () => {
    expect(count(next)).toBe(count(cold));
    expect(resultsIn(parsed(next.out)).slice(0, 5)).toEqual(resultsIn(parsed(cold.out)).slice(0, 5));
  });

  it('is replayed by a process that learnt the events, and by none that did not', () => {
    const body = anthropicBody(anthropicMessages(16));
    expect(successor(cold, cold.events).ask(body).out.equals(next.out)).toBe(true);
    expect(count(new Desk().ask(body))).toBe(0);
  });

  it('is replayed from events of the first version, which did not record how the cache finds a prefix', () => {
    const body = anthropicBody(anthropicMessages(16));
    const old = cold.events.map((event) => {
      if (event.kind !== 'settings') return event;
      const { lookup: _lookup, ...prices } = event.prices;
      return { ...event, prices } as GatewayEvent;
    });
    expect(successor(cold, old).ask(body).out.equals(next.out)).toBe(true);
  });

  it('a retry changes nothing', () => {
    const again = desk.ask(anthropicBody(anthropicMessages(16)));
    expect(again.out.equals(next.out)).toBe(true);
    expect(again.events).toEqual([]);
  });

  it('stays where words were added before the reply, in the last message or behind it', () => {
    const messages = anthropicMessages(15);
    const words = { type: 'text', text: '[Request interrupted by user]' };
    const last = messages.at(-1) as Json;
    const grown = [...messages.slice(0, -1), { ...last, content: [...(last.content as Json[]), words] }];
    for (const interrupted of [grown, [...messages, { role: 'user', content: [words] }]]) {
      const other = successor(cold, cold.events);
      for (const asked of [desk.ask(anthropicBody(interrupted)), other.ask(anthropicBody(interrupted))]) {
        expect(maskedIn(asked.out)).toEqual(maskedIn(cold.out));
        expect(asked.events.map(({ kind }) => kind)).not.toContain('cold-cache');
      }
    }
  });

  it('is inherited by a fork, and not by a conversation that only begins alike', () => {
    const fork = anthropicMessages(15);
    const forked = desk.ask(
      anthropicBody([...fork, { role: 'assistant', content: 'Hm.' }, { role: 'user', content: 'Summarise.' }]),
    );
    expect(maskedIn(forked.out).slice(0, 15)).toEqual(maskedIn(cold.out));
    const other = anthropicMessages(15);
    const changed = other.map((message, i) =>
      i === 4
        ? { ...message, content: [{ type: 'tool_result', tool_use_id: 'toolu_0002', content: 'Another answer' }] }
        : message,
    );
    expect(count(desk.ask(anthropicBody(changed)))).toBe(0);
  });

  it('is not taken for cold where another gateway served a turn in between', () => {
    const one = new Desk();
    run(one, 1, 14);
    one.now += HOUR;
    expect(one.ask(anthropicBody(anthropicMessages(17))).explanation.act).toBe('wait');
  });
});

describe('the hard limit', () => {
  const maxTokens = 14_000;
  const desk = new Desk({ maxTokens });
  const { last, events } = run(desk, 1, 20);

  it('masks all outside the window, whatever the price', () => {
    expect(events.map(({ kind }) => kind)).toContain('over-limit');
    expect(count(last)).toBeGreaterThan(0);
    expect(last.explanation.sent.tokens).toBeLessThan(last.explanation.without.tokens);
  });

  it('is replayed under another limit', () => {
    const other = successor(last, events).ask(anthropicBody(anthropicMessages(20)));
    expect(other.out.equals(last.out)).toBe(true);
  });

  it('counts the tokens that the provider counts', () => {
    const measured = new Desk({ maxTokens: 20_000 });
    const first = measured.look(anthropicBody(anthropicMessages(12)));
    measured.answer(first, { promptTokens: 3 * first.explanation.sent.tokens });
    const second = measured.ask(anthropicBody(anthropicMessages(13)));
    expect(second.explanation).toMatchObject({ act: 'over-limit' });
    expect(second.explanation.without.tokens).toBeGreaterThan(20_000);
  });

  it('sends what is still too large, as the client would have', () => {
    const tight = new Desk({ maxTokens: 100 }).ask(anthropicBody(anthropicMessages(4)));
    expect(tight.body).toBeUndefined();
    expect(tight.explanation.reason).toBeUndefined();
  });
});

describe('a refusal', () => {
  const policy = () => slidingWindow({ turns: 2 });
  const REFUSAL = 'messages.3: something we did not foresee';
  const body = (turns: number): Json => anthropicBody(anthropicMessages(turns));

  it('leaves the conversation alone where the original was taken', () => {
    const desk = new Desk({ policy });
    const asked = desk.look(body(8));
    expect(originalOf(asked)).toEqual({ body: undefined, headers: {} });
    const events = afterRefusal(asked, REFUSAL);
    expect(events.map(({ kind }) => kind)).toEqual(['hands-off']);
    const next = desk.ask(body(9));
    expect(next.body).toBeUndefined();
    expect(next.explanation).toMatchObject({ act: 'off', reason: 'hands-off' });
    const heir = successor(asked, events);
    expect(heir.ask(body(10)).body).toBeUndefined();
  });

  it('leaves nothing alone where the original was refused too', () => {
    const desk = new Desk({ policy });
    desk.look(body(8));
    expect(desk.ask(body(9)).explanation.masked).toBe(7);
  });

  it('does not touch another conversation', () => {
    const desk = new Desk({ policy });
    afterRefusal(desk.look(body(8)), REFUSAL);
    const other = anthropicMessages(8).map((message, i) =>
      i === 0 ? { ...message, content: 'Another task' } : message,
    );
    expect(desk.ask(anthropicBody(other)).explanation.masked).toBe(6);
  });
});

describe('the store in the way', () => {
  const policy = () => slidingWindow({ turns: 2 });
  const body = (turns: number): Json => anthropicBody(anthropicMessages(turns));

  it('what is not stored is not masked, and goes once it is', () => {
    const desk = new Desk({ policy });
    const slow = withoutStore(desk.look(body(8)), 'store-slow');
    expect(slow.body).toBeUndefined();
    expect(slow.fresh).toEqual([]);
    expect(slow.explanation).toMatchObject({ act: 'wait', reason: 'store-slow', masked: 0 });
    expect(slow.explanation.sent.tokens).toBe(slow.explanation.without.tokens);
    desk.answer(slow);
    const next = desk.ask(body(9));
    expect(next.fresh).toHaveLength(7);
    expect(count(next)).toBe(7);
    expect(next.explanation.newMasks).toBe(7);
  });

  it('frozen masks that are stored stay masked while it is down', () => {
    const desk = new Desk({ policy });
    const first = desk.ask(body(8));
    const down = withoutStore(desk.look(body(9)), 'store-failed');
    desk.answer(down);
    const masks = maskedIn(down.body ?? Buffer.alloc(0));
    expect(masks).toEqual([...maskedIn(first.out), false]);
    expect(down.hidden).toHaveLength(6);
    expect(count(desk.ask(body(10)))).toBe(8);
  });

  it('a request that is sent again keeps its masks though nothing else of it is remembered', () => {
    const desk = new Desk({ policy }, new ConversationMemory(1000));
    const first = desk.ask(body(8));
    const again = withoutStore(desk.look(body(8)), 'store-slow');
    expect(maskedIn(again.body ?? Buffer.alloc(0))).toEqual(maskedIn(first.out));
  });

  it('a fork whose texts are stored does not mask them before its own epoch is recorded', () => {
    const desk = new Desk();
    run(desk, 1, 14);
    const words = [
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content: 'Go on.' },
    ];
    const fork = [...anthropicMessages(13), ...words];
    desk.ask(anthropicBody(fork));
    desk.now += HOUR;
    expect(count(desk.ask(anthropicBody(anthropicMessages(15))))).toBeGreaterThan(0);
    desk.now += HOUR;
    const cold = desk.look(anthropicBody([...fork, ...words]));
    expect(cold.explanation.act).toBe('cold-cache');
    expect(withoutStore(cold, 'store-slow').body).toBeUndefined();
  });

  it('keeps events where every gateway on it finds them', async () => {
    const store = createMemoryStore();
    const event: GatewayEvent = { kind: 'cold-cache', prefix: 'abc', order: 1, model: 'm' };
    await store.putMany(toItems('conversation', [event]));
    expect(await loadEvents(store, 'conversation')).toEqual([event]);
    expect(await loadEvents(store, 'another')).toEqual([]);
  });
});

describe('count_tokens', () => {
  it('plans the same edits and leaves no trace', () => {
    const policy = () => slidingWindow({ turns: 2 });
    const body = anthropicBody(anthropicMessages(8));
    const desk = new Desk({ policy });
    const counted = desk.ask(body, { path: '/v1/messages/count_tokens', isCountTokens: true });
    expect([counted.fresh, counted.events]).toEqual([[], []]);
    const asked = desk.ask(body);
    expect(asked.out.equals(counted.out)).toBe(true);
    expect(asked.fresh).toHaveLength(6);
  });

  it('sees the cold cache that the request will find, and does not take it away', () => {
    const desk = new Desk();
    run(desk, 1, 14);
    desk.now += HOUR;
    const body = anthropicBody(anthropicMessages(15));
    const counted = desk.ask(body, { path: '/v1/messages/count_tokens', isCountTokens: true });
    const asked = desk.ask(body);
    expect(asked.explanation.act).toBe('cold-cache');
    expect(asked.out.equals(counted.out)).toBe(true);
  });
});
