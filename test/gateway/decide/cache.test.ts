import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { newMasks } from '../../../src/gateway/decide/decide.ts';
import { breakEven, type Policy, type Prices, slidingWindow } from '../../../src/index.ts';
import {
  type Asked,
  anthropicBody,
  anthropicMessages,
  Desk,
  type Json,
  MODEL,
  marked,
  maskedIn,
  output,
  parsed,
  resultsIn,
  successor,
} from '../../support/gateway/requests.ts';

const EPHEMERAL = { type: 'ephemeral' };

/** The places of all markers on messages: message, block, lifetime. */
function markersIn(bytes: Uint8Array): [number, number, unknown][] {
  return (parsed(bytes).messages as Json[]).flatMap(({ content }, m) =>
    (Array.isArray(content) ? content : []).flatMap((block: Json, b): [number, number, unknown][] =>
      block.cache_control ? [[m, b, (block.cache_control as Json).ttl]] : [],
    ),
  );
}

/** Asks for every turn, and answers the first request that masks something new after `after`. */
function firstEpoch(desk: Desk, body: (turns: number) => Json): { asked: Asked; turns: number } {
  for (let turns = 1; turns < 60; turns++) {
    const asked = desk.ask(body(turns));
    if (asked.explanation.newMasks > 0) return { asked, turns };
  }
  throw new Error('nothing was ever masked');
}

describe('the cache marker', () => {
  it('stands just before the first edit of an epoch, and only on that request', () => {
    const desk = new Desk();
    const { asked, turns } = firstEpoch(desk, (n) => anthropicBody(anthropicMessages(n)));
    const first = 2 + 2 * maskedIn(asked.out).indexOf(true);
    expect(markersIn(asked.out)).toEqual([
      [first - 1, 1, undefined],
      [2 * turns, 0, undefined],
    ]);
    const next = desk.ask(anthropicBody(anthropicMessages(turns + 1)));
    expect(markersIn(next.out)).toEqual([[2 * turns + 2, 0, undefined]]);
  });

  it('has the lifetime of the next one', () => {
    const hour = { type: 'ephemeral', ttl: '1h' };
    const { asked } = firstEpoch(new Desk(), (n) =>
      anthropicBody([], { messages: marked(anthropicMessages(n), hour), system: undefined }),
    );
    expect(markersIn(asked.out).map(([, , ttl]) => ttl)).toEqual(['1h', '1h']);
    expect(asked.explanation.prices.name).toBe('anthropic-1h');
  });

  const four = (turns: number): Json => {
    const messages = anthropicMessages(turns).map((message, i, all) =>
      i >= all.length - 4 && i % 2 === 0 ? (marked([message])[0] as Json) : message,
    );
    const system = [1, 2].map((n) => ({ type: 'text', text: `Part ${n}`, cache_control: EPHEMERAL }));
    return anthropicBody([], { messages, system });
  };

  it('is the oldest one on a message where all four are used', () => {
    const { asked, turns } = firstEpoch(new Desk(), four);
    const first = 2 + 2 * maskedIn(asked.out).indexOf(true);
    expect(markersIn(asked.out).map(([message]) => message)).toEqual([first - 1, 2 * turns]);
    expect(parsed(asked.out).system).toEqual(four(turns).system);
  });

  it('is not placed where the only marker behind the edit would have to go for it', () => {
    const body = (turns: number): Json => {
      const system = [1, 2, 3].map((n) => ({ type: 'text', text: `Part ${n}`, cache_control: EPHEMERAL }));
      return anthropicBody(anthropicMessages(turns), { system });
    };
    const { asked, turns } = firstEpoch(new Desk(), body);
    expect(markersIn(asked.out).map(([message]) => message)).toEqual([2 * turns]);
  });

  const texts = ['a', 'b'].map((text) => ({ type: 'text', text, cache_control: EPHEMERAL }));
  const document = { type: 'document', source: { type: 'content', content: texts } };

  it.each([
    ['a result', texts],
    ['a document in a result', [document]],
    ['a search result in a result', [{ type: 'search_result', source: 'x', title: 'x', content: texts }]],
  ])('is counted with all those inside %s', (_where, parts) => {
    const body = (turns: number): Json => {
      const results = (turn: number) => (turn === turns ? [...parts, { type: 'text', text: output(turn) }] : undefined);
      return anthropicBody(anthropicMessages(turns, { results }));
    };
    const { asked } = firstEpoch(new Desk(), body);
    expect(asked.out.toString().split('"cache_control"')).toHaveLength(5);
    // None of them can move, and that was reckoned with.
    expect(asked.events).toMatchObject([{ kind: 'settings', prices: { canMark: false } }]);
  });

  it('takes the place of one that is null', () => {
    const body = (turns: number): Json =>
      JSON.parse(JSON.stringify(anthropicBody(anthropicMessages(turns))), (_, value) =>
        value?.type === 'tool_use' ? { ...value, cache_control: null } : value,
      );
    const { asked } = firstEpoch(new Desk(), body);
    const first = 2 + 2 * maskedIn(asked.out).indexOf(true);
    expect(markersIn(asked.out)[0]).toEqual([first - 1, 1, undefined]);
    expect(asked.out.toString()).not.toContain('null,"cache_control"');
  });

  it('goes with the one that the provider places by itself', () => {
    const body = (turns: number): Json =>
      anthropicBody([], { messages: anthropicMessages(turns), system: 'Be brief', cache_control: EPHEMERAL });
    const { asked } = firstEpoch(new Desk(), body);
    expect(markersIn(asked.out)).toHaveLength(1);
    expect(asked.explanation.prices.name).toBe('anthropic-5m');
  });

  it('is never put on thinking', () => {
    const desk = new Desk({ policy: () => slidingWindow({ turns: 1 }) });
    const thinking = { type: 'thinking', thinking: 'Hm', signature: 's' };
    // Right before the result that is masked.
    const messages = anthropicMessages(3).map((message, i) =>
      i === 3 ? { ...message, content: [...(message.content as Json[]), thinking] } : message,
    );
    desk.ask(anthropicBody(messages.slice(0, 5)));
    const asked = desk.ask(anthropicBody(messages));
    expect(markersIn(asked.out)[0]).toEqual([3, 1, undefined]);
  });

  it('stays where it was on a result that is masked', () => {
    const results = (turn: number): unknown => [
      { type: 'text', text: output(turn) },
      { type: 'text', text: 'and more', cache_control: EPHEMERAL },
    ];
    const messages = anthropicMessages(4, { results: (turn) => (turn === 1 ? results(turn) : undefined) });
    const asked = new Desk({ policy: () => slidingWindow({ turns: 1 }) }).ask(anthropicBody(messages));
    expect(resultsIn(parsed(asked.out))[0]).toEqual([
      { type: 'text', text: expect.stringContaining('masked'), cache_control: EPHEMERAL },
    ]);
    // What is stored does not depend on where the marker stood.
    expect(asked.hidden[0]?.text).toBe(
      JSON.stringify([
        { type: 'text', text: output(1) },
        { type: 'text', text: 'and more' },
      ]),
    );
  });
});

