import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  clipText,
  countTokens,
  defaultContextWindow,
  dropOldestTurns,
  estimateTokens,
  firstAndLast,
  fit as fitHistory,
  never,
  truncateResult,
} from '../../src/index.ts';
import {
  answer,
  changedTurns,
  codeOf,
  contents,
  frozen,
  history,
  isWhole,
  omitted,
  parallelCalls,
  prose,
  range,
  reply,
  results,
  system,
  talk,
  toolTurn,
  unpaired,
  user,
} from './support.ts';

const counter = estimateTokens;
const sizeOf = (messages: readonly ChatMessage[], options = {}): number =>
  fitHistory(messages, { format: chat, counter, policy: never(), ...options }).report.tokens.before;

describe('conversation level: the budget of a request', () => {
  it('a history larger than the window of its model is cut to fit it', () => {
    const run = talk(100);
    const windows = { 'tiny-model': 2000 };
    const { report, messages } = fitHistory(run, {
      format: chat,
      model: 'tiny-model',
      contextWindows: windows,
      counter,
    });
    expect(report.tokens.before).toBeGreaterThan(2000);
    expect(report.tokens.after).toBeLessThanOrEqual(2000);
    expect(sizeOf(messages)).toBe(report.tokens.after);
  });

  it('a history of exactly the budget is left alone, one token more is cut', () => {
    const run = talk(40);
    const size = sizeOf(run);
    const at = fitHistory(run, { format: chat, counter, maxTokens: size });
    expect(at.messages).toEqual(run);
    expect(at.plan.edits).toEqual([]);
    const below = fitHistory(run, { format: chat, counter, maxTokens: size - 1 });
    expect(below.plan.edits).not.toEqual([]);
    expect(below.report.tokens.after).toBeLessThanOrEqual(size - 1);
  });

  it('system prompt and tools beside the messages count towards the budget, each with its own size', () => {
    const run = talk(10);
    const prompt = prose(4000);
    const tools = [{ name: 'bash', description: prose(800), parameters: { type: 'object' } }];
    expect(sizeOf(run, { system: prompt }) - sizeOf(run)).toBe(1000);
    expect(sizeOf(run, { tools }) - sizeOf(run)).toBe(counter(JSON.stringify(tools)));
    const maxTokens = sizeOf(run) + 500;
    expect(fitHistory(run, { format: chat, counter, maxTokens }).messages).toEqual(run);
    const beside = fitHistory(run, { format: chat, counter, maxTokens, system: prompt });
    expect(beside.messages.length).toBeLessThan(run.length);
    expect(beside.report.tokens.after).toBeLessThanOrEqual(maxTokens);
  });

  it('every message counts its framing, its ids, its tool name and its arguments beside its text', () => {
    const plain = sizeOf([user('Hello world')]);
    expect(plain).toBe(counter('Hello world') + 4);
    const [made] = toolTurn({ id: 'call_1', tool: 'bash', args: '{"command":"ls -la /tmp"}', output: '' });
    expect(sizeOf([made as ChatMessage])).toBeGreaterThan(4 + counter('{"command":"ls -la /tmp"}'));
  });

  it('the most recent messages are kept, the oldest go first', () => {
    const run = talk(60);
    const { messages } = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 1500 });
    const kept = messages.filter((message) => run.includes(message) && message !== run[0] && message !== run[1]);
    expect(kept.length).toBeGreaterThan(4);
    expect(kept).toEqual(run.slice(-kept.length));
  });

  it('a notice says how many messages were omitted, behind the system prompt, as a system message', () => {
    const run = talk(60);
    const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1500 });
    expect(droppedCount).toBeGreaterThan(0);
    expect(messages[0]).toBe(run[0]);
    expect(messages[1]).toEqual({ role: 'system', content: omitted(droppedCount) });
    expect(messages).toHaveLength(run.length - droppedCount + 1);
    expect(sizeOf(messages)).toBeLessThanOrEqual(1500);
  });

  it('no notice is given where nothing was omitted', () => {
    const run = talk(3);
    expect(dropOldestTurns(run, { format: chat, counter, maxTokens: sizeOf(run) })).toEqual({
      messages: run,
      droppedCount: 0,
      hidden: [],
    });
  });

  it('maxTokens is respected where it is set, above or below the default of the model', () => {
    const run = talk(40);
    const model = 'claude-sonnet-4-20250514';
    expect(fitHistory(run, { format: chat, counter, model }).messages).toEqual(run);
    expect(fitHistory(run, { format: chat, counter, model, maxTokens: 1000 }).report.tokens.after).toBeLessThanOrEqual(
      1000,
    );
    const windows = { claude: 1000 };
    expect(
      fitHistory(run, { format: chat, counter, model, contextWindows: windows, maxTokens: 50_000 }).messages,
    ).toEqual(run);
  });

  it.each([
    ['claude-sonnet-4-20250514', 200_000],
    ['anthropic/claude-3.5-haiku', 200_000],
    ['gpt-5', 400_000],
    ['openai/gpt-5-mini', 400_000],
    ['gpt-4.1', 1_000_000],
    ['gpt-4.1-nano', 1_000_000],
    ['gpt-4o', 128_000],
    ['gpt-4-turbo', 128_000],
    ['gpt-4', 128_000],
    ['gemini-2.5-flash', 1_000_000],
    ['grok-4-fast', 2_000_000],
    ['grok-3', 131_072],
    ['deepseek-v3.1', 163_840],
    ['deepseek-chat-v3-0324', 163_840],
    ['deepseek-r1', 128_000],
    ['qwen3-coder', 131_072],
    ['qwen-2.5-72b', 128_000],
    ['llama-4-scout', 327_680],
    ['llama-3.3-70b', 128_000],
    ['mistral-large-2512', 262_144],
    ['mistral-small', 128_000],
    ['mixtral-8x7b', 128_000],
    ['some-model-of-tomorrow', 128_000],
    ['', 128_000],
  ])('defaultContextWindow of %s is %d, in capitals too', (model, window) => {
    expect(defaultContextWindow(model)).toBe(window);
    expect(defaultContextWindow(model.toUpperCase())).toBe(window);
  });

  it("a user's own table overrides the default window", () => {
    expect(defaultContextWindow('Claude-Opus-5', { 'claude-opus': 1_000_000 })).toBe(1_000_000);
    expect(defaultContextWindow('claude-haiku', { 'claude-opus': 1_000_000 })).toBe(200_000);
  });
});

