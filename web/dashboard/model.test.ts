import { describe, expect, it } from 'vitest';
import type { Receipt, Totals } from '../../src/gateway/receipts/receipt.ts';
import { type MoneyTotals, NO_MONEY } from '../../src/money/money-totals.ts';
import { mask, receipt } from '../../test/support/gateway/receipts.ts';
import {
  agentAddress,
  changeOf,
  costPoints,
  figuresOf,
  firstRequests,
  isHandle,
  linesAround,
  maskedWords,
  maskingEventsOf,
  matchesIn,
  sessionIn,
  sizePoints,
  titleOf,
  windowWords,
} from './model.ts';

const read = (text: string): string => text.replaceAll('\u202f', ' ');

describe('maskedWords', () => {
  it('does not give the unmasked results as all that were made smaller on arrival', () => {
    const words = maskedWords({ masked: 55, epochs: 3, shaped: 7 });
    expect(words).toBe('55 results masked in 3 epochs, 7 others made smaller on arrival');
  });

  it('counts no nothing', () => {
    expect(maskedWords({ masked: 0, epochs: 0, shaped: 0 })).toBe('no result masked yet');
    expect(maskedWords({ masked: 0, epochs: 0, shaped: 2 })).toBe('2 results made smaller on arrival');
    expect(maskedWords({ masked: 1, epochs: 1, shaped: 0 })).toBe('1 result masked in 1 epoch');
  });
});

describe('changeOf', () => {
  it('compares with what it would have cost', () => {
    expect(changeOf({ without: 200, sent: 150 })).toBe(-0.25);
    expect(changeOf({ without: 100, sent: 110 })).toBeCloseTo(0.1);
  });

  it('is nothing where there is nothing to compare with', () => {
    expect(changeOf({ without: 0, sent: 0 })).toBeUndefined();
  });
});

describe('figuresOf', () => {
  const totals: Totals = {
    requests: 312,
    conversations: 4,
    tokensIn: 2_000_000,
    tokensSent: 1_500_000,
    cached: 1_200_000,
    written: 300_000,
    cost: { without: 700_000, sent: 490_000 },
    money: { ...NO_MONEY, unpriced: 312 },
    unsent: { requests: 0, tokens: 0 },
    masked: 57,
    shaped: 12,
    refused: 0,
    failed: 0,
    overheadMs: { median: 0.8, p99: 3.1 },
  };

  it('gives every number its denominator', () => {
    const shown = figuresOf(totals).map(({ name, value, change, of }) => read(`${name}: ${change ?? value} ${of}`));
    expect(shown[2]).toMatch(/^Input cost: -0\.3\d* 490k instead of 700k, in tokens at the base price$/);
    expect(shown[3]).toBe('Tokens sent: -0.25 1,500k of the 2,000k that came in');
    expect(shown[4]).toBe('From the cache: 80 % of the 1,500k tokens that were sent');
    expect(shown[5]).toBe('Requests: 312 in 4 conversations, none refused');
    expect(figuresOf({ ...totals, refused: 1, failed: 6 })[5]?.of).toBe('in 4 conversations, 1 refused, 6 failed');
  });

  it('shows dollars where prices are known, and says of how many requests', () => {
    const billed = { requests: 300, sent: 7, without: 10, output: 5 };
    const shownOf = (money: MoneyTotals): string[] =>
      figuresOf({ ...totals, money }).map(({ name, value, change, of }) => `${name}: ${change ?? value} ${of}`);
    const some = shownOf({ ...NO_MONEY, billed, unpriced: 12 });
    expect(some[0]).toBe('Spent: $12.00 $12.00 billed for 300 of 312 requests; 12 requests have no known price');
    expect(some[1]).toBe('Saved: $3.00 an estimate: input would have cost $10.00, not $7.00');
    expect(some[2]).toContain('in tokens at the base price');
    const all = shownOf({ ...NO_MONEY, billed, estimated: { requests: 12, sent: 1, without: 1, output: 0 } });
    expect(all[0]).toBe('Spent: $13.00 $12.00 billed and $1.00 estimated for 312 requests');
    expect(all[2]).toMatch(/^Input cost: -0\.27\d* \$8\.00 instead of \$11\.00 \(an estimate\)$/);
  });

  it('shows tokens, and no dollars, where no price is known', () => {
    const [spent, saved] = figuresOf({ ...totals, money: { ...NO_MONEY, subscription: 312 } });
    expect(spent).toMatchObject({ value: '–', of: '312 requests are paid by subscription: see the tokens' });
    expect(saved).toMatchObject({ value: '–' });
  });

  it('says how many requests were sent unchanged, where there are any', () => {
    const maskedOf = (unsent: Totals['unsent']): string =>
      read(figuresOf({ ...totals, unsent }).find(({ name }) => name === 'Results masked')?.of ?? '');
    expect(maskedOf({ requests: 31, tokens: 52_000 })).toMatch(
      /recalled\. 31 requests were sent unchanged, held out or in shadow: masks would have left out 52k tokens \(an estimate\)$/,
    );
    expect(maskedOf({ requests: 0, tokens: 0 })).toMatch(/recalled$/);
  });

  it('shows a dash where nothing was sent yet', () => {
    const none = { ...totals, tokensIn: 0, tokensSent: 0, cached: 0, written: 0, cost: { without: 0, sent: 0 } };
    expect(figuresOf(none)[4]?.value).toBe('–');
    expect(figuresOf(none)[2]?.change).toBeUndefined();
  });
});

