import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { afterRefusal, afterStored, newMasks, withoutStore } from '../../../src/gateway/decide/decide.ts';
import { breakEven, type Policy, type Prices, slidingWindow, stateless } from '../../../src/index.ts';
import {
  type Asked,
  anthropicBody,
  anthropicMessages,
  Desk,
  type Json,
  MODEL,
  maskedIn,
  parsed,
  resultsIn,
  successor,
} from '../../support/gateway/requests.ts';

const HOUR = 3_600_000;
const RECALL = { tools: [{ name: 'recall', input_schema: {} }] };
const body = (turns: number, more: Json = {}): Json => anthropicBody(anthropicMessages(turns), more);
const count = (asked: Asked): number => maskedIn(asked.out).filter(Boolean).length;
const contents = (asked: Asked): unknown[] => resultsIn(parsed(asked.out));

/** A gateway, and all that it wrote down. */
class Office extends Desk {
  readonly recorded: GatewayEvent[] = [];

  override ask(...request: Parameters<Desk['ask']>): Asked {
    const asked = super.ask(...request);
    this.recorded.push(...asked.events);
    return asked;
  }

  run(from: number, to: number): Asked {
    let last = this.ask(body(from));
    for (let turns = from + 1; turns <= to; turns++) last = this.ask(body(turns));
    return last;
  }
}

describe('two requests in flight', () => {
  const policy = () => slidingWindow({ turns: 2 });

  it('leave the masks of the first known to the next, though the second fails', () => {
    const desk = new Desk({ policy });
    const [first, second] = [desk.look(body(4)), desk.look(body(5))];
    for (const asked of [first, second]) afterStored(asked);
    desk.answer(first);
    expect([first, second, desk.ask(body(6))].map(({ explanation }) => explanation.newMasks)).toEqual([2, 3, 2]);
  });

  it('record that one was sent with masks, where the other is refused', () => {
    const desk = new Desk({ policy });
    const [first, second] = [desk.look(body(4)), desk.look(body(5))];
    for (const asked of [first, second]) afterStored(asked);
    desk.answer(second);
    expect(afterRefusal(first, 'no')).toMatchObject([{ kind: 'hands-off', wasEdited: true }]);
  });
});

describe('a late request on an older part of a conversation', () => {
  it('with other tools changes no placeholder of the requests that went past it, here or elsewhere', () => {
    const policy = () => slidingWindow({ turns: 5 });
    const desk = new Office({ policy });
    const main = desk.run(8, 12);
    const late = desk.ask(body(7, RECALL));
    expect(newMasks(late)[0]?.placeholder).toContain('recall p_');
    const next = desk.ask(body(13));
    expect(contents(next).slice(0, 7)).toEqual(contents(main).slice(0, 7));
    // In whatever order a store gives them.
    for (const events of [desk.recorded, desk.recorded.toReversed()])
      expect(successor(main, events, { policy }).ask(body(13)).out.equals(next.out)).toBe(true);
  });

  it('keeps its own placeholders when it is sent again, and hands them on to those that follow it', () => {
    const policy = () => slidingWindow({ turns: 5 });
    const desk = new Office({ policy });
    desk.run(8, 12);
    const late = desk.ask(body(7, RECALL));
    expect(contents(desk.ask(body(7, RECALL)))).toEqual(contents(late));
    const words = [
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content: 'Go on.' },
    ];
    const fork = desk.ask(anthropicBody([...anthropicMessages(7), ...words]));
    expect(contents(fork).slice(0, 2)).toEqual(contents(late).slice(0, 2));
  });

  it('at another price takes back no mask of those that went past it', () => {
    const unmarked = (turns: number): Json => ({ ...body(turns), messages: anthropicMessages(turns) });
    const desk = new Office();
    for (let turns = 11; turns <= 14; turns++) desk.ask(unmarked(turns));
    const main = desk.ask(unmarked(15));
    expect([count(main), desk.recorded.length]).toEqual([5, 1]);
    const [late] = desk.ask(body(13)).events;
    expect(late).toMatchObject({ kind: 'settings', prices: { name: 'anthropic-5m' } });
    const next = desk.ask(unmarked(16));
    expect(contents(next).slice(0, 5)).toEqual(contents(main).slice(0, 5));
    expect(successor(main, desk.recorded).ask(unmarked(16)).out.equals(next.out)).toBe(true);
  });

  it('that says less in its last message is late too', () => {
    const spoken = (turns: number): Json => {
      const messages = anthropicMessages(turns);
      const { content } = messages[24] as { content: Json[] };
      content.push({ type: 'text', text: 'And be quick.' });
      return anthropicBody(messages);
    };
    const policy = (): Policy => ({ ...stateless(({ observations }) => observations.slice(0, 1)), window: 5 });
    const desk = new Office({ policy });
    expect(count(desk.ask(spoken(12)))).toBe(1);
    Object.assign(desk.facts, { maxTokens: 1000 });
    const late = desk.ask(body(12));
    expect(late.events.map(({ kind }) => kind)).toEqual(['settings', 'over-limit']);
    expect(count(late)).toBeGreaterThan(1);
    Object.assign(desk.facts, { maxTokens: undefined });
    expect(count(desk.ask(spoken(13)))).toBe(1);
  });

  it('that finds its cache cold takes no epoch for those that went past it', () => {
    const desk = new Office();
    desk.run(1, 13);
    const side = anthropicMessages(12);
    desk.ask(anthropicBody(side));
    desk.now += HOUR;
    const main = desk.ask(body(14));
    expect(main.explanation.act).toBe('cold-cache');
    desk.now += HOUR;
    const late = desk.ask(anthropicBody(side));
    expect(late.explanation.act).toBe('cold-cache');
    expect(count(late)).toBeGreaterThan(0);
    const next = desk.ask(body(15));
    expect(contents(next).slice(0, 14)).toEqual(contents(main));
    expect(successor(main, desk.recorded).ask(body(15)).out.equals(next.out)).toBe(true);
  });
});

