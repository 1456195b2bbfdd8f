import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { breakEven, createPlanner, type FitOptions, fit, PalimpsestError, parsePolicy } from '../../src/index.ts';
import { handleOf } from '../../src/store/handle.ts';
import { flat, formatNames, type Story, type StoryCall, write } from '../support/histories.ts';

/** More with PALIMPSEST_RUNS=500. */
const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 16);

const MANNERS: readonly ((line: string, n: number) => string)[] = [
  (line) => line,
  (line, n) => `${String(n).padStart(6)}→${line}`,
  (line, n) => `${n}: ${line}`,
  (line, n) => `${n}\t${line}`,
];

/** Lines that look like ours, or that are hard to see. */
const ODD_LINES = [
  '',
  '  ',
  '\r',
  '\u2028',
  '\u001b[31mred\u001b[0m',
  '[… 3 lines]',
  '[the 2 lines above 3 more times]',
  '[output lines 1–9: same as lines 1–9 of the last read_file src/a.ts above]',
  '[read_file src/a.ts: 3 lines, 40 chars masked]',
  '[shortened from 7431 chars · recall p_abcdefghijklmnopqrstuvwxyz]',
];

/** A part of one of three files: most results repeat lines of others. */
const part = fc
  .record({
    file: fc.constantFrom('a', 'b', 'c'),
    from: fc.integer({ min: 1, max: 15 }),
    count: fc.integer({ min: 5, max: 45 }),
    manner: fc.constantFrom(...MANNERS),
    odd: fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      fc.constantFrom(...ODD_LINES),
      fc.string({ maxLength: 300 }),
    ),
    oddAt: fc.nat(40),
    noise: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(150)),
  })
  .map(({ file, from, count, manner, odd, oddAt, noise }) => {
    const numbers = Array.from({ length: count }, (_, i) => from + i);
    const lines = numbers.map((n) => manner(`const ${file}${n} = compute(${(n + 3) ** 3});`, n));
    if (odd !== undefined) lines.splice(oddAt % count, 0, odd);
    if (noise > 0) lines.push(`noise ${from}${count} `.repeat(noise));
    return lines.join('\n');
  });

const call: fc.Arbitrary<StoryCall> = fc.record({
  tool: fc.constantFrom('read_file', 'bash', 'grep', 'edit'),
  args: fc.constantFrom<StoryCall['args'][]>(
    { path: 'src/a.ts' },
    { path: 'src/b.ts', offset: 2 },
    { command: 'cat src/a.ts' },
    { command: 'npm test' },
  ),
  text: part,
  isError: fc.constant(false),
  shape: fc.constant('string' as const),
});

const story: fc.Arbitrary<Story> = fc.record({
  system: fc.constant(undefined),
  task: fc.constant('Fix it.'),
  greets: fc.constant(false),
  turns: fc.array(
    fc.record({
      says: fc.constant('ok'),
      thinks: fc.constant('no' as const),
      calls: fc.oneof(
        { weight: 4, arbitrary: fc.tuple(call) },
        { weight: 1, arbitrary: fc.array(call, { minLength: 2, maxLength: 3 }) },
      ),
      user: fc.constant(undefined),
      steersEarly: fc.constant(false),
    }),
    { minLength: 8, maxLength: 28, size: 'max' },
  ),
});

const version = (n: number): string =>
  Array.from({ length: 30 }, (_, i) => `const version${n} = compute(${(i + 3) ** 3});`).join('\n');

/**
 * A file is written again and again, and sometimes its first version is shown. A budget leaves turns out between the two: the first one
 * stays, because it has the user's newest words.
 */
const rewrites: fc.Arbitrary<Story> = fc
  .array(fc.constantFrom('written', 'written', 'shown'), { minLength: 6, maxLength: 20, size: 'max' })
  .map((turns) => ({
    system: undefined,
    task: 'Fix it.',
    greets: false,
    turns: ['written', ...turns].map((what, n) => ({
      says: 'I write the next version of this file. '.repeat(5),
      thinks: 'no',
      calls: [
        {
          ...(what === 'shown'
            ? { tool: 'bash', args: { command: 'git show old:src/a.ts' }, text: version(0) }
            : { tool: 'write_file', args: { path: 'src/a.ts', content: version(n) }, text: 'ok' }),
          isError: false,
          shape: 'string',
        },
      ],
      user: n === 0 ? 'Go on.' : undefined,
      steersEarly: false,
    })),
  }));