describe('3a: truncateResult', () => {
  const long = `HEAD ${prose(208_000 - 10)} TAIL`;

  it('leaves a result of exactly maxTokens alone and cuts one that is a byte larger', () => {
    const text = prose(400);
    expect(truncateResult(text, { maxTokens: 100 })).toBe(text);
    expect(truncateResult(`${text}.`, { maxTokens: 100 })).not.toBe(`${text}.`);
  });

  it('caps at 8000 tokens from the head where nothing else is said', () => {
    const cut = truncateResult(long);
    expect(cut).toMatch(/^HEAD /);
    expect(cut.endsWith('\n\n[truncated: kept first ~8000 of ~52000 tokens (head)]')).toBe(true);
    expect(counter(cut)).toBeLessThanOrEqual(8000);
    expect(counter(cut)).toBeGreaterThan(7990);
  });

  it('head keeps the beginning and appends its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'head' });
    const [kept = '', indicator] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept first ~100 of ~52000 tokens (head)]');
    expect(long.startsWith(kept)).toBe(true);
    expect(kept).toMatch(/^HEAD /);
  });

  it('tail keeps the end and prepends its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'tail' });
    const [indicator, kept = ''] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept last ~100 of ~52000 tokens (tail)]');
    expect(long.endsWith(kept)).toBe(true);
    expect(kept).toMatch(/ TAIL$/);
  });

  it('both keeps beginning and end in equal parts around its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'both' });
    const [head = '', indicator, tail = ''] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept first+last ~100 of ~52000 tokens (both)]');
    expect([long.startsWith(head), long.endsWith(tail)]).toEqual([true, true]);
    expect(Math.abs(head.length - tail.length)).toBeLessThanOrEqual(1);
    expect(head.length).toBeGreaterThan(100);
  });

  it('the indicator counts towards the cap, for every strategy, cap and counter', () => {
    for (const strategy of ['head', 'tail', 'both'] as const)
      for (const maxTokens of [1, 5, 10, 14, 15, 16, 20, 50, 1000])
        for (const count of [estimateTokens, countTokens]) {
          const cut = truncateResult(long, { maxTokens, strategy, counter: count });
          expect(count(cut)).toBeLessThanOrEqual(maxTokens);
          expect(cut).not.toBe('');
        }
  });

  it('no strategy splits a character', () => {
    const emoji = '🎉'.repeat(500);
    for (const strategy of ['head', 'tail', 'both'] as const)
      for (const maxTokens of range(30, 60)) {
        const cut = truncateResult(`x${emoji}`, { maxTokens, strategy });
        expect([strategy, maxTokens, isWhole(cut)]).toEqual([strategy, maxTokens, true]);
      }
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'maxTokens of %d is refused with BAD_OPTION',
    (maxTokens) => {
      expect(codeOf(() => truncateResult('text', { maxTokens }))).toBe('BAD_OPTION');
    },
  );

  it('an unknown strategy is refused with BAD_OPTION', () => {
    expect(codeOf(() => truncateResult('text', { strategy: 'middle' as 'head' }))).toBe('BAD_OPTION');
  });
});

