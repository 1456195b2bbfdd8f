import fc from 'fast-check';
import {
  breakEven,
  clearToolUses,
  firstAndLast,
  graduated,
  hybrid,
  never,
  oldestBatch,
  type Policy,
  polling,
  protectTokens,
  slidingWindow,
  stateless,
  sweAgent,
} from '../../src/index.ts';

const small = fc.integer({ min: 0, max: 6 });
const some = fc.integer({ min: 1, max: 4 });
const tokens = fc.integer({ min: 0, max: 3000 });

export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
}

const common = fc.record(
  {
    minTokens: fc.constantFrom(0, 10, 80),
    keepTools: fc.constant(['grep']),
    onlyTools: fc.constant(['bash', 'read_file']),
    keepErrors: fc.boolean(),
    keepTags: fc.constant(['keep']),
    removeTags: fc.constant(['remove']),
    windowByKind: fc.constantFrom(true, false, { edit: 0, shell: 0.5 }),
    toolKinds: fc.constant({ grep: 'read' as const }),
    clean: fc.boolean(),
    references: fc.boolean(),
    shellOutput: fc.constantFrom(true, false, 150),
    oldTexts: fc.constantFrom(true, true, false),
    placeholder: fc.constantFrom(
      '[gone]',
      ({ tool }: { tool: string | undefined }) => `[${tool ?? 'a tool'} said something]`,
    ),
  },
  { requiredKeys: [] },
);

const make = (name: string, maker: fc.Arbitrary<Policy>): fc.Arbitrary<NamedPolicy> =>
  maker.map((policy) => ({ name, policy }));

/** From free reads to none. */
const prices = fc.record({
  read: fc.constantFrom(0, 0.02, 0.1, 0.5, 1),
  write: fc.constantFrom(1, 1.25, 2),
});

/** `breakEven` with random prices, windows and shares. */
export const anyBreakEven: fc.Arbitrary<NamedPolicy> = make(
  'breakEven',
  fc
    .tuple(prices, small, fc.constantFrom(0, 0.1, 0.7, 1), fc.constantFrom(0, 0.1, 0.5, 10), common)
    .map(([list, window, threshold, maxLoss, options]) =>
      breakEven({ prices: list, window, threshold, maxLoss, ...options }),
    ),
);

/** Every ready-made policy with random options. */
export const anyPolicy: fc.Arbitrary<NamedPolicy> = fc.oneof(
  make(
    'never',
    fc.record({ clean: fc.boolean(), references: fc.boolean() }, { requiredKeys: [] }).map((options) => never(options)),
  ),
  make(
    'slidingWindow',
    fc.tuple(small, common).map(([turns, options]) => slidingWindow({ turns, ...options })),
  ),
  make(
    'sweAgent',
    common.map((options) => sweAgent({ turns: 2, ...options })),
  ),
  make(
    'polling',
    fc.tuple(small, some, common).map(([turns, every, options]) => polling({ turns, every, ...options })),
  ),
  make(
    'firstAndLast',
    fc
      .tuple(small, small, common)
      .map(([keepFirst, keepLast, options]) => firstAndLast({ keepFirst, keepLast, ...options })),
  ),
  make(
    'oldestBatch',
    fc.tuple(some, small, common).map(([count, window, options]) => oldestBatch({ count, window, ...options })),
  ),
  make(
    'protectTokens',
    fc
      .tuple(tokens, tokens, common)
      .map(([protect, atLeast, options]) => protectTokens({ protect, atLeast, ...options })),
  ),
  make(
    'clearToolUses',
    fc
      .tuple(tokens, small, tokens, common)
      .map(([trigger, keep, clearAtLeast, options]) => clearToolUses({ trigger, keep, clearAtLeast, ...options })),
  ),
  make(
    'hybrid',
    fc
      .tuple(small, some, common)
      .map(([window, summarizeEvery, options]) => hybrid({ window, summarizeEvery, ...options })),
  ),
  anyBreakEven,
  make(
    'graduated',
    fc
      .record({
        maxInputChars: fc.integer({ min: 400, max: 20_000 }),
        preserveRecentRawTurns: small,
        observationMasking: fc.boolean(),
        maxObservationChars: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
        summaryMaxChars: fc.integer({ min: 300, max: 1400 }),
      })
      .map(({ maxObservationChars, ...options }) =>
        graduated({ ...options, ...(maxObservationChars === undefined ? {} : { maxObservationChars }) }),
      ),
  ),
  make(
    'stateless',
    fc.constant(
      stateless(({ observations, turns }) => observations.filter((o) => o.turn <= turns - 3 && o.tokens > 80)),
    ),
  ),
);
