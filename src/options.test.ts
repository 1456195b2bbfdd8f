import { describe, expect, it } from 'vitest';
import { history } from '../test/support/chat.ts';
import {
  breakEven,
  clearToolUses,
  createPlanner,
  dropOldestTurns,
  firstAndLast,
  fit,
  geminiCli,
  graduated,
  HistoryReducer,
  hybrid,
  never,
  oldestBatch,
  openHands,
  PalimpsestError,
  polling,
  protectTokens,
  slidingWindow,
  sweAgent,
  truncateResult,
} from './index.ts';
import { badOption, checkOptions, count, names, nearest, oneOf, positive } from './options.ts';

type Options = Readonly<Record<string, unknown>>;

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Options are refused by name, with what was expected and what was found. */
function expectRefused(run: () => unknown, ...parts: readonly string[]): void {
  const error = errorOf(run);
  expect(error).toBeInstanceOf(PalimpsestError);
  expect((error as PalimpsestError).code).toBe('BAD_OPTION');
  for (const part of parts) expect((error as PalimpsestError).message).toContain(part);
}

const NOT_COUNTS = [Number.NaN, -1, 1.5, '3', null, Number.POSITIVE_INFINITY, true, {}, [3], 3n];
const wrong = {
  count: NOT_COUNTS,
  positive: [0, ...NOT_COUNTS],
  flag: [0, 1, 'true', null, {}],
  func: [5, 'x', null, {}],
  names: ['read', 5, null, [1], [null], {}],
  placeholder: [5, null, '', '   ', 'x'.repeat(251), ['x'], {}, true],
  share: [Number.NaN, -1, -0.1, '0.5', null, Number.POSITIVE_INFINITY, true, {}, [0.5], 3n],
  shares: [1, 'read', null, { read: -1 }, { read: '1' }, { read: Number.NaN }, { read: 3n }, { reads: 1 }, [1]],
  kinds: [true, 'read', null, { bash: 'shel' }, { bash: 1 }, { bash: null }, ['read_file']],
  prices: [5, null, true, [], {}, { read: 0.1 }, { write: 1 }, { read: -1, write: 1 }, { read: 0.1, write: '1' }],
  facts: [5, 'cold', true, { idleMs: -1 }, { idleMs: '5' }, { idleMs: Number.NaN }, { cacheLifeMs: -1 }],
  epochs: [{ epochs: 5 }, { epochs: [5] }, { epochs: [null] }, { epochs: [{}] }, { epochs: [{ turns: 1.5 }] }],
} as const satisfies Record<string, readonly unknown[]>;
type Kind = keyof typeof wrong;

const COMMON: Readonly<Record<string, Kind>> = {
  minTokens: 'count',
  keepTools: 'names',
  onlyTools: 'names',
  keepTags: 'names',
  removeTags: 'names',
  keepErrors: 'flag',
  pinned: 'func',
  windowByKind: 'shares',
  toolKinds: 'kinds',
  placeholder: 'placeholder',
};
const GRADUATED: Readonly<Record<string, Kind>> = {
  maxInputChars: 'positive',
  maxInputTokens: 'positive',
  preserveRecentRawTurns: 'count',
  summaryMaxChars: 'positive',
  observationMasking: 'flag',
  maxObservationChars: 'positive',
  summarize: 'func',
};
const FIT: Readonly<Record<string, Kind>> = {
  maxTokens: 'positive',
  counter: 'func',
  recall: 'flag',
  handleOf: 'func',
  facts: 'facts',
};

interface Taker {
  readonly name: string;
  run(options: Options): unknown;
  readonly takes: Readonly<Record<string, Kind>>;
  readonly needs?: Options;
}

// biome-ignore lint/suspicious/noExplicitAny: wrong options on purpose
type Any = any;
const maker = (make: (options: Any) => unknown, takes: Taker['takes'], needs?: Options): Taker => ({
  name: make.name,
  run: (options) => make(options),
  takes: { ...COMMON, ...takes },
  ...(needs ? { needs } : {}),
});
const messages = history(3);

