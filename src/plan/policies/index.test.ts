import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedTurns, history, prose, range, results, toolTurn, user } from '../../../test/support/chat.ts';
import { story, write } from '../../../test/support/histories.ts';
import {
  breakEven,
  type ChatMessage,
  type CommonOptions,
  clearToolUses,
  createPlanner,
  firstAndLast,
  fit,
  graduated,
  hybrid,
  oldestBatch,
  type Policy,
  polling,
  protectTokens,
  slidingWindow,
  stateless,
} from '../../index.ts';
import type { Observation } from '../policy.ts';
import { agesOf, hasLeftWindow } from '../window-by-kind.ts';
import { parsePolicy, policies } from './index.ts';

/** Every policy, so that it masks all but the newest result of a history of more than three. */
const makers: readonly [name: string, make: (common: CommonOptions) => Policy][] = [
  ['slidingWindow', (common) => slidingWindow({ turns: 1, ...common })],
  ['polling', (common) => polling({ turns: 1, every: 1, ...common })],
  ['firstAndLast', (common) => firstAndLast({ keepFirst: 0, keepLast: 1, ...common })],
  ['oldestBatch', (common) => oldestBatch({ count: 1, window: 1, ...common })],
  ['protectTokens', (common) => protectTokens({ protect: 400, atLeast: 0, ...common })],
  ['clearToolUses', (common) => clearToolUses({ trigger: 0, keep: 1, ...common })],
  ['hybrid', (common) => hybrid({ window: 1, ...common })],
  ['breakEven', (common) => breakEven({ prices: 'none', window: 1, windowByKind: false, ...common })],
];

/** Six turns of 250 tokens and more: 1 read, 2 grep, 3 bash which fails, 4 keep, 5 remove, 6 the newest. */
const messages: ChatMessage[] = [
  user('t'),
  ...range(1, 6).flatMap((i): ChatMessage[] => {
    const [call, result] = toolTurn({
      id: `c${i}`,
      tool: ['', 'read', 'grep'][i] ?? 'bash',
      output: prose(1100, `${i} `),
    });
    const tags = { 4: ['keep'], 5: ['remove'] }[i];
    return [call as ChatMessage, tags ? { ...(result as ChatMessage), tags } : (result as ChatMessage)];
  }),
];
const anthropicErrors = (failing: number): object[] => [
  { role: 'user', content: 't' },
  ...range(1, 4).flatMap((i) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `c${i}`, name: 'bash', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: `c${i}`,
          content: prose(1100),
          ...(i === failing ? { is_error: true } : {}),
        },
      ],
    },
  ]),
];