const policy = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.integer({ min: 2, max: 11 }), fc.constantFrom('anthropic-5m', 'deepseek', 'gpt-5', 'gpt-4.1'))
      .map(([window, prices]) => `break-even:window=${window},prices=${prices}`),
  },
  fc.constantFrom('sliding-window:turns=3,clean=true,references=true', 'polling:turns=4,references=true'),
);

const options = fc.record(
  {
    maxTokens: fc.integer({ min: 1500, max: 5500 }),
    arrival: fc.constantFrom({ shellOutput: 150 }, { clean: false }, { truncate: 200 }),
    handles: fc.constant({ recall: true, handleOf, tools: [{ name: 'recall' }] }),
  },
  { requiredKeys: [] },
);

/** The fitted messages, or nothing where the budget cannot be met. */
function fitOrNothing(messages: object[], given: FitOptions): object[] | undefined {
  try {
    return fit(messages, given).messages;
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return undefined;
    throw error;
  }
}

describe.each(formatNames)('a caller that takes a result away from a fitted history on %s', (format) => {
  const lines = Array.from({ length: 40 }, (_, i) => `const value${i} = compute(${i * 7919});`).join('\n');
  const read = (text: string): Story['turns'][number] => ({
    says: 'ok',
    thinks: 'no',
    calls: [{ tool: 'read_file', args: { path: 'src/a.ts' }, text, isError: false, shape: 'string' }],
    user: undefined,
    steersEarly: false,
  });
  const given = { format, recall: true, handleOf, tools: [{ name: 'recall' }] };
  const told = { system: undefined, task: 'Fix it.', greets: false };
  const { head, turns } = write({ ...told, turns: [read(lines), read(lines), read('a file of another kind')] }, format);
  const sent = fit(flat({ head, turns }), given).messages;
  const end = head.length + (turns[0]?.length ?? 0);

  it.each<[string, (messages: object[]) => object[]]>([
    ['leaves its turn out', (messages) => messages.toSpliced(head.length, end - head.length)],
    [
      'clears it',
      (messages) => [
        ...JSON.parse(JSON.stringify(messages.slice(0, end)).replaceAll(JSON.stringify(lines).slice(1, -1), 'cleared')),
        ...messages.slice(end),
      ],
    ],
  ])('%s: a result that refers to it is masked in the same request', (_, change) => {
    expect(JSON.stringify(sent)).toContain(': same as ');
    const changed = structuredClone(change(sent));
    expect(JSON.stringify(changed)).toContain(': same as ');
    expect(JSON.stringify(changed)).not.toContain('value39');
    const { messages } = fit(changed, given);
    expect(JSON.stringify(messages)).not.toContain(': same as ');
    expect(fit(structuredClone(messages), given).messages).toEqual(messages);
  });
});