const takers: readonly Taker[] = [
  maker(slidingWindow, { turns: 'count' }),
  maker(sweAgent, { turns: 'count' }),
  maker(openHands, { turns: 'count' }),
  maker(polling, { turns: 'count', every: 'positive' }),
  maker(firstAndLast, { keepFirst: 'count', keepLast: 'count' }),
  maker(oldestBatch, { count: 'positive', window: 'count' }),
  maker(protectTokens, { protect: 'count', atLeast: 'count' }),
  maker(geminiCli, { protect: 'count', atLeast: 'count' }),
  maker(clearToolUses, { trigger: 'count', keep: 'count', clearAtLeast: 'count', excludeTools: 'names' }),
  maker(hybrid, { window: 'count', summarizeEvery: 'positive' }),
  maker(breakEven, { window: 'count', threshold: 'share', maxLoss: 'share', prices: 'prices' }),
  maker(graduated, GRADUATED, { maxInputChars: 1000 }),
  { name: 'fit', run: (options) => fit(messages, options as Any), takes: FIT },
  { name: 'createPlanner', run: (options) => createPlanner(options as Any), takes: FIT, needs: { format: 'chat' } },
  {
    name: 'HistoryReducer',
    run: (options) => new HistoryReducer().reduce(messages, options as Any),
    takes: { ...GRADUATED, enabled: 'flag' },
    needs: { maxInputChars: 1000 },
  },
  {
    name: 'truncateResult',
    run: (options) => truncateResult('text', options as Any),
    takes: { maxTokens: 'positive', counter: 'func' },
  },
  {
    name: 'dropOldestTurns',
    run: (options) => dropOldestTurns(messages, options as Any),
    takes: { maxTokens: 'positive', counter: 'func' },
    needs: { maxTokens: 1000 },
  },
];

const show = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : typeof value === 'object' && value !== null ? '' : String(value);

describe.each(takers)('$name', ({ run, takes, needs = {} }) => {
  it.each(Object.entries(takes).flatMap(([option, kind]) => wrong[kind].map((value) => ({ option, value }))))(
    'refuses $option: $value, naming both',
    ({ option, value }) => {
      expectRefused(() => run({ ...needs, [option]: value }), 'Expected ', option, 'but found', show(value));
    },
  );

  it.each(['nope', 'windowSize', 'constructor', 'toString'])('refuses the name %s, which it does not know', (name) => {
    expectRefused(() => run({ ...needs, [name]: 1 }), name);
  });

  it.each([null, 5, 'turns'])('refuses %s in the place of its options', (options) => {
    expectRefused(() => run(options as Any), 'but found');
  });

  it('takes undefined as not given', () => {
    const none = Object.fromEntries(Object.keys(takes).map((name) => [name, undefined]));
    expect(errorOf(() => run({ ...none, ...needs }))).toBeUndefined();
  });
});

describe('options of fit that are not numbers', () => {
  it.each([
    ['format', 'nope'],
    ['format', 'toString'],
    ['format', 5],
    ['format', null],
    ['format', {}],
    ['policy', null],
    ['policy', 'sliding-window'],
    ['policy', {}],
    ['policy', { step: () => undefined }],
    ['model', 5],
    ['model', null],
    ['model', {}],
    ['boundThinking', 'drop'],
    ['boundThinking', true],
    ['boundThinking', null],
  ])('refuses %s: %s', (option, value) => {
    expectRefused(() => fit(messages, { [option]: value } as Any), option, 'but found');
  });

  it.each([null, 5, 'x', { gpt: Number.NaN }, { gpt: -1 }, { gpt: 0 }, { gpt: 1.5 }, { gpt: '3' }, { gpt: null }])(
    'refuses contextWindows: %j, which would be the budget',
    (contextWindows) => {
      expectRefused(() => fit(messages, { model: 'gpt', contextWindows } as Any), 'contextWindows', 'but found');
    },
  );

  it.each(wrong.epochs)('refuses facts: %j', (facts) => {
    expectRefused(() => fit(messages, { facts } as Any), 'facts', 'but found');
  });

  it('refuses recall without a way to name texts', () => {
    expectRefused(() => fit(messages, { recall: true, handleOf: undefined } as Any), 'handleOf');
  });
});

describe('options that must be given', () => {
  it('maxTokens of dropOldestTurns: without it everything would go', () => {
    expectRefused(() => dropOldestTurns(messages, {} as Any), 'maxTokens');
  });
  it('maxInputChars of HistoryReducer', () => {
    expectRefused(() => new HistoryReducer().reduce(messages, { maxInputTokens: 5 } as Any), 'maxInputChars');
  });
  it('maxInputChars or maxInputTokens of graduated', () => {
    expectRefused(() => graduated({}), 'maxInputChars');
    expectRefused(() => graduated(undefined as Any), '');
    expect(graduated({ maxInputTokens: 5 }).name).toBe('graduated');
  });
  it('format of createPlanner', () => {
    expectRefused(() => createPlanner({} as Any), 'format');
    expectRefused(() => createPlanner(undefined as Any), 'format');
  });
});

describe('other options', () => {
  it('never takes none, so that no option is silently without effect', () => {
    expectRefused(() => (never as Any)({ turns: 3 }), 'turns');
  });
  it.each(['middle', '', null, 5])('truncateResult refuses the strategy %s and names the known ones', (strategy) => {
    expectRefused(() => truncateResult('x', { strategy } as Any), 'strategy', "'head', 'tail', 'both'", show(strategy));
  });
  it.each([null, 5, {}])('truncateResult refuses the handle %s', (handle) => {
    expectRefused(() => truncateResult('x', { handle } as Any), 'handle');
  });
  it.each(['nope', null, 5, {}])('dropOldestTurns refuses the format %s', (format) => {
    expectRefused(() => dropOldestTurns(messages, { maxTokens: 5, format } as Any), 'format');
  });
});