describe('windowWords', () => {
  it('tell the share of the window that a request of a subscription takes', () => {
    const tokens = {
      sent: { tokens: 43_000, cached: 0, written: 43_000 },
      without: { tokens: 64_000, cached: 0, written: 64_000 },
    };
    const wordsOf = (money?: Receipt['money']) =>
      read(windowWords(receipt({ ...tokens, ...(money ? { money } : {}) })) ?? '');
    expect(wordsOf({ subscription: true, window: 200_000 })).toBe(
      'Paid by subscription. The last request had 43k tokens, 22 % of the context window of 200k; 32 % without masks (an estimate).',
    );
    expect(wordsOf({ subscription: true })).toBe(
      'Paid by subscription. The last request had 43k tokens; 64k without masks (an estimate).',
    );
    expect(wordsOf()).toBe('');
    expect(wordsOf({ sent: 1, without: 2, output: 3 })).toBe('');
  });
});

describe('maskingEventsOf', () => {
  const kinds = (receipts: readonly Receipt[]): string[] =>
    maskingEventsOf(receipts).map(({ kind, receipt: { request } }) => `${request} ${kind}`);

  it('lists epochs, newest first, and no request that only waits', () => {
    const receipts = [
      receipt({ request: 1 }),
      receipt({ request: 2, act: 'mask', epoch: 1, newMasks: [mask({ turn: 1 }), mask({ turn: 2 })] }),
      receipt({ request: 3 }),
      receipt({ request: 4, act: 'cold-cache', epoch: 2, newMasks: [mask({ turn: 3 })] }),
    ];
    expect(kinds(receipts)).toEqual(['4 epoch', '2 epoch']);
    expect(maskingEventsOf(receipts)[1]?.detail).toBe(
      '2 results of 2.0k tokens masked, 200 tokens written to the cache.',
    );
  });

  it('does not count tokens as written to the cache that were not', () => {
    const sent = { tokens: 900, cached: 700, written: 200, uncached: 50 };
    const [event] = maskingEventsOf([receipt({ sent, act: 'mask', epoch: 1, newMasks: [mask({ turn: 1 })] })]);
    expect(event?.detail).toBe('1 result of 1.0k tokens masked, 150 tokens written to the cache.');
  });

  it('leaves it to the reason to tell what waiting had cost', () => {
    const [event] = maskingEventsOf([receipt({ newMasks: [mask({})], rent: 11_000, price: 15_000 })]);
    expect(event?.detail).toMatch(/^1 result of 1\.0k tokens masked, /);
  });

  it('lists once what lasts', () => {
    const acts = ['wait', 'off', 'off', 'pass-through', 'off'] as const;
    expect(kinds(acts.map((act, index) => receipt({ request: index + 1, act })))).toEqual([
      '5 still',
      '4 still',
      '2 still',
    ]);
  });

  it('says what a provider refused', () => {
    const [event] = maskingEventsOf([receipt({ refused: { status: 400, text: 'tool_use ids' } })]);
    expect(event?.detail).toBe('The provider refused the edited request (400): tool_use ids');
  });

  it('says which thinking was dropped', () => {
    const [event] = maskingEventsOf([receipt({ newMasks: [mask({})], droppedThinking: 1 })]);
    expect(event?.detail).toContain(', 1 thinking block dropped');
  });
});