describe('3b: first and last results', () => {
  const fitted = (run: readonly ChatMessage[], options = {}) =>
    fitHistory(run, { format: chat, counter, policy: firstAndLast(options) });

  it('eight iterations with keepFirst 2 and keepLast 3 mask exactly results 3, 4 and 5', () => {
    const run = history(8, 1000);
    const { messages, report } = fitted(run, { keepFirst: 2, keepLast: 3 });
    expect(changedTurns(run, messages)).toEqual([3, 4, 5]);
    expect(report.maskedCount).toBe(3);
  });

  it('keeps the first 2 and the last 5 where nothing else is said', () => {
    const run = history(12);
    expect(changedTurns(run, fitted(run).messages)).toEqual([3, 4, 5, 6, 7]);
  });

  it('a masked result says how many tokens it hid', () => {
    const { messages } = fitted(history(8, 1000), { keepFirst: 2, keepLast: 3 });
    expect(results(messages).slice(2, 5)).toEqual(range(3, 5).map(() => '[result masked — ~250 tokens removed]'));
  });

  it('for all small windows exactly the results between first and last are masked', () => {
    for (const total of range(0, 7))
      for (const keepFirst of range(0, 4))
        for (const keepLast of range(0, 4)) {
          const run = history(total, 400);
          const expected =
            keepFirst + keepLast === 0 ? [] : range(1, total).filter((n) => n > keepFirst && n <= total - keepLast);
          const found = changedTurns(run, fitted(run, { keepFirst, keepLast }).messages);
          expect({ total, keepFirst, keepLast, found }).toEqual({ total, keepFirst, keepLast, found: expected });
        }
  });

  it('masks nothing where there are at most keepFirst + keepLast results', () => {
    const run = history(7);
    const { messages, report } = fitted(run, { keepFirst: 2, keepLast: 5 });
    expect(messages).toEqual(run);
    expect(report.decision.act).toBe('wait');
  });

  it('both 0 disables masking and says so', () => {
    const run = history(20);
    const { messages, report } = fitted(run, { keepFirst: 0, keepLast: 0 });
    expect(messages).toEqual(run);
    expect(report.decision.act).toBe('off');
  });

  it('counts results, not iterations: parallel results have their own places', () => {
    const run: ChatMessage[] = [
      user('Go.'),
      parallelCalls('a', 'b', 'c'),
      ...['a', 'b', 'c'].map((id) => answer(id, prose(400, id))),
    ];
    const { messages } = fitted(run, { keepFirst: 1, keepLast: 1 });
    expect(changedTurns(run, messages)).toEqual([2]);
  });

  it('a masked result keeps its call with the arguments, and its own id', () => {
    const run = frozen([
      user('Go.'),
      ...range(1, 4).flatMap((n) =>
        toolTurn({ id: `c${n}`, args: `{"path":"src/${n}.ts"}`, output: prose(400, `${n}`) }),
      ),
    ]);
    const { messages } = fitted(run, { keepFirst: 1, keepLast: 1 });
    expect(messages[3]).toBe(run[3]);
    expect(messages[3]?.toolCalls).toEqual([{ id: 'c2', name: 'bash', arguments: '{"path":"src/2.ts"}' }]);
    expect(messages[4]).toEqual({ role: 'tool', content: '[result masked — ~100 tokens removed]', toolCallId: 'c2' });
  });

  it.each([{ keepFirst: -1 }, { keepLast: -1 }, { keepFirst: 1.5 }, { keepLast: Number.NaN }])(
    '%o is refused with BAD_OPTION',
    (options) => {
      expect(codeOf(() => firstAndLast(options))).toBe('BAD_OPTION');
    },
  );
});