describe('the prices of breakEven', () => {
  const refusal = (prices: unknown): string =>
    (errorOf(() => breakEven({ prices } as Any)) as PalimpsestError | undefined)?.message ?? 'taken';

  it('are known by name; a misspelt one gets a hint, one that is far off the whole list', () => {
    expect(refusal('anthropic-5min')).toBe(
      "Expected break-even option prices to be a known price list (did you mean anthropic-5m?) but found 'anthropic-5min'",
    );
    expect(refusal('my own prices')).toBe(
      'Expected break-even option prices to be one of anthropic-5m, anthropic-1h, gpt-5, gpt-5.6, gpt-4.1, gpt-4o, ' +
        "gemini, deepseek, none but found 'my own prices'",
    );
    for (const name of ['toString', '__proto__', '']) expect(refusal(name)).toContain(`but found '${name}'`);
  });
  it('of the caller name what is missing, what is wrong and what is not known', () => {
    expect(refusal({ write: 1.25 })).toBe(
      'Expected break-even prices option read to be a number of 0 or more but found undefined',
    );
    expect(refusal({ read: 0.1, write: -1 })).toBe(
      'Expected break-even prices option write to be a number of 0 or more but found -1',
    );
    expect(refusal({ read: 0.1, write: 1, lifeMS: 5 })).toContain('did you mean lifeMs?');
    expect(refusal({ read: 0.1, write: 1, lifeMs: '5m' })).toContain('lifeMs');
    expect(refusal({ read: 0.1, write: 1, lifeMs: 60_000, name: 'mine' })).toBe('taken');
  });
  it('are refused also where threshold and maxLoss are fine, and those name themselves', () => {
    expectRefused(() => breakEven({ threshold: -0.1 }), 'break-even option threshold', 'a number of 0 or more', '-0.1');
    expectRefused(() => breakEven({ maxLoss: -1 }), 'break-even option maxLoss', 'but found -1');
  });
});

describe('checkOptions', () => {
  it('says what was expected and what was found', () => {
    const error = errorOf(() => checkOptions('polling', { every: 0 }, { every: positive })) as PalimpsestError;
    expect(error.message).toBe('Expected polling option every to be a whole number of 1 or more but found 0');
  });

  it('names the nearest option for one that is misspelt, and all of them for one that is far off', () => {
    const rules = { turns: count, keepTools: names };
    const message = (options: object): string =>
      (errorOf(() => checkOptions('polling', options, rules)) as PalimpsestError).message;
    expect(message({ turn: 3 })).toBe('Expected an option of polling but found turn; did you mean turns?');
    expect(message({ keeptools: [] })).toContain('did you mean keepTools?');
    expect(message({ zzzzzzzz: 3 })).toBe(
      'Expected an option of polling but found zzzzzzzz; it takes turns, keepTools.',
    );
    expect((errorOf(() => checkOptions('never', { a: 1 }, {})) as PalimpsestError).message).toContain('no options');
  });

  it.each([
    ['text', "'text'"],
    [null, 'null'],
    [undefined, 'undefined'],
    [() => 1, 'a function'],
    [[1, 2], 'a list of 2'],
    [{ a: 1 }, 'an object'],
    [7n, '7'],
    [Symbol('s'), 'Symbol(s)'],
  ])('shows %s as %s', (value, shown) => {
    expect(badOption('x', 'y', value).message).toBe(`Expected x to be y but found ${shown}`);
  });
});

describe('rules', () => {
  it('oneOf names its values', () => {
    expect(oneOf('a', 'b').expected).toBe("one of 'a', 'b'");
    expect([oneOf('a').check('a'), oneOf('a').check('A'), oneOf('a').check(undefined)]).toEqual([true, false, false]);
  });
  it('count allows 0, positive does not', () => {
    expect([count.check(0), positive.check(0), positive.check(1)]).toEqual([true, false, true]);
  });
});

describe('nearest', () => {
  const known = ['turns', 'every', 'keepTools'];
  it('finds a word two letters away, whatever its case', () => {
    expect(nearest('tunrs', known)).toBe('turns');
    expect(nearest('KEEPTOOLS', known)).toBe('keepTools');
  });
  it('finds nothing for a word that is far from all', () => {
    expect(nearest('placeholder', known)).toBeUndefined();
    expect(nearest('', known)).toBeUndefined();
    expect(nearest('turns', [])).toBeUndefined();
  });
});