describe('prices', () => {
  const priced = (body: Json, more = {}): string => new Desk().ask(body, more).explanation.prices.name;
  const long = anthropicMessages(6);

  it('are none for Anthropic without a marker, and those of the longest lifetime with one', () => {
    expect(priced({ model: 'claude-opus-5', messages: long })).toBe('none');
    expect(priced(anthropicBody(long))).toBe('anthropic-5m');
    expect(priced(anthropicBody([], { messages: marked(long, { type: 'ephemeral', ttl: '1h' }) }))).toBe(
      'anthropic-1h',
    );
  });

  it.each([
    ['claude-opus-5', 1, 'anthropic-5m'],
    ['claude-sonnet-5', 1, 'none'],
    ['claude-haiku-4-5-20251001', 2, 'none'],
    ['claude-opus-4-6', 2, 'none'],
    ['claude-opus-4-7', 3, 'anthropic-5m'],
    ['claude-haiku-4-5-20251001', 6, 'anthropic-5m'],
  ])('of %s with %i results are %s: below its least size nothing is cached', (model, turns, name) => {
    expect(priced(anthropicBody(anthropicMessages(turns, { lines: 40 }), { model }))).toBe(name);
  });

  it('come from the model elsewhere', () => {
    const chat = { messages: [{ role: 'user', content: 'x '.repeat(3000) }] };
    const api = { api: 'openai-chat' };
    expect(priced({ ...chat, model: 'gpt-4o-mini' }, api)).toBe('gpt-4o');
    expect(priced({ ...chat, model: 'gpt-5.6' }, api)).toBe('gpt-5.6');
    expect(priced({ ...chat, model: 'deepseek-v4' }, api)).toBe('deepseek');
    expect(priced({ ...chat, model: 'qwen3' }, api)).toBe('gpt-5');
    expect(priced({ ...chat, model: 'anthropic/claude-sonnet-5' }, api)).toBe('none');
    expect(priced({ contents: [{ role: 'user', parts: [{ text: 'x '.repeat(5000) }] }] }, { api: 'gemini' })).toBe(
      'gemini',
    );
  });

  it('of masking are none where no marker stands on a message, though the system prompt is cached', () => {
    const lists: string[] = [];
    const policy = (prices: Prices): Policy => {
      lists.push(prices.name);
      return breakEven({ prices });
    };
    const body = { ...anthropicBody([]), messages: long };
    expect(new Desk({ policy }).ask(body).explanation.prices.name).toBe('anthropic-5m');
    expect(new Set(lists)).toEqual(new Set(['none']));
  });

  it("of Claude behind OpenAI's interface follow its markers, and reckon without one of ours", () => {
    const results = (turns: number): Json[] =>
      Array.from({ length: turns }, (_, i) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: `c${i}`, type: 'function', function: { name: 'read_file', arguments: `{"path":"${i}"}` } },
          ],
        },
        { role: 'tool', tool_call_id: `c${i}`, content: output(i) },
      ]).flat();
    const model = 'anthropic/claude-sonnet-5';
    const said = { role: 'user', content: [{ type: 'text', text: 'Go on', cache_control: EPHEMERAL }] };
    const body = (task: string): Json => ({ model, messages: [{ role: 'user', content: task }, ...results(14), said] });
    const ask = (task: string): Asked => new Desk().ask(body(task), { api: 'openai-chat' });
    const [short, long] = [ask('Go').explanation, ask('Go '.repeat(4000)).explanation];
    expect(short).toMatchObject({ act: 'wait', prices: { name: 'anthropic-5m' } });
    // What stands before the first edit would be written again too.
    expect(long.price).toBeGreaterThan((short.price ?? 0) + 4000);
    const masked = new Desk({ policy: () => slidingWindow({ turns: 2 }) }).ask(body('Go'), { api: 'openai-chat' });
    expect(masked.explanation.masked).toBe(12);
    expect(masked.out.toString().split('cache_control')).toHaveLength(2);
  });

  it('that change take back no mask, in this process or another', () => {
    const desk = new Desk();
    const recorded = [];
    let last: Asked | undefined;
    // Without markers at first: everything outside the window goes at once.
    for (let turns = 1; turns <= 30; turns++) {
      const messages = anthropicMessages(turns);
      const body = turns < 16 ? { model: MODEL, messages } : anthropicBody(messages);
      const asked = desk.ask(body);
      const masks = maskedIn(asked.out);
      const before = last ? maskedIn(last.out) : [];
      expect(before.every((isMasked, i) => !isMasked || masks[i])).toBe(true);
      recorded.push(...asked.events);
      if (turns === 20) expect(asked.explanation).toMatchObject({ act: 'wait', prices: { name: 'anthropic-5m' } });
      expect(successor(asked, recorded).ask(body).out.equals(asked.out)).toBe(true);
      last = asked;
    }
    expect(recorded.map(({ kind }) => kind)).toEqual(['settings', 'settings']);
    expect(last?.explanation.masked).toBeGreaterThanOrEqual(5);
  });
});