describe('3c: oldest turns dropped as a last resort', () => {
  const conversation = [
    system('You are helpful.'),
    user('hello'),
    reply('hi there'),
    user('and before that?'),
    reply('nothing'),
    user('do something'),
  ];
  const loop = (n: number, length = 2000): ChatMessage[] =>
    range(1, n).flatMap((turn) => toolTurn({ id: `c${turn}`, output: prose(length, `output ${turn}: `) }));

  it('drops whole iterations, oldest first, and only as many as needed', () => {
    const run = [system('You are helpful.'), user('do something'), ...loop(10)];
    for (const budget of [600, 1200, 2400, 4800]) {
      const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: budget });
      expect(droppedCount % 2).toBe(0);
      expect(messages.slice(3)).toEqual(run.slice(2 + droppedCount));
      expect(sizeOf(messages)).toBeLessThanOrEqual(budget);
      const oneMore = [...run.slice(0, 2), ...run.slice(droppedCount)];
      expect(sizeOf(oneMore)).toBeGreaterThan(budget - 100);
    }
  });

  it('never drops the most recent iteration, however small the budget', () => {
    const run = [user('do something'), ...loop(5)];
    const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1 });
    expect(droppedCount).toBe(8);
    expect(messages.slice(-2)).toEqual(run.slice(-2));
  });

  it('preserves the conversation before the loop', () => {
    const run = [...conversation, ...loop(6)];
    const { messages } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1200 });
    expect(messages.length).toBeLessThan(run.length);
    expect(contents(messages).filter((text) => !text.startsWith('[conversation truncated'))).toEqual([
      ...contents(conversation),
      ...contents(run.slice(-(messages.length - conversation.length - 1))),
    ]);
  });

  it('never breaks a pair, parallel calls included', () => {
    const run = [
      user('do something'),
      ...range(1, 8).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`b${n}`, prose(600)),
        answer(`a${n}`, prose(600)),
      ]),
    ];
    for (const maxTokens of [200, 500, 900, 1700]) {
      const { messages } = dropOldestTurns(run, { format: chat, counter, maxTokens });
      expect(unpaired(messages)).toEqual([]);
    }
  });

  it('comes last: fit masks before it drops, and drops nothing where masking is enough', () => {
    const run = [system('You are helpful.'), user('do something'), ...loop(30)];
    const masking = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: sizeOf(run) - 1 });
    expect(masking.report).toMatchObject({ reductionStage: 'masking', edits: { drop: 0, insert: 0 } });
    expect(masking.messages).toHaveLength(run.length);
    const dropping = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 3000 });
    expect(dropping.report.edits.drop).toBeGreaterThan(0);
    expect(dropping.report.tokens.after).toBeLessThanOrEqual(3000);
  });

  it('cuts down to 80 % of the budget, so that the next turn does not cut again', () => {
    const run = [system('You are helpful.'), user('do something'), ...loop(30)];
    const { report, messages } = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 3000 });
    expect(report.tokens.after).toBeLessThanOrEqual(2400);
    const next = fitHistory([...run, reply('thinking')], { format: chat, counter, policy: never(), maxTokens: 3000 });
    expect(next.messages).toEqual([...messages, reply('thinking')]);
  });

  it('an agent with 300 iterations never exceeds the window, and every request it sends is legal', () => {
    const run: ChatMessage[] = [system('You are helpful.'), user('do something')];
    for (let turn = 1; turn <= 300; turn++) {
      run.push(
        parallelCalls(`a${turn}`, `b${turn}`),
        answer(`a${turn}`, prose(4000, `${turn}`)),
        answer(`b${turn}`, clipText(prose(500), 9 * (turn % 50) + 4)),
      );
      if (turn % 10 !== 0) continue;
      const { messages, report } = fitHistory(run, { format: chat, counter, maxTokens: 16_000 });
      expect(report.tokens.after).toBeLessThanOrEqual(16_000);
      expect(sizeOf(messages)).toBe(report.tokens.after);
      expect(unpaired(messages)).toEqual([]);
      expect(messages.slice(-3)).toEqual(run.slice(-3));
    }
  });
});