describe('the lines of the plots', () => {
  const receipts = [
    receipt({ request: 7, cost: { without: 10, sent: 10 } }),
    receipt({ request: 8, epoch: 1, newMasks: [mask({})], cost: { without: 20, sent: 5 } }),
  ];

  it('show sizes as they are and costs added up', () => {
    expect(sizePoints(receipts).map(({ request, sent, without }) => [request, sent, without])).toEqual([
      [7, 900, 1000],
      [8, 900, 1000],
    ]);
    expect(costPoints(receipts).points.map(({ sent, without }) => [sent, without])).toEqual([
      [10, 10],
      [15, 30],
    ]);
  });

  it('leave out the sizes of requests that failed, which have none', () => {
    const none = { tokens: 0, cached: 0, written: 0 };
    const failed = receipt({ request: 8, status: 529, sent: none, without: none });
    const sizes = sizePoints([receipt({ request: 7 }), failed, receipt({ request: 9 })]);
    expect(sizes.map(({ request }) => request)).toEqual([7, 9]);
  });

  it('add up in dollars where every request has a price', () => {
    const money = { sent: 1, without: 3, output: 9 };
    const priced = receipts.map((one) => ({ ...one, money }));
    expect(costPoints(priced)).toMatchObject({
      isInDollars: true,
      points: [
        { sent: 1, without: 3 },
        { sent: 2, without: 6 },
      ],
    });
    expect(costPoints([...priced, ...receipts]).isInDollars).toBe(false);
    expect(costPoints([...priced, receipt({ money: { subscription: true } })]).isInDollars).toBe(false);
  });

  it('know their epochs', () => {
    expect(sizePoints(receipts).map(({ isEpoch }) => isEpoch)).toEqual([false, true]);
  });
});

it('firstRequests finds the first of the requests that name a result', () => {
  const again = [receipt({ request: 3, newMasks: [mask({})] }), receipt({ request: 5, newMasks: [mask({})] })];
  expect([...firstRequests(again, ({ handle }) => handle).values()]).toEqual([3]);
});

describe('matchesIn', () => {
  it.each([
    ['a b A', 'a', ['<a>', ' b ', '<A>']],
    ['x(1)', '(1)', ['x', '<(1)>']],
    ['a.b', '.', ['a', '<.>', 'b']],
    ['none', 'x', ['none']],
    ['all', '', ['all']],
    ['İstanbul', 'stan', ['İ', '<stan>', 'bul']],
  ])('cuts %j at %j', (text, query, parts) => {
    expect(matchesIn(text, query).map((part) => (part.isMatch ? `<${part.text}>` : part.text))).toEqual(parts);
  });
});

it('small things read as they should', () => {
  expect([linesAround(3), linesAround(100)]).toEqual([
    { from: 1, to: 11 },
    { from: 92, to: 108 },
  ]);
  expect(['g-abc', 'other', undefined].map(sessionIn)).toEqual(['abc', undefined, undefined]);
  expect(titleOf({ title: '  ', id: '0123456789' })).toBe('Conversation 01234567');
  expect([isHandle(`p_${'a2'.repeat(13)}`), isHandle('p_short'), isHandle('text')]).toEqual([true, false, false]);
});

it.each([
  ['http://127.0.0.1:8787/_palimpsest/#/c/1', 'http://127.0.0.1:8787'],
  ['http://localhost:8787/_palimpsest/?x#y', 'http://localhost:8787'],
  ['http://[::1]:8787/_palimpsest/', 'http://[::1]:8787'],
  ['https://gateway.example/llm/_palimpsest/', 'https://gateway.example/llm/as/the-token'],
])('the page at %s sends agents to %s', (page, address) => {
  expect(agentAddress(page, 'the-token')).toBe(address);
});