it('a result was whole when a later one was sent also if the last request leaves both out', () => {
  const plain = (line: string, _: number): string => line;
  const [, arrow = plain, colon = plain, tabbed = plain] = MANNERS;
  const code = (file: string, from: number, to: number, manner = plain): string =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i)
      .map((n) => manner(`const ${file}${n} = compute(${(n + 3) ** 3});`, n))
      .join('\n');
  const read = (text: string, args: StoryCall['args'] = { path: 'src/a.ts' }, tool = 'read_file'): StoryCall => ({
    ...{ tool, args, text, isError: false, shape: 'string' },
  });
  const bash = (text: string): StoryCall => read(text, undefined, 'bash');
  const few = code('a', 1, 5);
  const calls = [
    [
      read(code('c', 1, 30, tabbed)),
      read(code('a', 2, 36, tabbed), { command: 'cat src/a.ts' }, 'grep'),
      read(code('a', 6, 22)),
    ],
    [bash(`${code('a', 2, 39)}\n\n${code('a', 40, 45)}`)],
    [bash(code('a', 1, 10, tabbed))],
    [read(`\n${code('c', 1, 10)}`)],
    [read(few), read(`\n${few}`)],
    [read(`\n${few}`)],
    [read(few)],
    [read(`\n${few}`), read(`\n${few}`), read(few)],
    [
      read(code('a', 1, 10, arrow), { command: 'npm test' }),
      read(code('b', 1, 20, arrow), { path: 'src/b.ts', offset: 2 }),
      read(`\n${code('a', 2, 22, colon)}`),
    ],
    [read(few)],
  ];
  const turns = calls.map((made): Story['turns'][number] => ({
    ...{ says: 'ok', thinks: 'no', calls: made, user: undefined, steersEarly: false },
  }));
  const written = write({ system: undefined, task: 'Fix it.', greets: false, turns }, 'openai-chat');
  const handles = { recall: true, handleOf, tools: [{ name: 'recall' }] };
  const given = { policy: parsePolicy('break-even:window=2,prices=gpt-4.1,clean=false'), maxTokens: 1500, ...handles };
  let fedBack: object[] = [];
  for (const messages of [written.head, ...written.turns])
    fedBack = fit(structuredClone([...fedBack, ...messages]), given).messages;
  expect(fedBack).toEqual(fit(flat(written), given).messages);
});

it('a referrer that was whole when a later one was sent is masked no earlier', () => {
  const again = '1: src/index.ts alpha\n'.repeat(12);
  const outputs = [again, '', '', again, '0: src/index.ts alpha\n'.repeat(5), '', again, '', ''];
  const turns = outputs.map((text, n): Story['turns'][number] => ({
    says: 'ok',
    thinks: 'no',
    calls: [
      { tool: n === 0 ? 'grep' : 'read_file', args: { path: 'src/a.ts' }, text, isError: false, shape: 'string' },
    ],
    user: undefined,
    steersEarly: false,
  }));
  const written = write({ system: undefined, task: 'Fix it.', greets: false, turns }, 'openai-chat');
  // The target stays, and with it all that refer to it.
  const own = { keepTools: ['grep'], placeholder: '[gone]', clean: false, minTokens: 10 };
  const prices = { read: 0.1, write: 1.25 };
  const given = { policy: breakEven({ prices, window: 2, threshold: 0.1, maxLoss: 10, ...own }) };
  const whole = fit(flat(written), given).messages;
  expect(JSON.stringify(whole).match(/: same as /g)).toHaveLength(2);
  for (const count of written.turns.keys()) {
    const first = fit(flat({ ...written, turns: written.turns.slice(0, count) }), given).messages;
    expect(fit([...first, ...written.turns.slice(count).flat()], given).messages).toEqual(whole);
  }
});

describe.each(formatNames)('a conversation full of references on %s', (format) => {
  it.each([
    ['reads files', story],
    ['writes one file again and again', rewrites],
  ])(
    'that %s is the same after each request, whether the planner goes on, or its output is fed back',
    (_, stories) => {
      let references = 0;
      fc.assert(
        fc.property(stories, policy, options, (told, spec, { handles, ...more }) => {
          const given = { policy: parsePolicy(spec), format, ...more, ...handles };
          const planner = createPlanner<object>(given);
          const written = write(told, format);
          let [fedBack, epoch]: [object[], number] = [[], 0];
          for (const messages of [written.head, ...written.turns]) {
            const { report } = planner.add(...messages);
            const sent = planner.messages();
            // A copy: `fit` remembers lists of messages that it has seen.
            const next = fitOrNothing(structuredClone([...fedBack, ...messages]), given);
            if (!next) return;
            expect(next).toEqual(sent);
            if (report.epoch === epoch) expect(sent.slice(0, fedBack.length)).toEqual(fedBack);
            [fedBack, epoch] = [next, report.epoch];
            references += JSON.stringify(fedBack).split(': same as ').length - 1;
          }
        }),
        { numRuns },
      );
      expect(references).toBeGreaterThan(numRuns);
    },
    60_000,
  );
});
