import { expect, it } from 'vitest';
import {
  breakEven,
  createPlanner,
  fit,
  graduated,
  hybrid,
  never,
  PalimpsestError,
  slidingWindow,
} from '../../src/index.ts';

const lines = (i: number, n: number): string => `line ${i} of output, words and more words\n`.repeat(n);
const turn = (i: number, n = 20, says = 'step'): object[] => [
  {
    role: 'assistant',
    content: says,
    tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${i}`, content: lines(i, n) },
];
const turns = (count: number, n = 20, says = 'step'): object[][] =>
  Array.from({ length: count }, (_, i) => turn(i, n, says));
const user = (content: unknown) => ({ role: 'user', content });
const system = { role: 'system', content: 'You are an agent.' };
const format = 'openai-chat' as const;

it("a user message that reads like a notice of ours is a user's all the same", () => {
  const t = turns(12, 60);
  t[4]?.push(user('Now fix B as well.'));
  t[8]?.push(user('[conversation truncated — 4 older messages omitted]'));
  const history = [system, user('Fix A'), ...t.flat()];
  const arrival = { clean: false, references: false };
  // Budgets that masks meet, and one that needs more.
  const fits = [1500, 800].map((maxTokens) => fit(history, { format, arrival, maxTokens }).report);
  expect(fits.map(({ reductionStage }) => reductionStage)).toEqual(['masking', 'fallback']);
});
it('an image does not go without a word', () => {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsCAIAAABi1XKVAAAAA'.padEnd(40_000, 'A');
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
  const history = [
    user('go'),
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'shot', input: {} }] },
    user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Screenshot taken.' }, image] }]),
  ];
  for (const options of [{ maxTokens: 150, policy: never() }, { policy: breakEven({ maxResultTokens: 100 }) }]) {
    const { messages, hidden } = fit(history, { format: 'anthropic', recall: true, ...options });
    expect(hidden.length).toBeGreaterThan(0);
    for (const { handle } of hidden) expect(JSON.stringify(messages)).toContain(handle);
  }
});
it('what is clipped to a number of characters shows its handle', () => {
  const history = [
    user('Fix it.'),
    { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'bash', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'a', content: lines(1, 60) },
  ];
  const { messages, hidden } = fit(history, {
    format: 'chat',
    recall: true,
    policy: graduated({ maxInputChars: 400 }),
  });
  for (const { handle } of hidden) expect(JSON.stringify(messages)).toContain(handle);
});
it('a limit in characters never makes a request larger in tokens', () => {
  const history = [
    { role: 'system', content: 's' },
    user('Fix it.'),
    { role: 'assistant', content: '\n'.repeat(300) },
    { role: 'assistant', content: 'ok' },
  ];
  const { tokens } = fit(history, { format: 'chat', recall: true, policy: graduated({ maxInputChars: 200 }) }).report;
  expect(tokens.after).toBeLessThanOrEqual(tokens.before);
});
it('an epoch on a cold cache leaves its record, also over the budget', () => {
  const says = 'I look at it first. '.repeat(20);
  const history = [system, user('Fix it.'), ...turn(0, 20, says), ...turn(1, 20, says), ...turn(2, 200)];
  const options = { format, maxTokens: 1300, policy: breakEven({ window: 1, threshold: 100 }) };
  const cold = fit(history, { ...options, facts: { idleMs: 1e12 } });
  const epochs = cold.report.record ? [cold.report.record] : [];
  expect(fit(history, { ...options, facts: { epochs } }).messages).toEqual(cold.messages);
});
it('a first message without words is the task, and no later one is', () => {
  const options = { format, maxTokens: 1180, policy: never() };
  const says = (word: string, times: number, then: string) => [
    { role: 'assistant', content: `${word} `.repeat(times) },
    user(then),
  ];
  const parts = [
    [user([{ type: 'image_url', image_url: { url: 'https://x/y.png' } }])],
    says('first', 300, 'First words.'),
    says('next', 50, 'Second words.'),
    says('next', 50, 'Third words.'),
    ...turns(20, 1, 'and so on '.repeat(2)),
  ];
  let fedBack: object[] = [];
  for (const part of parts) fedBack = [...fit(fedBack, options).messages, ...part];
  expect(fit(fedBack, options).messages).toEqual(fit(parts.flat(), options).messages);
});
it('no report can be changed for later calls', () => {
  const history = [system, user('Fix it.'), ...turns(3).flat()];
  const options = { policy: slidingWindow({ turns: 1 }) };
  const { byKind } = fit(history, options).report;
  try {
    Object.assign(byKind.user.before, { tokens: -99 });
  } catch {}
  expect(fit(history, options).report).toEqual(fit(structuredClone(history), options).report);
});
it('a number as a key that was renamed in place is noticed', () => {
  const input: Record<string, string> = { 1: 'x', path: 'src/a.ts' };
  const history = [
    user('go'),
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read_file', input }] },
    user([{ type: 'tool_result', tool_use_id: 'a', content: 'x' }]),
  ];
  fit(history, { format: 'anthropic' });
  delete input[1];
  input[1234567890] = 'x';
  expect(fit(history, { format: 'anthropic' }).report).toEqual(
    fit(structuredClone(history), { format: 'anthropic' }).report,
  );
});
it('a counter that answers fractions counts for the planner what it counts for fit', () => {
  const found: number[] = [];
  for (let maxTokens = 100; maxTokens < 900; maxTokens += 5) {
    const options = {
      format,
      maxTokens,
      policy: slidingWindow({ turns: 1 }),
      counter: (text: string) => text.length / 3.5,
    };
    const history = [
      system,
      user('Fix it.'),
      ...turns(4, 13, 'I look again.').flat(),
      user('why?'),
      { role: 'assistant', content: 'so' },
      user('why?'),
    ];
    try {
      const whole = fit(history, options);
      const planner = createPlanner<object>(options);
      for (const message of history) planner.add(message);
      if (JSON.stringify(planner.report()) !== JSON.stringify(whole.report)) found.push(maxTokens);
    } catch (error) {
      if (!(error instanceof PalimpsestError)) throw error;
    }
  }
  expect(found).toEqual([]);
});
it('a name that is no text is no name', () => {
  const history = [
    user('x'),
    { role: 'assistant', content: 'call', pairId: 'a', pairRole: 'call', name: { first: 'bash' } },
    { role: 'tool', content: lines(1, 60), pairId: 'a', pairRole: 'result' },
  ];
  expect(() => fit(history, { format: 'chat', policy: slidingWindow({ turns: 0 }), recall: true })).not.toThrow();
});
it("a placeholder of the caller's that ends like a handle is known again", () => {
  const history = [
    user('Fix it.'),
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'shot', input: {} }] },
    user([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'image', source: { type: 'url', url: 'https://x/y.png' } }],
      },
    ]),
  ];
  const options = {
    format: 'anthropic' as const,
    policy: slidingWindow({
      turns: 0,
      minTokens: 0,
      maxResultTokens: 5,
      placeholder: 'gone · p_abcdefghijklmnopqrstuvwxyz',
    }),
  };
  expect(fit(fit(history, options).messages, options).plan.edits).toEqual([]);
});
it('a summary that may have hardly a character is known again', () => {
  const options = {
    format,
    policy: graduated({
      maxInputChars: 1500,
      preserveRecentRawTurns: 1,
      observationMasking: false,
      summaryMaxChars: 20,
    }),
  };
  const all = turns(8);
  let fedBack: object[] = [system, user('Fix it.')];
  for (const part of all) fedBack = [...fit(fedBack, options).messages, ...part];
  expect(fit(fedBack, options).messages).toEqual(fit([system, user('Fix it.'), ...all.flat()], options).messages);
});
it('what hybrid did not find worth a summary, it does not when its result is fitted again', () => {
  const call = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const found: string[] = [];
  for (const [a, b] of [
    [10, 1],
    [20, 1],
    [5, 0],
    [30, 1],
    [20, 2],
    [44, 0],
  ] as const)
    for (const says of ['×;[x]', 'I look at it once more.']) {
      const options = { format, policy: hybrid({ window: 0, summarizeEvery: 2, minTokens: 1 }) };
      const history = [
        system,
        user('Fix the test.'),
        ...turn(1, 6),
        user('Please also fix B. '.repeat(16)),
        ...turn(2, 7),
        {
          role: 'assistant',
          content: says,
          tool_calls: [call('c3', 'grep', `{"command":"sed -n '30,40p' src/a.ts"}`)],
        },
        { role: 'tool', tool_call_id: 'c3', content: lines(3, a) },
        {
          role: 'assistant',
          content: says,
          tool_calls: [call('c4', 'read_file', '{"path":"src/a.ts","offset":20,"limit":30}')],
        },
        { role: 'tool', tool_call_id: 'c4', content: lines(4, b) || '0: alpha' },
        { role: 'assistant', content: says },
        user('Please also fix B. '.repeat(14)),
      ];
      const once = fit(history, options);
      if (fit(once.messages, options).plan.edits.length > 0) found.push(`${a} ${b} ${says}`);
    }
  expect(found).toEqual([]);
});
it('a planner answers every edit that stands in its plan', () => {
  const says = 'step of five words here now and then';
  const parts: number[] = [2, 1, 5, 1, 4, 1, 3, 1];
  const found: number[] = [];
  for (let maxTokens = 300; maxTokens < 600; maxTokens += 3) {
    const history = [
      user('Fix it.'),
      ...turn(0, 13, says),
      user('more words '.repeat(20)),
      ...turn(1, 13, says),
      ...turn(2, 13, says),
      ...turn(3, 13, says),
      ...turn(4, 13, says),
      user('more words '.repeat(52)),
      ...turn(5, 13, says),
      ...turn(6, 13, says),
      user('more words '.repeat(10)),
    ];
    const planner = createPlanner<object>({ format, maxTokens, policy: slidingWindow({ turns: 2, minTokens: 0 }) });
    const told = new Map<number, string>();
    let at = 0;
    for (const count of parts) {
      for (const edit of planner.add(...history.slice(at, at + count)).edits)
        if (edit.kind === 'replace') told.set(edit.segment, edit.text);
      at += count;
    }
    if (planner.plan().edits.some((edit) => edit.kind === 'replace' && told.get(edit.segment) !== edit.text))
      found.push(maxTokens);
  }
  expect(found).toEqual([]);
});
it('null between two system messages breaks no law', () => {
  expect(() =>
    fit([system, null, system, user('Fix it.'), ...turns(12, 60).flat()], { format, maxTokens: 1500 }),
  ).not.toThrow();
});

it('every summary shows the handle of what it stands for, and that of the summary before it', () => {
  const policies = [
    hybrid({ window: 2, summarizeEvery: 2 }),
    graduated({ maxInputChars: 4000, preserveRecentRawTurns: 2 }),
  ];
  for (const policy of policies) {
    const { messages, hidden } = fit(
      [system, user('Fix it.'), ...turns(14, 20, 'I look at it once more. '.repeat(20)).flat()],
      {
        format,
        policy,
        recall: true,
      },
    );
    expect(hidden.filter(({ why }) => why === 'summarize').length).toBeGreaterThan(1);
    const texts = new Map(hidden.map(({ handle, text }) => [handle, text]));
    const reached = new Set<string>();
    const look = (text: string): void => {
      for (const [handle] of text.matchAll(/p_[a-z2-7]{26}/g)) {
        if (reached.has(handle) || !texts.has(handle)) continue;
        reached.add(handle);
        look(texts.get(handle) as string);
      }
    };
    look(JSON.stringify(messages));
    expect(reached).toEqual(new Set(texts.keys()));
  }
});