describe('a request that is sent again at another price', () => {
  const cheap = (turns: number): Json => ({ model: MODEL, messages: anthropicMessages(turns) });
  const dear = (turns: number): Json => anthropicBody(anthropicMessages(turns));

  it.each([11, 14])('keeps its masks, and so does the next one (after %i turns)', (turns) => {
    const desk = new Desk();
    const recorded: GatewayEvent[] = [];
    const ask = (body: Json): boolean[] => {
      const asked = desk.ask(body);
      recorded.push(...asked.events);
      expect(maskedIn(successor(asked, recorded).ask(body).out)).toEqual(maskedIn(asked.out));
      return maskedIn(asked.out);
    };
    for (let turn = 1; turn < turns; turn++) ask(cheap(turn));
    const masks = ask(cheap(turns));
    expect(masks).toContain(true);
    expect(ask(dear(turns))).toEqual(masks);
    expect(ask(dear(turns + 1)).slice(0, masks.lastIndexOf(true) + 1)).not.toContain(false);
    expect(ask(cheap(turns))).toEqual(masks);
    expect(ask(dear(turns + 2)).filter(Boolean).length).toBeGreaterThanOrEqual(masks.filter(Boolean).length);
  });
});

describe('recall', () => {
  const policy = () => slidingWindow({ turns: 2 });
  const tools = (name: string): Json => ({ tools: [{ name, input_schema: {} }] });
  const placeholder = (asked: Asked): string => newMasks(asked)[0]?.placeholder ?? '';

  it.each(['recall', 'mcp__palimpsest__recall', 'palimpsest_recall'])(
    'is written where the tools contain %s',
    (name) => {
      const asked = new Desk({ policy }).ask(anthropicBody(anthropicMessages(8), tools(name)));
      expect(placeholder(asked)).toMatch(/ · recall p_[a-z2-7]{26}\]$/);
    },
  );

  it.each(['recall_order', 'read_file', 'total_recall'])('is not written for a tool called %s', (name) => {
    const asked = new Desk({ policy }).ask(anthropicBody(anthropicMessages(8), tools(name)));
    expect(placeholder(asked)).toMatch(/ masked · p_[a-z2-7]{26}\]$/);
  });

  it('is found in the tools of the other providers', () => {
    const chat = anthropicMessages(8).flatMap((_, turn): Json[] => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `c${turn}`, type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `c${turn}`, content: output(turn) },
    ]);
    const body = {
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Go' }, ...chat],
      tools: [{ type: 'function', function: { name: 'recall' } }],
    };
    expect(placeholder(new Desk({ policy }).ask(body, { api: 'openai-chat' }))).toContain('recall p_');
  });

  it('that comes or goes later changes no byte that was sent, in this process or another', () => {
    const desk = new Desk({ policy });
    const first = desk.ask(anthropicBody(anthropicMessages(8)));
    const body = anthropicBody(anthropicMessages(9), tools('recall'));
    const second = desk.ask(body);
    const contents = (asked: Asked): unknown[] => resultsIn(parsed(asked.out)).slice(0, 6);
    expect(contents(second)).toEqual(contents(first));
    expect(successor(first, first.events, { policy }).ask(body).out.equals(second.out)).toBe(true);
  });
});
