import { describe, expect, it } from 'vitest';
import { chars, history, omitted, prose, reply, results, system, toolTurn, user } from '../../../test/support/chat.ts';
import { anthropic } from '../../formats/anthropic.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { Ledger } from '../ledger/ledger.ts';
import { clip, clipResult, truncateArrival } from './clip.ts';
import { drop } from './drop.ts';
import { type Budget, CLIP_NEWEST, type ClipStage } from './stage.ts';

/** A token for each character. */
const counter = (text: string): number => text.length;

function clipped(list: readonly ChatMessage[], stage: Partial<ClipStage>, budget: Partial<Budget> = {}) {
  const ledger = Ledger.of(list, chat, { counter });
  ledger.beginRequest();
  const given: Budget = { max: 2000, target: 1000, measure: 'chars', stages: [], window: 2, ...budget };
  clip(ledger, { kind: 'clip', what: 'results', to: 'max', ...stage }, given);
  return ledger;
}

const sizes = (ledger: Ledger<ChatMessage>): number[] => results(ledger.sent()).map((text) => text.length);

describe('clip', () => {
  const messages = [user('Fix it.'), ...toolTurn({ id: 'a', output: 'x'.repeat(900) })];
  const three = [
    ...messages,
    ...toolTurn({ id: 'b', output: 'y'.repeat(2000) }),
    ...toolTurn({ id: 'c', output: 'z'.repeat(3000) }),
  ];

  it('cuts the largest results to one size, so that all together fit', () => {
    expect(sizes(clipped(three, {}, { max: 2007 }))).toEqual([666, 666, 666]);
    expect(sizes(clipped(three, {}, { max: 3007 }))).toEqual([900, 1050, 1050]);
  });

  it('cuts down to the target where the stage says so', () => {
    expect(chars(clipped(three, { to: 'target' }, { max: 3007, target: 1507 }).sent())).toBeLessThanOrEqual(1507);
    expect(chars(clipped(three, { to: 'max' }, { max: 3007, target: 1507 }).sent())).toBeGreaterThan(1507);
  });

  it('leaves 24 characters of a result, or as many as the stage says', () => {
    expect(sizes(clipped(three, {}, { max: 1 }))).toEqual([24, 24, 24]);
    expect(sizes(clipped(three, { least: 5 }, { max: 1 }))).toEqual([5, 5, 5]);
  });

  it('leaves 60 tokens of a result', () => {
    for (const size of sizes(clipped(three, {}, { max: 1, measure: 'tokens' }))) {
      expect(size).toBeLessThanOrEqual(60);
      expect(size).toBeGreaterThan(24);
    }
  });

  it('counts tokens where the budget does', () => {
    const ledger = Ledger.of(three, chat, { counter: (text) => Math.ceil(text.length / 4) });
    ledger.beginRequest();
    const budget: Budget = { max: 700, target: 700, measure: 'tokens', stages: [], window: 2 };
    clip(ledger, { kind: 'clip', what: 'results', to: 'max' }, budget);
    expect(ledger.tokens).toBeLessThanOrEqual(700);
    for (const size of sizes(ledger)) expect(size).toBeGreaterThan(600);
  });

  it('counts the handle that a clipped result shows', () => {
    const ledger = Ledger.of(three, chat, { counter, handleOf: () => `p_${'a'.repeat(26)}`, show: 'recall' });
    ledger.beginRequest();
    const budget: Budget = { max: 2007, target: 2007, measure: 'chars', stages: [], window: 2 };
    clip(ledger, { kind: 'clip', what: 'results', to: 'max' }, budget);
    expect(sizes(ledger)).toEqual([666, 666, 666]);
    for (const text of results(ledger.sent())) expect(text).toMatch(/ · recall p_[a-z2-7]{26}$/);
  });

  it('leaves room for the handle beside the least size in characters, and within it in tokens', () => {
    const perFour = (text: string): number => Math.ceil(text.length / 4);
    const textsIn = (measure: Budget['measure']): string[] => {
      const handles = { handleOf: () => `p_${'a'.repeat(26)}`, show: 'recall' as const };
      const ledger = Ledger.of(three, chat, { counter: perFour, ...handles });
      ledger.beginRequest();
      const budget: Budget = { max: 1, target: 1, measure, stages: [], window: 2 };
      clip(ledger, { kind: 'clip', what: 'results', to: 'max' }, budget);
      return results(ledger.sent());
    };
    const handle = ` · recall p_${'a'.repeat(26)}`;
    for (const text of textsIn('chars'))
      expect([text.length, text.endsWith(handle)]).toEqual([24 + handle.length, true]);
    for (const text of textsIn('tokens')) expect([perFour(text) <= 60, text.includes(handle)]).toEqual([true, true]);
  });

  it('counts characters where the budget does, whatever a token is', () => {
    const ledger = Ledger.of(three, chat, { counter: (text) => Math.ceil(text.length / 4) });
    ledger.beginRequest();
    const budget: Budget = { max: 2007, target: 2007, measure: 'chars', stages: [], window: 2 };
    clip(ledger, { kind: 'clip', what: 'results', to: 'max' }, budget);
    expect(sizes(ledger)).toEqual([666, 666, 666]);
  });

  it('leaves results alone that are no larger than the size to which the others are cut', () => {
    const list = [...three, ...toolTurn({ id: 'd', output: 'd'.repeat(60) })];
    const [first, , , last] = sizes(clipped(list, {}, { max: 1, measure: 'tokens' }));
    expect([(first as number) < 900, last]).toEqual([true, 60]);
    expect(sizes(clipped(three, {}, { max: 3100, measure: 'tokens' }))[0]).toBe(900);
  });

  it('shortens the words of users as the last resort: the newest first, then the task, then the longest', () => {
    const says = (length: number, word: string): ChatMessage => user(`${word} `.repeat(length / 5));
    const list = [says(2000, 'task'), reply('a'), says(1000, 'some'), reply('b'), says(1500, 'more'), reply('c')];
    const wordsAt = (max: number): number[] => {
      const sent = clipped([...list, says(3000, 'last')], { what: 'words' }, { max, measure: 'tokens' }).sent();
      return sent.filter(({ role }) => role === 'user').map(({ content }) => content.length);
    };
    const whole = [2000, 1000, 1500, 3000];
    expect(wordsAt(10_000)).toEqual(whole);
    const [task, , , newest] = wordsAt(6500) as [number, number, number, number];
    expect([task, newest < 3000, newest > 1000]).toEqual([2000, true, true]);
    const [shortTask, some, more] = wordsAt(3500) as [number, number, number];
    expect([shortTask < 2000, some, more]).toEqual([true, 1000, 1500]);
    const [, kept, shorter] = wordsAt(2000) as [number, number, number];
    expect([kept, shorter < 1500]).toEqual([1000, true]);
  });

  describe('of words', () => {
    const says = (length: number, word: string): ChatMessage => user(`${word} `.repeat(length / 5));
    const shortened = (list: readonly ChatMessage[], stage: Partial<ClipStage>, budget: Partial<Budget>): string[] => {
      const ledger = clipped(list, { what: 'words', ...stage }, { measure: 'tokens', ...budget });
      return ledger.hidden.map(({ text }) => text.slice(0, 4));
    };
    const size = (list: readonly ChatMessage[]): number => Ledger.of(list, chat, { counter }).tokens;

    it('takes the newest and the task before longer ones', () => {
      const list = [says(500, 'task'), reply('a'), says(2000, 'long'), reply('b'), says(1500, 'less'), reply('c')];
      const all = [...list, says(500, 'last')];
      const orderAt = (excess: number): string[] => shortened(all, {}, { max: size(all) - excess });
      expect(orderAt(300)).toEqual(['last']);
      expect(orderAt(800)).toEqual(['last', 'task']);
      expect(orderAt(1500)).toEqual(['last', 'task', 'long']);
      expect(orderAt(3500)).toEqual(['last', 'task', 'long', 'less']);
    });

    it('stops as soon as the history fits, even above the target', () => {
      const list = [says(2000, 'task'), reply('a'), says(500, 'last')];
      expect(shortened(list, { to: 'target' }, { max: size(list) - 400, target: 100 })).toEqual(['last']);
      expect(shortened(list, { to: 'target' }, { max: size(list), target: 100 })).toEqual([]);
    });

    it('leaves short words, replies, notices and system prompts alone, however large the rest', () => {
      const list = [
        system(prose(900, 'system ')),
        user('Fix it.'),
        reply(prose(900, 'reply ')),
        user('[conversation truncated — 4 older messages omitted]'),
        reply('b'),
        user(prose(40)),
        reply('c'),
        user('Go on.'),
      ];
      expect(shortened(list, {}, { max: 1 })).toEqual([]);
      expect(shortened([reply(prose(900)), reply('b')], {}, { max: 1 })).toEqual([]);
    });

    it('leaves words alone that are no longer sent', () => {
      const list = [says(900, 'task'), says(900, 'gone'), says(900, 'last')];
      const ledger = Ledger.of(list, chat, { counter });
      ledger.beginRequest();
      const budget: Budget = { max: 1, target: 1, measure: 'tokens', stages: [], window: 2 };
      drop(ledger, { kind: 'drop', what: 'messages' }, budget);
      clip(ledger, { kind: 'clip', what: 'words', to: 'max' }, budget);
      expect(ledger.sent().map(({ content }) => content.slice(0, 4))).toEqual(['task', '[con', 'last']);
      const hidden = ledger.hidden.filter(({ why }) => why === 'clip');
      expect(hidden.map(({ text }) => text.slice(0, 4))).toEqual(['last', 'task']);
    });

    it('takes the newest words for the newest, whatever image comes after them', () => {
      const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(400) };
      const list = [
        { role: 'user', content: 'task '.repeat(100) },
        { role: 'assistant', content: 'a' },
        { role: 'user', content: 'some '.repeat(300) },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'last '.repeat(100) },
        { role: 'assistant', content: 'c' },
        { role: 'user', content: [{ type: 'image', source }] },
      ];
      const ledger = Ledger.of(list, anthropic, { counter });
      ledger.beginRequest();
      const max = ledger.tokens - 300;
      const budget: Budget = { max, target: max, measure: 'tokens', stages: [], window: 2 };
      clip(ledger, { kind: 'clip', what: 'words', to: 'max' }, budget);
      expect(ledger.hidden.map(({ text }) => text.slice(0, 4))).toEqual(['last']);
    });
  });

  it('leaves a masked result alone, unless the stage takes even those', () => {
    const ledger = Ledger.of(messages, chat, { counter });
    ledger.beginRequest();
    ledger.mask(ledger.observations[0]?.segment as number);
    const masked = results(ledger.sent());
    const budget: Budget = { max: 1, target: 1, measure: 'chars', stages: [], window: 2 };
    clip(ledger, { kind: 'clip', what: 'results', to: 'max', least: 10 }, budget);
    expect(results(ledger.sent())).toEqual(masked);
    clip(ledger, { kind: 'clip', what: 'results', to: 'max', least: 10, evenMasked: true }, budget);
    expect(sizes(ledger)).toEqual([10]);
  });

  it('leaves a placeholder that came with the history alone, even where the stage takes masked results', () => {
    const placeholder = '[Observation omitted for brevity]';
    const ledger = clipped(
      [user('Fix it.'), ...toolTurn({ id: 'a', output: placeholder })],
      {
        least: 10,
        evenMasked: true,
      },
      { max: 1 },
    );
    expect(results(ledger.sent())).toEqual([placeholder]);
  });

  it('leaves the placeholder of a file alone, even where the stage takes masked results', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(40_000) };
    const shot = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source }] };
    const ledger = Ledger.of(
      [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'screenshot', input: {} }] },
        { role: 'user', content: [shot] },
      ],
      anthropic,
      { counter },
    );
    ledger.beginRequest();
    const [result] = ledger.observations;
    ledger.mask(result?.segment as number);
    const placeholder = result?.text;
    const budget: Budget = { max: 1, target: 1, measure: 'chars', stages: [], window: 2 };
    clip(ledger, { kind: 'clip', what: 'results', to: 'max', least: 10, evenMasked: true }, budget);
    expect([result?.masked, result?.text]).toEqual([true, placeholder]);
  });

  it('waits where other turns can still go, if the stage is for the newest turn alone', () => {
    const list = history(6);
    expect(sizes(clipped(list, CLIP_NEWEST as ClipStage, { max: 2000, target: 1600 }))).toEqual(Array(6).fill(1000));
    expect(Math.max(...sizes(clipped(list, CLIP_NEWEST as ClipStage, { max: 700, target: 560 })))).toBeLessThan(1000);
    // The head has 41 characters, a turn 1006: the newest turn fits exactly beside the notice.
    const least = 41 + 1006 + omitted(10).length;
    const newestAt = (max: number): number | undefined =>
      sizes(clipped(list, CLIP_NEWEST as ClipStage, { max, target: 560 })).at(-1);
    expect([newestAt(least), newestAt(least - 1) === 1000]).toEqual([1000, false]);
  });
});