describe.each(makers)('the options that %s shares with all', (_, make) => {
  const masked = (common: CommonOptions, list = messages): number[] =>
    changedTurns(list, fit(list, { policy: make(common) }).messages);

  it('none: all but the newest go', () => {
    expect(masked({})).toEqual([1, 2, 3, 4, 5]);
  });
  it('keepTools keeps the results of these tools', () => {
    expect(masked({ keepTools: ['read', 'grep'] })).toEqual([3, 4, 5]);
    expect(masked({ keepTools: [] })).toEqual([1, 2, 3, 4, 5]);
  });
  it('onlyTools keeps the results of all others', () => {
    expect(masked({ onlyTools: ['read', 'grep'] })).toEqual([1, 2]);
    expect(masked({ onlyTools: [] })).toEqual([]);
  });
  it('keepTags keeps results with one of these tags', () => {
    expect(masked({ keepTags: ['keep', 'other'] })).toEqual([1, 2, 3, 5]);
  });
  it('removeTags lets results go at once, whatever else holds', () => {
    const newest = [...messages.slice(0, -1), { ...(messages.at(-1) as ChatMessage), tags: ['remove'] }];
    expect(masked({ removeTags: ['remove'] }, newest)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(masked({ removeTags: ['remove'], keepTools: ['bash'], minTokens: 9999 }, newest)).toEqual([5, 6]);
    expect(masked({ removeTags: ['keep'], keepTags: ['keep'], onlyTools: [] })).toEqual([4]);
  });
  it('keepErrors keeps results that say they failed', () => {
    const list = anthropicErrors(2);
    const changed = (common: CommonOptions): number[] => {
      const { messages: fitted } = fit(list, { policy: make(common), format: 'anthropic' });
      return range(1, 4).filter((i) => fitted[2 * i] !== list[2 * i]);
    };
    expect(changed({ keepErrors: true })).toEqual([1, 3]);
    expect(changed({ keepErrors: false })).toEqual([1, 2, 3]);
  });
  it('pinned keeps what its function answers true for', () => {
    const pinned: CommonOptions['pinned'] = ({ turn, tool, callId, text }) =>
      turn === 3 && tool === 'bash' && callId === 'c3' && text.startsWith('3 ');
    expect(masked({ pinned })).toEqual([1, 2, 4, 5]);
  });
  it('minTokens leaves alone results of that size or less', () => {
    const { observations } = createTokens(messages);
    const size = observations[0] as number;
    expect(masked({ minTokens: size })).toEqual([]);
    expect(masked({ minTokens: size - 1 })).toEqual([1, 2, 3, 4, 5]);
  });
  it('placeholder is written in place of the policy’s own', () => {
    const { messages: fitted } = fit(messages, { policy: make({ placeholder: 'gone' }) });
    expect(results(fitted).slice(0, 5)).toEqual(Array(5).fill('gone'));
    const by = fit(messages, { policy: make({ placeholder: ({ turn, callId }) => `${turn}/${callId}` }) });
    expect(results(by.messages).slice(0, 2)).toEqual(['1/c1', '2/c2']);
  });
  it('only adds: what one step masked, no later one removes or writes again', () => {
    const planner = createPlanner<ChatMessage>({ format: 'chat', policy: make({}) });
    const seen = new Map<number, string>();
    for (const message of messages) {
      planner.add(message);
      if (message.role !== 'tool') continue;
      const now = new Map(
        planner.plan().edits.flatMap((edit) => (edit.kind === 'replace' ? [[edit.segment, edit.text]] : [])),
      );
      for (const [segment, text] of seen) expect(now.get(segment)).toBe(text);
      for (const [segment, text] of now) seen.set(segment, text);
    }
    expect(seen.size).toBe(5);
  });
});

/** The sizes of the results as a policy sees them. */
function createTokens(list: readonly ChatMessage[]): { observations: number[] } {
  let observations: number[] = [];
  const policy = stateless((request) => {
    observations = request.observations.map(({ tokens }) => tokens);
    return [];
  });
  fit(list, { policy });
  return { observations };
}

/** Every policy, so that it would mask all but the newest result if the window of 10 turns did not hold it back. */
const windowMakers: readonly [name: string, make: (common: CommonOptions) => Policy][] = [
  ['slidingWindow', (common) => slidingWindow({ turns: 10, ...common })],
  ['polling', (common) => polling({ turns: 10, every: 1, ...common })],
  ['firstAndLast', (common) => firstAndLast({ keepFirst: 0, keepLast: 1, ...common })],
  ['protectTokens', (common) => protectTokens({ protect: 0, atLeast: 0, ...common })],
  ['clearToolUses', (common) => clearToolUses({ trigger: 0, keep: 1, ...common })],
  ['hybrid', (common) => hybrid({ window: 10, ...common })],
  ['breakEven', (common) => breakEven({ prices: 'none', window: 10, ...common })],
  ['stateless', (common) => stateless(({ observations }) => observations, common)],
];

describe.each(windowMakers)('windowByKind of %s', (_, make) => {
  const talk = (...turns: readonly [tool: string, args: object][]): ChatMessage[] => [
    user('t'),
    ...turns.flatMap(([tool, args], i) =>
      toolTurn({ id: `c${i}`, tool, args: JSON.stringify(args), output: prose(1100, `${i} `) }),
    ),
  ];
  const masked = (list: readonly ChatMessage[], common: CommonOptions): number[] =>
    changedTurns(list, fit(list, { policy: make(common) }).messages);
  const bash: [string, object] = ['bash', { command: 'make' }];
  const read: [string, object] = ['read', { path: 'a' }];

  it('keeps a result until the window of its kind has passed', () => {
    // Shell output may go after 4 turns, the result of an edit after 2, a read after 10.
    const list = talk(bash, ['edit', {}], read, bash, bash, bash);
    expect(masked(list, { windowByKind: true })).toEqual([1, 2]);
    expect(masked(list, { windowByKind: { shell: 1, edit: 0.4 } })).toEqual([2]);
  });
  it('lets a read go that a newer one covers', () => {
    const list = talk(read, ['read', { path: 'b' }], ['read', { path: 'a', limit: 9 }], ['grep', {}], read, bash);
    expect(masked(list, { windowByKind: true })).toEqual([1, 3]);
  });
  it('knows a tool by its name in toolKinds', () => {
    const list = talk(['make', {}], ['make', {}], ['make', {}], ['make', {}]);
    expect(masked(list, { windowByKind: true })).toEqual([]);
    expect(masked(list, { windowByKind: true, toolKinds: { make: 'edit' } })).toEqual([1, 2]);
  });
  it('masks nothing inside the window of its kind, whatever the history', () => {
    const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 200);
    const shares = fc.constantFrom(true, { read: 0.5, search: 0.1 }, { edit: 0, shell: 0.4, other: 0.2 });
    fc.assert(
      fc.property(story, shares, (tale, windowByKind) => {
        const policy = make({ windowByKind });
        const ages = agesOf(10, windowByKind);
        const watched: Policy = {
          ...policy,
          step(state, request) {
            const step = policy.step(state, request);
            const chosen = request.observations.filter(({ segment }) => step.mask.includes(segment));
            for (const observation of chosen as Observation[])
              expect(hasLeftWindow(observation, request, ages)).toBe(true);
            return step;
          },
        };
        const { head, turns } = write(tale, 'openai-responses');
        fit([...head, ...turns.flat()], { format: 'openai-responses', policy: watched });
      }),
      { numRuns },
    );
  });
});

