import { describe, expect, it } from 'vitest';
import {
  breakEven,
  type ChatMessage,
  createPlanner,
  dropOldestTurns,
  type FitOptions,
  fit,
  formatByName,
  never,
  type Policy,
  slidingWindow,
} from '../src/index.ts';
import { createMemorySession } from '../src/manager/index.ts';
import { runLoop } from './support/agent-loop.ts';
import { codeOf, contents, prose, range, reply, system, talk, toolTurn, user } from './support/chat.ts';

/** An agent that reads and runs by turns; each result has about a quarter as many tokens as characters. */
const agentRun = (turns: number, chars: number): ChatMessage[] => [
  system('You are a careful engineer.'),
  user('Fix the build.'),
  ...range(1, turns).flatMap((n) =>
    toolTurn({
      id: `c${n}`,
      text: `decision ${n}`,
      output: prose(chars, `result ${n} `),
      ...(n % 2 === 0
        ? { tool: 'bash', args: `{"command":"npm test ${n}"}` }
        : { tool: 'read_file', args: `{"path":"src/${n}.ts"}` }),
    }),
  ),
];
const decisions = (messages: readonly ChatMessage[]): string[] =>
  contents(messages).filter((text) => text.startsWith('decision '));
const whole = (messages: readonly ChatMessage[]): string[] =>
  contents(messages).filter((text) => text.startsWith('result '));

const policies: readonly [string, Policy | undefined][] = [
  ['the default', undefined],
  ['breakEven for OpenAI', breakEven({ prices: 'gpt-5' })],
  ['slidingWindow', slidingWindow()],
  ['never', never()],
];

describe.each(policies)('a budget that the window alone exceeds: %s', (_, policy) => {
  const options: FitOptions = { maxTokens: 100_000, ...(policy ? { policy } : {}) };
  const run = agentRun(60, 60_000);
  const { messages, report } = fit(run, options);

  it('keeps every decision: results inside the window are masked, the oldest first', () => {
    expect(decisions(messages)).toEqual(decisions(run));
    expect(report.edits).toMatchObject({ drop: 0, clip: 0, insert: 0 });
    expect(report.tokens.after).toBeLessThanOrEqual(100_000);
    const shown = whole(messages);
    expect(shown).toEqual(whole(run).slice(-shown.length));
  });

  it('never masks the newest turn', () => {
    expect(messages.at(-1)).toBe(run.at(-1));
  });

  it('cuts to 80 % or less, so that the next turn does not cut again', () => {
    const planner = createPlanner<ChatMessage>({ format: 'chat', ...options });
    for (const message of run) {
      const before = planner.report().epoch;
      const { report: next } = planner.add(message);
      if (next.decision.act === 'over-limit' && next.epoch > before)
        expect(next.tokens.after).toBeLessThanOrEqual(80_000);
    }
  });
});

/** How many of the requests of a run changed what an earlier one had sent. */
function rewrites(policy: Policy, maxTokens: number): number {
  const planner = createPlanner<ChatMessage>({ format: 'chat', policy, maxTokens });
  const run = agentRun(100, 8000);
  planner.add(...run.slice(0, 2));
  for (const n of range(1, 100)) planner.add(...run.slice(2 * n, 2 * n + 2));
  expect(decisions(planner.messages())).toHaveLength(100);
  return planner.report().epoch;
}

describe('a small budget', () => {
  it('rewrites the prefix at most every third request, and less often where the prices say that a deeper cut pays', () => {
    const priced = rewrites(breakEven(), 20_000);
    expect(priced).toBeLessThanOrEqual(33);
    expect(priced).toBeLessThan(rewrites(breakEven({ prices: { read: 1, write: 1 } }), 20_000));
  });

  it('drops a decision only where no old result is left to mask', () => {
    const planner = createPlanner<ChatMessage>({ format: 'chat', maxTokens: 2000 });
    let dropped = 0;
    for (const message of agentRun(200, 1200)) {
      const { report } = planner.add(message);
      if (report.edits.drop > dropped) expect(whole(planner.messages()).length).toBeLessThanOrEqual(1);
      dropped = report.edits.drop;
    }
    expect(dropped).toBeGreaterThan(0);
  });
});