describe('a request that is sent again', () => {
  it('after its cache has died takes the free epoch', () => {
    const desk = new Office();
    expect(count(desk.run(1, 14))).toBe(0);
    desk.now += HOUR;
    const again = desk.ask(body(14));
    expect(again.explanation.act).toBe('cold-cache');
    expect(count(again)).toBeGreaterThan(0);
    const next = desk.ask(body(15));
    expect(contents(next).slice(0, 14)).toEqual(contents(again));
    expect(successor(again, desk.recorded).ask(body(15)).out.equals(next.out)).toBe(true);
  });
});

describe('two models in one conversation', () => {
  const SMALL = 'claude-haiku-4-5';
  // No cache marker, so nothing is cached: everything outside the window goes at once.
  const small = (turns: number): Json => ({ model: SMALL, messages: anthropicMessages(turns) });

  it('do not break what the other has cached', () => {
    const alone = new Office();
    const desk = new Office();
    for (let turns = 1; turns <= 20; turns++) {
      const main = desk.ask(body(turns));
      expect(main.out.equals(alone.ask(body(turns)).out)).toBe(true);
      if (turns > 12) expect(count(desk.ask(small(turns)))).toBeGreaterThan(0);
    }
    expect(
      successor(desk.ask(body(21)), desk.recorded)
        .ask(body(22))
        .out.equals(alone.ask(body(22)).out),
    ).toBe(true);
  });

  it('are not planned from the start in turns', () => {
    let started = 0;
    const policy = (prices: Prices): Policy => {
      const own = breakEven({ prices });
      return Object.assign(own, { init: () => void started++ });
    };
    const desk = new Office({ policy });
    const both = (turns: number): void => {
      desk.ask(body(turns));
      desk.ask(small(turns));
    };
    for (let turns = 10; turns <= 15; turns++) both(turns);
    const before = started;
    for (let turns = 16; turns <= 20; turns++) both(turns);
    expect(before).toBeGreaterThan(0);
    expect(started).toBe(before);
  });

  it('are no two where one takes over: its cache is empty, so everything outside the window goes for nothing', () => {
    const desk = new Office();
    for (let turns = 1; turns <= 14; turns++) desk.ask(body(turns, { model: 'claude-opus-5' }));
    const taken = desk.ask(body(15));
    expect(taken.explanation).toMatchObject({ act: 'cold-cache', model: MODEL });
    const next = desk.ask(body(16));
    expect(contents(next).slice(0, 15)).toEqual(contents(taken));
    expect(successor(taken, desk.recorded).ask(body(16)).out.equals(next.out)).toBe(true);
  });

  it('are no two where one was never answered, or somebody else may have asked the other', () => {
    const desk = new Office();
    desk.look(body(14));
    expect(desk.ask(body(14)).explanation.act).toBe('wait');
    desk.ask(body(13, { model: 'claude-opus-5' }));
    expect(desk.ask(body(16, { model: 'claude-sonnet-4-5' })).explanation.act).toBe('wait');
  });

  it('have a cache each: that of one may be cold while the other is in use', () => {
    const desk = new Office();
    desk.run(1, 14);
    for (let minutes = 0; minutes < 30; minutes++) desk.ask(small(14));
    expect(desk.ask(body(15)).explanation.act).toBe('cold-cache');
  });
});

