/** For each group: files to mutate, the tests that are meant for them, and the samples that a property tries (10 by default). */
export const groups = {
  laws: {
    mutate: ['src/laws/*.ts'],
    tests: ['src/laws/*.test.ts'],
  },
  reducer: {
    mutate: ['src/plan/reduce.ts', 'src/plan/stages/*.ts'],
    ignoreStatic: true,
    tests: ['src/plan/reduce.test.ts', 'src/plan/stages/*.test.ts'],
  },
  'break-even': {
    mutate: ['src/plan/policies/break-even.ts', 'src/plan/window-by-kind.ts'],
    tests: [
      'src/plan/policies/break-even.test.ts',
      'src/plan/window-by-kind.test.ts',
      'test/arrival/covered-reads.test.ts',
    ],
    ignoreStatic: true,
  },
  prices: {
    mutate: ['src/plan/prices.ts'],
    tests: ['src/plan/prices.test.ts'],
  },
  bytes: {
    mutate: ['src/gateway/bytes/*.ts'],
    tests: ['src/gateway/bytes/*.test.ts', 'test/gateway/**/splice.test.ts'],
  },
  clean: {
    mutate: ['src/plan/arrival/{clean,shell-output}.ts', 'src/plan/arrival/clean/*.ts'],
    tests: ['src/plan/arrival/{clean,shell-output}.test.ts', 'src/plan/arrival/clean/*.test.ts'],
    samples: 40,
  },
  references: {
    mutate: ['src/plan/arrival/*.ts', '!src/plan/arrival/{clean,shell-output}.ts'],
    ignoreStatic: true,
    tests: ['src/plan/arrival/!(clean|shell-output).test.ts', 'test/arrival/{arrival,doors,exact}.test.ts'],
    // The first samples of a property are small: too few of them have references.
    samples: 40,
  },
};