describe('clipResult', () => {
  it('cuts one result, and nothing where there is none', () => {
    const ledger = Ledger.of([user('Fix it.'), ...toolTurn({ id: 'a', output: 'x y '.repeat(200) })], chat, {
      counter,
    });
    ledger.beginRequest();
    clipResult(ledger, 0, 100);
    clipResult(ledger, 99, 100);
    expect([sizes(ledger), ledger.clipSizes.size]).toEqual([[800], 0]);
    const segment = ledger.observations[0]?.segment as number;
    clipResult(ledger, segment, 100);
    expect([(sizes(ledger)[0] as number) <= 100, ledger.clipSizes.get(segment)]).toEqual([true, 100]);
    expect(ledger.hidden.map(({ why }) => why)).toEqual(['clip']);
  });

  it.each([60, 6])('masks a result whose text fits into %i tokens and that only its image makes large', (maxTokens) => {
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(40_000) };
    const messages = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'screenshot', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [
              { type: 'text', text: 'a page' },
              { type: 'image', source },
            ],
          },
        ],
      },
    ];
    const ledger = Ledger.of(messages, anthropic, { counter });
    ledger.beginRequest();
    const [result] = ledger.observations;
    clipResult(ledger, result?.segment as number, maxTokens);
    expect(result?.masked).toBe(true);
  });
});

describe('truncateArrival', () => {
  const truncated = (length: number, maxTokens: number): Ledger<ChatMessage> => {
    const ledger = Ledger.of([user('Fix it.'), ...toolTurn({ id: 'a', output: 'x y '.repeat(length / 4) })], chat, {
      counter,
    });
    ledger.beginRequest();
    const [result] = ledger.observations;
    if (result) truncateArrival(ledger, result, maxTokens);
    return ledger;
  };

  it('cuts a result that is larger than the limit, and no other', () => {
    expect(sizes(truncated(800, 800))).toEqual([800]);
    const ledger = truncated(800, 799);
    expect(sizes(ledger)[0]).toBeLessThan(800);
    expect(ledger.hidden.map(({ why }) => why)).toEqual(['truncate']);
  });

  it('does not cut a masked result again', () => {
    const ledger = Ledger.of([user('Fix it.'), ...toolTurn({ id: 'a', output: 'x y '.repeat(200) })], chat, {
      counter,
    });
    ledger.beginRequest();
    const [result] = ledger.observations;
    ledger.mask(result?.segment as number);
    const masked = results(ledger.sent());
    if (result) truncateArrival(ledger, result, 10);
    expect(results(ledger.sent())).toEqual(masked);
  });
});