describe('minTokens', () => {
  /** 50 tokens and a little: above a placeholder, below 80. */
  const small = history(14, 220);
  it.each([
    ['slidingWindow', slidingWindow({ turns: 1 }), 0],
    ['polling', polling({ turns: 1, every: 1 }), 0],
    ['protectTokens', protectTokens({ protect: 0, atLeast: 0 }), 0],
    ['clearToolUses', clearToolUses({ trigger: 0, keep: 1 }), 0],
    ['hybrid', hybrid({ window: 1 }), 0],
    ['firstAndLast', firstAndLast({ keepFirst: 0, keepLast: 1 }), 13],
    ['oldestBatch', oldestBatch({ count: 1, window: 1 }), 13],
    ['graduated', graduated({ maxInputChars: 900, preserveRecentRawTurns: 1 }), 13],
  ])('%s: 80 where nothing is said, 0 for firstAndLast, oldestBatch and graduated', (_, policy, masks) => {
    expect(Math.max(...createTokens(small).observations)).toBeLessThanOrEqual(80);
    expect(fit(small, { policy }).report.maskedCount).toBe(masks);
  });
  it('does not hold against a budget', () => {
    expect(fit(small, { policy: slidingWindow({ turns: 1 }), maxTokens: 900 }).report.maskedCount).toBeGreaterThan(0);
  });
});