describe('what did not go out', () => {
  it('is no event: an epoch on a cold cache that was put off is over', () => {
    const desk = new Office();
    desk.run(1, 14);
    desk.now += HOUR;
    const cold = desk.look(body(15));
    expect(cold.explanation.act).toBe('cold-cache');
    const put = withoutStore(cold, 'store-slow');
    expect([put.body, put.events]).toEqual([undefined, []]);
    desk.answer(put);
    const next = desk.ask(body(16));
    expect([next.explanation.act, next.body, next.events]).toEqual(['wait', undefined, []]);
    expect(desk.memory.conversation(next.conversation).hasAnyEvent).toBe(false);
  });

  it('is no event: an epoch on a cold cache that was put off for a request and for its retry', () => {
    const desk = new Office();
    desk.run(1, 14);
    desk.now += HOUR;
    const [first, second] = [desk.look(body(15)), desk.look(body(15))];
    expect(second.events).toEqual(first.events);
    for (const asked of [first, second]) desk.answer(withoutStore(asked, 'store-slow'));
    expect(desk.ask(body(16)).body).toBeUndefined();
  });

  it('is an event where the retry of a request that was put off went out', () => {
    const desk = new Office();
    desk.run(1, 14);
    desk.now += HOUR;
    const [first, second] = [desk.look(body(15)), desk.look(body(15))];
    desk.answer(withoutStore(first, 'store-slow'));
    afterStored(second);
    desk.answer(second);
    const next = desk.ask(body(16));
    expect(contents(next).slice(0, 15)).toEqual(contents(second));
    expect(successor(second, second.events).ask(body(16)).out.equals(next.out)).toBe(true);
  });

  it('is still to be recorded where its tokens are counted meanwhile', () => {
    const desk = new Office();
    desk.run(1, 14);
    desk.now += HOUR;
    const { conversation, events } = desk.look(body(15));
    expect(events.map(({ kind }) => kind)).toEqual(['settings', 'cold-cache']);
    desk.look(body(15), { path: '/v1/messages/count_tokens', isCountTokens: true });
    expect(events.map((event) => desk.memory.conversation(conversation).isPending(event))).toEqual([true, true]);
  });

  it('is no event: an epoch that bound thinking forbade', () => {
    const thinks = (turns: number): Json =>
      anthropicBody(anthropicMessages(turns, { thinks: true }), { model: 'claude-opus-5-1' });
    const desk = new Office();
    for (let turns = 1; turns <= 14; turns++) desk.ask(thinks(turns));
    desk.now += HOUR;
    const cold = desk.ask(thinks(15));
    expect(cold.explanation).toMatchObject({ reason: 'bound-thinking', masked: 0 });
    const next = desk.ask({ ...thinks(16), thinking: { type: 'adaptive' } });
    expect([next.explanation.act, next.explanation.masked, desk.recorded]).toEqual(['wait', 0, []]);
  });

  it('is no event: a plan that breaks a law', () => {
    const leavesOut: Policy = {
      init: () => undefined,
      step: (state, { turns, observations: [first] }) => ({
        state,
        mask: first && turns > 12 ? [first.segment] : [],
        ...(turns > 13 ? { summarize: 2 } : {}),
        because: { act: 'mask', because: 'so' },
      }),
    };
    const desk = new Office({ policy: () => leavesOut });
    const asked = desk.ask(body(14));
    expect(asked.explanation).toMatchObject({ act: 'off', reason: 'law' });
    expect(asked.events).toEqual([]);
    expect(desk.memory.conversation(asked.conversation).hasAnyEvent).toBe(false);
  });
});

describe('the receipt of a request', () => {
  // What is said behind the last result is enough to change its mind about all of them.
  const policy = (): Policy =>
    stateless(({ turns, tokens, observations }) => (turns === 8 && tokens < 12_000 ? observations.slice(0, 3) : []));
  const spoken = anthropicBody([...anthropicMessages(8), { role: 'user', content: 'And be quick. '.repeat(4000) }]);

  it('tells of that request, though another has gone on with the conversation since', () => {
    const expected = newMasks(new Office({ policy }).look(body(8)));
    const desk = new Office({ policy });
    const asked = desk.look(body(8));
    expect(desk.look(spoken).explanation.masked).toBe(0);
    expect(newMasks(asked)).toEqual(expected);
    expect(expected.map(({ chars }) => chars > 1000)).toEqual([true, true, true]);
  });

  it('and its body hold what was masked before, where it is put off meanwhile', () => {
    const desk = new Office({ policy });
    const first = desk.ask(body(8));
    const again = desk.look(body(8));
    desk.look(spoken);
    const put = withoutStore(again, 'store-slow');
    expect(maskedIn(put.body ?? Buffer.alloc(0))).toEqual(maskedIn(first.out));
    expect(put.hidden).toEqual(first.hidden);
  });
});