describe('what is left reads right', () => {
  it.each(['chat', 'openai-chat'] as const)(
    '%s: system, task, notice, then a question with its own answer',
    (format) => {
      const run = [...talk(40), user('and now?')] as ChatMessage[];
      const { messages } = fit(run, { format, maxTokens: 1500 });
      const [first, task, notice, question, answer] = contents(messages as ChatMessage[]);
      expect([first, task]).toEqual(contents(run.slice(0, 2)));
      expect(notice).toMatch(/^Conversation summary|^\[conversation truncated/);
      const [, number] = /^question (\d+): /.exec(question ?? '') ?? [];
      expect(answer).toMatch(new RegExp(`^answer ${number}: `));
      expect(formatByName(format).check(messages)).toEqual([]);
    },
  );

  it('a later cut leaves no question without its answer behind', () => {
    const planner = createPlanner<ChatMessage>({ format: 'chat', maxTokens: 1500 });
    for (const message of talk(120)) planner.add(message);
    const left = contents(planner.messages()).flatMap((text) => /^(question|answer) (\d+): /.exec(text)?.[0] ?? []);
    const behind = left.slice(1);
    for (const [i, said] of behind.entries())
      if (said.startsWith('question') && i + 1 < behind.length)
        expect(behind[i + 1]).toBe(said.replace('question', 'answer'));
  });
});

describe('a chat that begins with a reply', () => {
  const prompt = { role: 'system', content: 'prompt' };
  const hello = { role: 'assistant', content: 'Hello!' };
  const task = { role: 'user', content: 'task' };
  const lookup = [
    { role: 'assistant', content: '', tool_calls: [{ id: 'a', type: 'function', function: { name: 'find' } }] },
    { role: 'tool', tool_call_id: 'a', content: 'Ann' },
  ];
  const turns = range(1, 9).flatMap((n) => [
    { role: 'assistant', content: `answer ${n} `.repeat(60) },
    { role: 'user', content: `question ${n}` },
  ]);
  const options = { format: 'openai-chat', maxTokens: 700, policy: never() } as const;

  it.each([
    ['a greeting', [hello, task]],
    ['a greeting behind the system prompt', [prompt, hello, task]],
    ['two greetings', [hello, hello, task]],
    ['a call', [prompt, ...lookup, task]],
    ['a call and a greeting', [prompt, ...lookup, hello, task]],
  ])('%s: its own output with new turns is fitted like the whole', (_, head) => {
    const all = [...head, ...turns];
    const whole = fit(all, options);
    expect(whole.report.edits.drop).toBeGreaterThan(0);
    for (let end = head.length; end < all.length; end += 2) {
      const first = fit(all.slice(0, end), options);
      expect(fit([...first.messages, ...all.slice(end)], options).messages).toEqual(whole.messages);
    }
  });

  it('a greeting, the task, the notice, then a question with its own answer', () => {
    const [first, second, notice, question, answer] = contents(
      fit([hello, task, ...turns], options).messages as ChatMessage[],
    );
    expect([first, second]).toEqual(['Hello!', 'task']);
    expect(notice).toMatch(/^\[conversation truncated/);
    expect(answer).toContain(`answer ${Number(question?.replace('question ', '')) + 1} `);
  });
});

describe('runAgent in a window that a few results fill', () => {
  it('masks results inside the window of the policy before it restarts, and keeps the conversation', async () => {
    const context = createMemorySession<ChatMessage>({ maxInputTokens: 32_000 });
    const conversation = [...talk(6), user('Deploy only on Fridays.'), reply('I will.')];
    await context.add(...conversation);
    const { requests, result } = await runLoop({ iterations: 20, output: (n) => prose(60_000, `${n} `), context });
    expect(result).toMatchObject({ status: 'complete', restarts: 0 });
    for (const request of requests) expect(contents(request)).toEqual(expect.arrayContaining(contents(conversation)));
    expect(contents(requests.at(-1) ?? []).filter((text) => /^step \d+$/.test(text))).toHaveLength(20);
  });
});

describe('dropOldestTurns', () => {
  it('says that it could not meet the budget', () => {
    const run = agentRun(5, 4000);
    const cut = dropOldestTurns(run, { maxTokens: 100 });
    expect(cut.withinBudget).toBe(false);
    expect(cut.tokens.after).toBeGreaterThan(100);
    expect(dropOldestTurns(run, { maxTokens: 1_000_000 })).toMatchObject({ withinBudget: true, droppedCount: 0 });
  });
});

describe('createPlanner', () => {
  it('names itself, not fit, where an option is wrong', () => {
    const wrong = { format: 'chat', maxTokenz: 5 } as never;
    expect(codeOf(() => createPlanner(wrong))).toBe('BAD_OPTION');
    expect(() => createPlanner(wrong)).toThrow(/an option of createPlanner but found maxTokenz/);
    expect(() => createPlanner({ format: 'chat', maxTokens: -1 })).toThrow(/createPlanner option maxTokens/);
    expect(() => fit([reply('x')], { maxTokens: -1 })).toThrow(/fit option maxTokens/);
  });
});