describe('stateless', () => {
  it('keeps masked what it chose once, though it does not choose it again', () => {
    const policy = stateless(({ observations, turns }) => observations.filter((o) => o.turn === turns));
    expect(changedTurns(messages, fit(messages, { policy }).messages)).toEqual(range(1, 6));
  });
  it('says wait on a request on which nothing was masked, though it chose what is masked already', () => {
    const policy = stateless(({ observations }) => observations.filter((o) => o.turn === 1));
    const planner = createPlanner<ChatMessage>({ format: 'chat', policy });
    expect(planner.add(...messages.slice(0, 3)).report.decision).toMatchObject({ act: 'mask', masked: 1 });
    const { report, edits } = planner.add(...messages.slice(3, 5));
    expect(edits).toEqual([]);
    expect(report.decision.act).toBe('wait');
  });
});

describe('parsePolicy', () => {
  const masked = (text: string): number[] =>
    changedTurns(messages, fit(messages, { policy: parsePolicy(text) }).messages);

  it('knows every policy by its name in kebab-case', () => {
    expect(Object.keys(policies)).toEqual([
      'sliding-window',
      'swe-agent',
      'open-hands',
      'polling',
      'first-and-last',
      'oldest-batch',
      'protect-tokens',
      'gemini-cli',
      'clear-tool-uses',
      'hybrid',
      'break-even',
      'graduated',
      'never',
    ]);
    for (const name of Object.keys(policies)) {
      const policy = parsePolicy(name === 'graduated' ? 'graduated:max-input-chars=900' : name);
      expect(typeof policy.step).toBe('function');
    }
  });
  it('reads numbers, booleans and lists', () => {
    expect(masked('sliding-window:turns=2')).toEqual([1, 2, 3, 4]);
    expect(masked('sliding-window:turns=2,keep-tools=read+grep')).toEqual([3, 4]);
    expect(masked('sliding-window:turns=2,only-tools=read,min-tokens=0')).toEqual([1]);
    expect(masked('sliding-window:turns=2,keep-tags=keep,keep-errors=true')).toEqual([1, 2, 3]);
    expect(masked('sliding-window:turns=3,remove-tags=remove')).toEqual([1, 2, 3, 5]);
    expect(masked('clear-tool-uses:trigger=0,keep=1,exclude-tools=bash')).toEqual([1, 2]);
    expect(masked('polling:turns=1,every=2')).toEqual([1, 2, 3, 4, 5]);
    expect(masked('graduated:max-input-chars=3000,observation-masking=false').length).toBeGreaterThan(0);
  });
  it('reads a placeholder with = and : in it', () => {
    const { messages: fitted } = fit(messages, {
      policy: parsePolicy('sliding-window:turns=1,placeholder=[was: a=b]'),
    });
    expect(results(fitted)[0]).toBe('[was: a=b]');
  });

  it.each([
    ['sliding-windw', 'sliding-window'],
    ['Polling', 'polling'],
    ['first-an-last', 'first-and-last'],
  ])('names the nearest policy for %s', (text, near) => {
    expect(() => parsePolicy(text)).toThrowError(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(`did you mean ${near}?`) }),
    );
  });
  it.each(['', 'zzzzzzzzzz', ':turns=3', 'toString', 'constructor', '__proto__'])(
    'names all policies for %j, which is near none',
    (text) => {
      expect(() => parsePolicy(text)).toThrowError(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('policy') }),
      );
    },
  );
  it.each([
    ['sliding-window:turn=3', 'did you mean turns?'],
    ['polling:turns=x', "found 'x'"],
    ['polling:turns=', "found ''"],
    ['polling:turns', "found ''"],
    ['polling:turns=-1', 'found -1'],
    ['polling:every=0', 'found 0'],
    ['polling:every=1.5', 'found 1.5'],
    ['polling:turns=3,', 'option'],
    ['polling:keep-errors=yes', "found 'yes'"],
    ['graduated', 'maxInputChars'],
    ['never:turns=3', 'turns'],
  ])('refuses %s: %s', (text, said) => {
    expect(() => parsePolicy(text)).toThrowError(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(said) }),
    );
  });
});
