// The document on context window management, heading by heading, then its acceptance criteria, counted from 1 under each
// of their three headings. The loop is always `runAgent`; layer 2 is `renderWithBudget` or the `render` of a session.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  type AgentEvent,
  actorMessageLimit,
  agentOptionsOf,
  createMemorySession,
  type MemorySessionOptions,
  openSession,
  policyOf,
  type Rendered,
  type RenderOptions,
  readConfig,
  readSessionEvents,
  renderWithBudget,
  sessionOptionsOf,
  trimMessages,
} from '../../src/manager/index.ts';
import { createMemoryStore, recall } from '../../src/store/index.ts';
import { runLoop } from '../support/agent-loop.ts';
import {
  answer,
  changedTurns,
  codeOf,
  contents,
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
} from '../support/chat.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { palimpsest } from '../support/memory-io.ts';
import { scratchFolder } from '../support/modules.ts';

const counter = estimateTokens;
const sizeOf = (messages: readonly ChatMessage[], options = {}): number =>
  fitHistory(messages, { format: chat, counter, policy: never(), ...options }).report.tokens.before;
const render = (messages: readonly ChatMessage[], options: RenderOptions<ChatMessage> = {}): Rendered<ChatMessage> =>
  renderWithBudget(messages, { format: chat, counter, ...options });
const memory = (options: MemorySessionOptions<ChatMessage> = {}) =>
  createMemorySession<ChatMessage>({ counter, policy: never(), contextLimit: 200_000, ...options });
const onDisk = (id: string, options: object = {}) =>
  openSession<ChatMessage>({ directory: scratchFolder('seed-003'), id, counter, policy: never(), ...options });

/** What a request of the loop may hold, as the document writes it. */
const loopBudget = (maxInputTokens: number, maxOutputTokens: number): number =>
  maxInputTokens - maxOutputTokens - Math.floor(maxInputTokens / 10);

/** No threshold acts before the budget of the loop does, so that layer 3 is alone. */
const layer3 = (maxInputTokens: number) => ({
  contextLimit: maxInputTokens,
  softThreshold: 0.98,
  hardThreshold: 0.99,
});

describe('003 The problem', () => {
  it('003 Problem 1: the size of a request does not grow with the length of the conversation', () => {
    const sizes = [100, 200, 400, 800].map((turns) => render(talk(turns)).report.requestTokens);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(20_000 + 10);
  });

  it('003 Problems 2 and 3: a session that is used for ever can always be rendered', async () => {
    const session = await onDisk('forever', { maxInputTokens: 8000 });
    for (const n of range(1, 400)) {
      await session.add(user(prose(400, `question ${n}: `)), reply(prose(400, `answer ${n}: `)));
      if (n % 40 !== 0) continue;
      const { report, messages } = await session.render({ window: 8000, maxHistoryTokens: 0 });
      expect(report.requestTokens).toBeLessThanOrEqual(8000 - 4096 - 800);
      expect(messages.at(-1)?.content).toMatch(new RegExp(`^answer ${n}: `));
    }
    await session.close();
  });

  it('003 Problem 4: state.yaml and the messages in memory are bounded', async () => {
    const session = await onDisk('bounded', { maxInputTokens: 8000 });
    const sizeAfter = async (turns: number): Promise<number> => {
      for (const n of range(1, turns)) await session.add(user(`question ${n}`), reply(`answer ${n}`));
      expect(session.messages().length).toBeLessThanOrEqual(actorMessageLimit(8000));
      await session.compact();
      return readFileSync(join(session.directory, 'state.yaml'), 'utf8').length;
    };
    const early = await sizeAfter(200);
    expect(await sizeAfter(600)).toBeLessThan(1.2 * early);
    await session.close();
  });

  it('003 Current flow, agentic loop: tool results of ten iterations with 20,000 tokens each stay within the window', async () => {
    const context = memory({ contextLimit: 32_000 });
    const options = { maxInputTokens: 32_000, maxOutputTokens: 2000 };
    const { requests, result } = await runLoop({ iterations: 10, output: () => prose(80_000), context, ...options });
    for (const request of requests)
      expect(sizeOf(request)).toBeLessThanOrEqual(loopBudget(options.maxInputTokens, options.maxOutputTokens));
    expect(result.status).toBe('complete');
  });
});

describe('003 Solution: three layers', () => {
  it('003 Layer 1 runs on every add, layer 2 on every render, layer 3 between iterations', async () => {
    const context = memory({ maxInputTokens: 8000, policy: firstAndLast({ keepFirst: 0, keepLast: 1 }) });
    for (const n of range(1, 200)) await context.add(user(`question ${n}`), reply(`answer ${n}`));
    expect(context.messages().length).toBeLessThanOrEqual(100);
    const rendered = await context.render({ maxHistoryTokens: 300 });
    expect(rendered.report.historyTokens.after).toBeLessThanOrEqual(300);
    const { requests } = await runLoop({ iterations: 4, output: () => prose(800), context });
    expect(results(requests.at(-1) ?? []).filter((text) => text.startsWith('[result masked'))).toHaveLength(3);
  });
});

describe('003 Token counting', () => {
  it('003 Token counting: estimateTokens is bytes / 4', () => {
    expect(['abcd', 'a'.repeat(8000), '漢'.repeat(400)].map(estimateTokens)).toEqual([1, 2000, 300]);
  });

  it('003 Token counting: 10 % of the window are kept as a margin, in layers 2 and 3', async () => {
    expect(render([user('hi')], { window: 50_000 }).report.marginTokens).toBe(5000);
    const margins: number[] = [];
    const onEvent = (event: AgentEvent): void => {
      if (event.type === 'request') margins.push(event.report.marginTokens);
    };
    await runLoop({ iterations: 1, output: () => 'ok', maxInputTokens: 50_000, onEvent });
    expect(margins).toEqual([5000, 5000]);
  });
});

describe('003 Model-level configuration', () => {
  const yaml =
    'model:\n  provider: anthropic\n  name: claude-sonnet-4-20250514\n  max_input_tokens: 150000\n  max_output_tokens: 8192';

  it('003 Model-level configuration: the YAML of the document is read, and reaches session and loop', () => {
    const { config, problems } = readConfig(yaml);
    expect(problems).toEqual([]);
    expect(sessionOptionsOf(config)).toMatchObject({ model: 'claude-sonnet-4-20250514', maxInputTokens: 150_000 });
    expect(agentOptionsOf(config)).toMatchObject({ maxInputTokens: 150_000, maxOutputTokens: 8192 });
  });

  it('003 Model-level configuration: max_input_tokens is the limit for thresholds, gauge and log', async () => {
    const { config } = readConfig('model: { name: claude-sonnet-4-20250514, max_input_tokens: 10000 }');
    const directory = scratchFolder('seed-003');
    const session = await openSession<ChatMessage>({ ...sessionOptionsOf(config), directory, id: 'limit' });
    await session.add(user('hi'), reply('hello'));
    session.manager.recordUsage({ promptTokens: 7900, completionTokens: 10 });
    expect(session.manager.usagePct).toBe(79);
    expect(session.manager.preflight([user(prose(60_000))]).fits).toBe(false);
    await session.close();
    const logged: number[] = [];
    for await (const event of readSessionEvents<ChatMessage>({ directory, id: 'limit' }))
      if (event.type === 'token_usage') logged.push(event.context_used_pct);
    expect(logged).toEqual([0.79]);
  });

  it('003 Model-level configuration: with the YAML of the document the soft threshold is below the budget of the loop', () => {
    const { manager } = createMemorySession<ChatMessage>(sessionOptionsOf(readConfig(yaml).config));
    expect(manager.softThreshold * manager.contextLimit).toBeLessThan(loopBudget(150_000, 8192));
  });

  it('003 Model-level configuration: max_input_tokens caps what a run sends', async () => {
    const { requests } = await runLoop({
      iterations: 12,
      output: () => prose(8000),
      context: memory({ model: 'claude-sonnet-4-20250514', contextLimit: 10_000 }),
      maxInputTokens: 10_000,
      maxOutputTokens: 1000,
    });
    for (const request of requests) expect(sizeOf(request)).toBeLessThanOrEqual(8000);
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
  ])('003 Model-level configuration: the window of %s is %d, in capitals too', (model, window) => {
    expect(defaultContextWindow(model)).toBe(window);
    expect(defaultContextWindow(model.toUpperCase())).toBe(window);
  });

  it("003 Model-level configuration: a user's own table overrides the default window", () => {
    expect(defaultContextWindow('Claude-Opus-5', { 'claude-opus': 1_000_000 })).toBe(1_000_000);
    expect(defaultContextWindow('claude-haiku', { 'claude-opus': 1_000_000 })).toBe(200_000);
  });
});

describe('003 Layer 1: actor-level window', () => {
  it('003 Layer 1: the limit is two messages per 200 tokens, from 100 to 2000', () => {
    expect([1, 8000, 10_000, 20_000, 32_768, 150_000, 200_000, 1_000_000].map(actorMessageLimit)).toEqual([
      100, 100, 100, 200, 326, 1500, 2000, 2000,
    ]);
  });

  it('003 Layer 1: it is 1000 where no model is known', async () => {
    expect(actorMessageLimit()).toBe(1000);
    const context = createMemorySession<ChatMessage>({ counter, policy: never() });
    for (const n of range(1, 700)) await context.add(user(`question ${n}`), reply(`answer ${n}`));
    expect(context.messages().length).toBeLessThanOrEqual(1000);
    expect(context.messages().length).toBeGreaterThan(700);
  });

  it('003 Layer 1: the oldest messages go, in whole turns, and never the task', () => {
    const run = history(200, 40);
    const { messages, dropped } = trimMessages(run, { maxMessages: 100, format: chat });
    expect(messages.length).toBeLessThanOrEqual(100);
    expect(dropped).toBeGreaterThan(0);
    expect(messages.slice(-70)).toEqual(run.slice(-70));
    expect(contents(messages)).toContain('Fix the build.');
    expect(unpaired(messages)).toEqual([]);
  });

  it('003 Layer 1: there is no option for it: no field of the configuration names it', () => {
    const { problems } = readConfig('session: { context: { actor_message_limit: 10 } }');
    expect(problems).toHaveLength(1);
  });
});

describe('003 Layer 2: render-time budget', () => {
  it('003 Layer 2: available = limit - system and directives - tools - output - 10 %, each with its own size', () => {
    const available = (options: RenderOptions<ChatMessage>): number =>
      render([user('hi')], { window: 50_000, maxOutputTokens: 0, ...options }).report.availableTokens;
    const tools = [{ name: 'bash', description: prose(2000) }];
    expect(available({})).toBe(45_000);
    expect(available({ system: prose(4000) })).toBe(44_000);
    expect(available({ directives: prose(4000) })).toBe(44_000);
    expect(available({ tools })).toBe(45_000 - counter(JSON.stringify(tools)));
    expect(available({ maxOutputTokens: 8192 })).toBe(45_000 - 8192);
  });

  it('003 Layer 2: the history budget is the smaller of what is available and max_history_tokens, 0 being no cap', () => {
    const budget = (options: RenderOptions<ChatMessage>): number =>
      render([user('hi')], { maxOutputTokens: 0, ...options }).report.historyBudgetTokens;
    expect(budget({ window: 50_000 })).toBe(20_000);
    expect(budget({ window: 50_000, maxHistoryTokens: 0 })).toBe(45_000);
    expect(budget({ window: 10_000 })).toBe(9000);
  });

  it('003 Layer 2: it is filled with messages from newest to oldest', () => {
    const run = talk(60);
    const rendered = render(run, { maxHistoryTokens: 1500 });
    const kept = rendered.messages.filter((message) => run.slice(2).includes(message));
    expect(rendered.omitted).toBeGreaterThan(0);
    expect(kept).toEqual(run.slice(2 + rendered.omitted));
    expect(rendered.report.historyTokens.after).toBeLessThanOrEqual(1500);
  });

  it('003 Truncation notice: [conversation truncated — n older messages omitted], as a system message, once', () => {
    const { messages, omitted: left, notice } = render(talk(60), { maxHistoryTokens: 1500 });
    expect(notice).toBe(`[conversation truncated — ${left} older messages omitted]`);
    expect(messages.filter(({ content }) => content === notice)).toEqual([system(omitted(left))]);
    expect(messages.findIndex(({ content }) => content === notice)).toBeGreaterThan(0);
  });

  it('003 Truncation notice: system prompt, task, notice, then a question with its own answer', () => {
    const run = talk(60);
    for (const maxHistoryTokens of range(5, 20).map((n) => 100 * n)) {
      const { messages, omitted: left } = render(run, { maxHistoryTokens });
      expect(messages.slice(0, 3)).toEqual([run[0], run[1], system(omitted(left))]);
      const [question, own] = messages.slice(3, 5);
      expect(question?.content).toMatch(/^question \d+: /);
      expect(own?.content.split(':')[0]).toBe(question?.content.split(':')[0]?.replace('question', 'answer'));
    }
  });

  it('003 Truncation notice: the same where fit or dropOldestTurns leaves messages out', () => {
    const run = talk(60);
    const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1500 });
    expect(messages.slice(0, 3)).toEqual([run[0], run[1], system(omitted(droppedCount))]);
    expect(messages[3]?.content).toMatch(/^question \d+: /);
  });

  it('003 Truncation notice: there is none where nothing is omitted', () => {
    expect(contents(render(talk(3)).messages).join()).not.toContain('[conversation truncated');
    expect(render(talk(3))).not.toHaveProperty('notice');
  });

  it('003 Where: the same budget gives the same request for a list, a session in memory and a session on disk', async () => {
    const run = talk(60);
    const budget = { maxHistoryTokens: 1500, window: 128_000 };
    const alone = render(run, budget);
    expect(alone.omitted).toBeGreaterThan(0);
    const disk = await onDisk('site');
    for (const session of [memory(), disk]) {
      await session.add(...run);
      expect(await session.render(budget)).toEqual(alone);
    }
    await disk.close();
  });
});

describe('003 Layer 2, through fit', () => {
  it('003 Layer 2 a history larger than the window of its model is cut to fit it', () => {
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

  it('003 Layer 2 a history of exactly the budget is left alone, one token more is cut', () => {
    const run = talk(40);
    const size = sizeOf(run);
    const at = fitHistory(run, { format: chat, counter, maxTokens: size });
    expect(at.messages).toEqual(run);
    expect(at.plan.edits).toEqual([]);
    const below = fitHistory(run, { format: chat, counter, maxTokens: size - 1 });
    expect(below.plan.edits).not.toEqual([]);
    expect(below.report.tokens.after).toBeLessThanOrEqual(size - 1);
  });

  it('003 Layer 2 system prompt and tools beside the messages count towards the budget, each with its own size', () => {
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

  it('003 Layer 2 every message counts its framing, its ids, its tool name and its arguments beside its text', () => {
    const plain = sizeOf([user('Hello world')]);
    expect(plain).toBe(counter('Hello world') + 4);
    const [made] = toolTurn({ id: 'call_1', tool: 'bash', args: '{"command":"ls -la /tmp"}', output: '' });
    expect(sizeOf([made as ChatMessage])).toBeGreaterThan(4 + counter('{"command":"ls -la /tmp"}'));
  });

  it('003 Layer 2 the most recent messages are kept, the oldest go first', () => {
    const run = talk(60);
    const { messages } = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 1500 });
    const kept = messages.filter((message) => run.includes(message) && message !== run[0] && message !== run[1]);
    expect(kept.length).toBeGreaterThan(4);
    expect(kept).toEqual(run.slice(-kept.length));
  });

  it('003 Layer 2 a notice says how many messages were omitted, behind the system prompt, as a system message', () => {
    const run = talk(60);
    const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1500 });
    expect(droppedCount).toBeGreaterThan(0);
    expect(messages[0]).toBe(run[0]);
    expect(messages.slice(1)).toContainEqual({ role: 'system', content: omitted(droppedCount) });
    expect(messages).toHaveLength(run.length - droppedCount + 1);
    expect(sizeOf(messages)).toBeLessThanOrEqual(1500);
  });

  it('003 Layer 2 no notice is given where nothing was omitted', () => {
    const run = talk(3);
    expect(dropOldestTurns(run, { format: chat, counter, maxTokens: sizeOf(run) })).toEqual({
      messages: run,
      droppedCount: 0,
      hidden: [],
      tokens: { before: sizeOf(run), after: sizeOf(run) },
      withinBudget: true,
    });
  });

  it('003 Layer 2 maxTokens is respected where it is set, above or below the default of the model', () => {
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
});

describe('003 Layer 3: agentic loop budget', () => {
  it('003 Layer 3: the budget is max_input_tokens - max_output_tokens - 10 %, the window of the model where none is set', async () => {
    const budgetIn = async (options: Partial<Parameters<typeof runLoop>[0]>): Promise<number | undefined> => {
      const budgets: number[] = [];
      const onEvent = (event: AgentEvent): void => {
        if (event.type !== 'request') return;
        const { windowTokens, outputTokens, marginTokens } = event.report;
        budgets.push(windowTokens - outputTokens - marginTokens);
      };
      await runLoop({ iterations: 0, output: () => '', onEvent, ...options });
      return budgets[0];
    };
    expect(await budgetIn({ maxInputTokens: 150_000, maxOutputTokens: 8192 })).toBe(150_000 - 8192 - 15_000);
    const context = createMemorySession<ChatMessage>({ model: 'claude-sonnet-4-20250514' });
    expect(await budgetIn({ context })).toBe(200_000 - 4096 - 20_000);
  });

  it('003 Layer 3: system prompt and tools count towards the budget of the loop', async () => {
    const options = { maxInputTokens: 10_000, maxOutputTokens: 1000, system: prose(8000) };
    const context = memory({ contextLimit: 10_000 });
    const reports: Extract<AgentEvent, { type: 'request' }>['report'][] = [];
    const onEvent = (event: AgentEvent): void => {
      if (event.type === 'request') reports.push(event.report);
    };
    await runLoop({ iterations: 9, output: () => prose(4000), context, onEvent, ...options });
    expect(reports).toHaveLength(10);
    for (const { systemTokens, toolTokens, historyTokens, requestTokens } of reports) {
      expect([systemTokens >= 2000, toolTokens > 0]).toEqual([true, true]);
      expect(requestTokens).toBe(systemTokens + toolTokens + historyTokens.after);
      expect(requestTokens).toBeLessThanOrEqual(loopBudget(10_000, 1000));
    }
  });

  it('003 Graduated flow: 52,000 tokens are truncated to 8,000, middle results are masked, iterations go last', async () => {
    const output = (n: number): string => prose(208_000, `output ${n}: `);
    const policy = firstAndLast();
    const roomy = memory({ policy });
    const { requests } = await runLoop({ iterations: 9, output, context: roomy });
    const [first = ''] = results(requests[1] ?? []);
    expect(first.endsWith('[truncated: kept first ~8000 of ~52000 tokens (head)]')).toBe(true);
    expect(results(requests[9] ?? []).flatMap((text, i) => (text.startsWith('[result masked') ? [i + 1] : []))).toEqual(
      [3, 4],
    );
    expect(contents(requests[9] ?? []).join()).not.toContain('[conversation truncated');
    const narrow = memory({ policy, ...layer3(60_000) });
    const tight = await runLoop({
      iterations: 12,
      output,
      context: narrow,
      maxInputTokens: 60_000,
      autoRestart: false,
      count: sizeOf,
    });
    const last = tight.requests.at(-1) ?? [];
    expect(sizeOf(last)).toBeLessThanOrEqual(loopBudget(60_000, 4096));
    expect(results(last).at(-1)).toContain('output 12: ');
    expect(unpaired(last)).toEqual([]);
  });

  it('003 Message structure example: eight iterations with keep_first 2 and keep_last 3, line by line', async () => {
    const context = memory({ policy: firstAndLast({ keepFirst: 2, keepLast: 3 }) });
    const conversation = talk(3);
    await context.add(...conversation);
    const { requests } = await runLoop({ iterations: 8, output: (n) => prose(52_000, `output ${n}: `), context });
    const request = requests[8] ?? [];
    expect(request.slice(0, 8)).toEqual([...conversation, user('Do it all.')]);
    const shape = request.slice(8).map(({ role, content }) => {
      if (role === 'assistant') return 'call';
      return content.startsWith('[result masked — ~8000 tokens removed]') ? 'masked' : 'truncated';
    });
    expect(shape).toEqual(range(1, 8).flatMap((n) => ['call', n > 2 && n < 6 ? 'masked' : 'truncated']));
    for (const text of results(request).slice(-3)) expect(counter(text)).toBeLessThanOrEqual(8000);
  });
});

describe('003 3a: tool result truncation', () => {
  const long = `HEAD ${prose(208_000 - 10)} TAIL`;

  it('003 3a leaves a result of exactly maxTokens alone and cuts one that is a byte larger', () => {
    const text = prose(400);
    expect(truncateResult(text, { maxTokens: 100 })).toBe(text);
    expect(truncateResult(`${text}.`, { maxTokens: 100 })).not.toBe(`${text}.`);
  });

  it('003 3a caps at 8000 tokens from the head where nothing else is said', () => {
    const cut = truncateResult(long);
    expect(cut).toMatch(/^HEAD /);
    expect(cut.endsWith('\n\n[truncated: kept first ~8000 of ~52000 tokens (head)]')).toBe(true);
    expect(counter(cut)).toBeLessThanOrEqual(8000);
    expect(counter(cut)).toBeGreaterThan(7990);
  });

  it('003 3a head keeps the beginning and appends its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'head' });
    const [kept = '', indicator] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept first ~100 of ~52000 tokens (head)]');
    expect(long.startsWith(kept)).toBe(true);
    expect(kept).toMatch(/^HEAD /);
  });

  it('003 3a tail keeps the end and prepends its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'tail' });
    const [indicator, kept = ''] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept last ~100 of ~52000 tokens (tail)]');
    expect(long.endsWith(kept)).toBe(true);
    expect(kept).toMatch(/ TAIL$/);
  });

  it('003 3a both keeps beginning and end in equal parts around its indicator', () => {
    const cut = truncateResult(long, { maxTokens: 100, strategy: 'both' });
    const [head = '', indicator, tail = ''] = cut.split('\n\n');
    expect(indicator).toBe('[truncated: kept first+last ~100 of ~52000 tokens (both)]');
    expect([long.startsWith(head), long.endsWith(tail)]).toEqual([true, true]);
    expect(Math.abs(head.length - tail.length)).toBeLessThanOrEqual(1);
    expect(head.length).toBeGreaterThan(100);
  });

  it('003 3a the indicator counts towards the cap, for every strategy, cap and counter', () => {
    for (const strategy of ['head', 'tail', 'both'] as const)
      for (const maxTokens of [1, 5, 10, 14, 15, 16, 20, 50, 1000])
        for (const count of [estimateTokens, countTokens]) {
          const cut = truncateResult(long, { maxTokens, strategy, counter: count });
          expect(count(cut)).toBeLessThanOrEqual(maxTokens);
          expect(cut).not.toBe('');
        }
  });

  it('003 3a no strategy splits a character', () => {
    const emoji = '🎉'.repeat(500);
    for (const strategy of ['head', 'tail', 'both'] as const)
      for (const maxTokens of range(30, 60)) {
        const cut = truncateResult(`x${emoji}`, { maxTokens, strategy });
        expect([strategy, maxTokens, isWhole(cut)]).toEqual([strategy, maxTokens, true]);
      }
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    '003 3a maxTokens of %d is refused with BAD_OPTION',
    (maxTokens) => {
      expect(codeOf(() => truncateResult('text', { maxTokens }))).toBe('BAD_OPTION');
    },
  );

  it('003 3a an unknown strategy is refused with BAD_OPTION', () => {
    expect(codeOf(() => truncateResult('text', { strategy: 'middle' as 'head' }))).toBe('BAD_OPTION');
  });
});

describe('003 3b: observation masking', () => {
  const fitted = (run: readonly ChatMessage[], options = {}) =>
    fitHistory(run, { format: chat, counter, policy: firstAndLast(options) });

  it('003 3b eight iterations with keepFirst 2 and keepLast 3 mask exactly results 3, 4 and 5', () => {
    const run = history(8, 1000);
    const { messages, report } = fitted(run, { keepFirst: 2, keepLast: 3 });
    expect(changedTurns(run, messages)).toEqual([3, 4, 5]);
    expect(report.maskedCount).toBe(3);
  });

  it('003 3b keeps the first 2 and the last 5 where nothing else is said', () => {
    const run = history(12);
    expect(changedTurns(run, fitted(run).messages)).toEqual([3, 4, 5, 6, 7]);
  });

  it('003 3b a masked result says how many tokens it hid', () => {
    const { messages } = fitted(history(8, 1000), { keepFirst: 2, keepLast: 3 });
    expect(results(messages).slice(2, 5)).toEqual(range(3, 5).map(() => '[result masked — ~250 tokens removed]'));
  });

  it('003 3b for all small windows exactly the results between first and last are masked', () => {
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

  it('003 3b masks nothing where there are at most keepFirst + keepLast results', () => {
    const run = history(7);
    const { messages, report } = fitted(run, { keepFirst: 2, keepLast: 5 });
    expect(messages).toEqual(run);
    expect(report.decision.act).toBe('wait');
  });

  it('003 3b both 0 disables masking and says so', () => {
    const run = history(20);
    const { messages, report } = fitted(run, { keepFirst: 0, keepLast: 0 });
    expect(messages).toEqual(run);
    expect(report.decision.act).toBe('off');
  });

  it('003 3b counts results, not iterations: parallel results have their own places', () => {
    const run: ChatMessage[] = [
      user('Go.'),
      parallelCalls('a', 'b', 'c'),
      ...['a', 'b', 'c'].map((id) => answer(id, prose(400, id))),
    ];
    const { messages } = fitted(run, { keepFirst: 1, keepLast: 1 });
    expect(changedTurns(run, messages)).toEqual([2]);
  });

  it('003 3b a masked result keeps its call with the arguments, and its own id', () => {
    const run = deepFreeze([
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
    '003 3b %o is refused with BAD_OPTION',
    (options) => {
      expect(codeOf(() => firstAndLast(options))).toBe('BAD_OPTION');
    },
  );
});

describe('003 3c: iteration group dropping', () => {
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

  it('003 3c drops whole iterations, oldest first, and only as many as needed', () => {
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

  it('003 3c never drops the most recent iteration, however small the budget', () => {
    const run = [user('do something'), ...loop(5)];
    const { messages, droppedCount } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1 });
    expect(droppedCount).toBe(8);
    expect(messages.slice(-2)).toEqual(run.slice(-2));
  });

  it('003 3c preserves the conversation before the loop', () => {
    const run = [...conversation, ...loop(6)];
    const { messages } = dropOldestTurns(run, { format: chat, counter, maxTokens: 1200 });
    expect(messages.length).toBeLessThan(run.length);
    expect(contents(messages).filter((text) => !text.startsWith('[conversation truncated'))).toEqual([
      ...contents(conversation),
      ...contents(run.slice(-(messages.length - conversation.length - 1))),
    ]);
  });

  it('003 3c never breaks a pair, parallel calls included', () => {
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

  it('003 3c comes last: fit masks before it drops, and drops nothing where masking is enough', () => {
    const run = [system('You are helpful.'), user('do something'), ...loop(30)];
    const masking = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: sizeOf(run) - 1 });
    expect(masking.report).toMatchObject({ reductionStage: 'masking', edits: { drop: 0, insert: 0 } });
    expect(masking.messages).toHaveLength(run.length);
    const dropping = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 1000 });
    expect(dropping.report.edits.drop).toBeGreaterThan(0);
    expect(dropping.report.tokens.after).toBeLessThanOrEqual(1000);
  });

  it('003 3c cuts down to 80 % of the budget, so that the next turn does not cut again', () => {
    const said = (turn: number): ChatMessage[] =>
      toolTurn({ id: `c${turn}`, text: prose(2000, `step ${turn} `), output: 'ok' });
    const options = { format: chat, counter, policy: never(), maxTokens: 3000 };
    const run: ChatMessage[] = [system('You are helpful.'), user('do something')];
    let cuts = 0;
    for (const turn of range(1, 30)) {
      run.push(...said(turn));
      const { report, messages } = fitHistory(run, options);
      if (report.decision.act !== 'over-limit') continue;
      cuts += 1;
      expect(report.edits.drop).toBeGreaterThan(0);
      expect(report.tokens.after).toBeLessThanOrEqual(2400);
      const next = fitHistory([...run, ...said(turn + 1)], options);
      expect(next.messages).toEqual([...messages, ...said(turn + 1)]);
    }
    expect(cuts).toBeGreaterThan(5);
  });

  it('003 3c an agent with 300 iterations never exceeds the window, and every request it sends is legal', () => {
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

describe('003 Configuration', () => {
  const yaml = `
session:
  on_disconnect: pause
  max_tool_iterations: 25
  context:
    max_history_tokens: 20000       # Layer 2: cap history tokens to reserve budget for tool work (0 = no cap)
    max_tool_result_tokens: 8000    # Layer 3a: per-result token cap
    tool_result_truncation: head    # Layer 3a: head, tail, or both
    tool_result_keep_first: 2       # Layer 3b: first N tool results kept visible
    tool_result_keep_last: 5        # Layer 3b: last M tool results kept visible
`;

  it('003 Configuration: the YAML of the document is read field by field', () => {
    const { config, problems } = readConfig(yaml);
    expect(problems).toEqual([]);
    expect(agentOptionsOf(config)).toEqual({ onDisconnect: 'pause', maxToolIterations: 25, maxHistoryTokens: 20_000 });
    expect(sessionOptionsOf(config)).toMatchObject({ maxToolResultTokens: 8000, toolResultTruncation: 'head' });
    const run = history(12);
    const policy = policyOf(config) ?? never();
    expect(changedTurns(run, fitHistory(run, { format: chat, policy }).messages)).toEqual([3, 4, 5, 6, 7]);
  });

  it('003 Configuration: max_history_tokens caps what a session renders, and the first request of a run in it', async () => {
    const { config } = readConfig('session: { context: { max_history_tokens: 1500 } }');
    const context = createMemorySession<ChatMessage>(sessionOptionsOf(config));
    await context.add(...talk(60));
    const { report } = await context.render();
    expect([report.historyBudgetTokens, context.manager.limit.historyTokens]).toEqual([1500, 1500]);
    expect(report.historyTokens.after).toBeLessThanOrEqual(1500);
    const caps: number[] = [];
    const onEvent = (event: AgentEvent): void => {
      if (event.type === 'request') caps.push(event.report.historyBudgetTokens);
    };
    await runLoop({ iterations: 1, output: () => 'ok', context, onEvent });
    await runLoop({ iterations: 0, output: () => 'ok', context, maxHistoryTokens: 900, onEvent });
    expect(caps).toEqual([1500, expect.any(Number), 900]);
    expect(caps[1]).toBeGreaterThan(100_000);
    expect((await context.render({ maxHistoryTokens: 700 })).report.historyBudgetTokens).toBe(700);
  });

  it('003 Configuration: palimpsest config check accepts it', async () => {
    const { code, stdout } = await palimpsest(['config', 'check', 'agent.yaml'], { readFile: async () => yaml });
    expect([code, stdout]).toEqual([0, 'agent.yaml: nothing is wrong\n']);
  });

  it.each([
    ['max_history_tokens', -1],
    ['max_tool_result_tokens', 0],
    ['tool_result_truncation', 'middle'],
    ['tool_result_keep_first', -1],
    ['tool_result_keep_last', 1.5],
  ])('003 Configuration: %s: %s is refused by its name and its line', async (field, value) => {
    const text = `session:\n  context:\n    ${field}: ${value}\n`;
    const { code, stdout } = await palimpsest(['config', 'check', 'agent.yaml'], { readFile: async () => text });
    expect(code).toBe(1);
    expect(stdout).toContain(`line 3: session.context.${field}: `);
  });

  it('003 Configuration: max_output_tokens above max_input_tokens is refused', async () => {
    const text = 'model:\n  max_input_tokens: 4000\n  max_output_tokens: 8192\n';
    const { code, stdout } = await palimpsest(['config', 'check', 'agent.yaml'], { readFile: async () => text });
    expect(code).toBe(1);
    expect(stdout).toContain('model.max_output_tokens');
  });

  it('003 Configuration, defaults: the schema does not say that 2 and 5 are kept where no policy is named', () => {
    const schema = JSON.parse(readFileSync(new URL('../../palimpsest.schema.json', import.meta.url), 'utf8'));
    const { tool_result_keep_first: first, tool_result_keep_last: last } =
      schema.properties.session.properties.context.properties;
    expect([first, last].map((field) => Object.hasOwn(field, 'default'))).toEqual([false, false]);
  });

  it('003 Configuration, defaults: 20,000 of history, 8,000 per result from the head', async () => {
    expect(render([user('hi')]).report.historyBudgetTokens).toBe(20_000);
    const context = createMemorySession<ChatMessage>({ counter });
    await context.add(user('go'), ...toolTurn({ id: 'a', output: prose(80_000) }));
    expect(results(context.view())[0]).toMatch(/\[truncated: kept first ~8000 of ~20000 tokens \(head\)\]$/);
  });

  it('003 Configuration, defaults: firstAndLast keeps 2 and 5', () => {
    const run = history(8);
    expect(changedTurns(run, fitHistory(run, { format: chat, policy: firstAndLast() }).messages)).toEqual([3]);
  });
});

describe('003 Acceptance, conversation level', () => {
  it("003 Acceptance, conversation 1: messages are truncated to fit within the model's context window before each call", () => {
    const { report } = render(talk(1000, 2000), { model: 'gpt-4o', maxHistoryTokens: 0 });
    expect(report.historyTokens.before).toBeGreaterThan(defaultContextWindow('gpt-4o'));
    expect(report.requestTokens + report.outputTokens + report.marginTokens).toBeLessThanOrEqual(128_000);
  });

  it('003 Acceptance, conversation 2: system prompt, tools and output reserve are accounted for in the budget', () => {
    const tools = [{ name: 'bash', description: prose(2000) }];
    const { report } = render(talk(400), { window: 20_000, system: prose(4000), tools, maxHistoryTokens: 0 });
    const { systemTokens, toolTokens, outputTokens, marginTokens, historyTokens, requestTokens } = report;
    expect(requestTokens).toBe(systemTokens + toolTokens + historyTokens.after);
    expect(requestTokens + outputTokens + marginTokens).toBeLessThanOrEqual(20_000);
    expect([systemTokens >= 1000, toolTokens >= 500, outputTokens]).toEqual([true, true, 4096]);
  });

  it('003 Acceptance, conversation 3: the most recent messages are preserved, at every budget', () => {
    const run = talk(60);
    for (const maxHistoryTokens of range(3, 30).map((n) => 100 * n))
      expect(render(run, { maxHistoryTokens }).messages.slice(-2)).toEqual(run.slice(-2));
  });

  it('003 Acceptance, conversation 4: the notice counts exactly the messages that are missing', () => {
    const run = talk(60);
    for (const maxHistoryTokens of range(5, 30).map((n) => 100 * n)) {
      const { messages, omitted: left, notice } = render(run, { maxHistoryTokens });
      expect(notice).toBe(omitted(left));
      expect(messages).toHaveLength(run.length - left + 1);
    }
  });

  it('003 Acceptance, conversation 5: it works for a chat, for a run of an agent and for a session taken up again', async () => {
    const run = talk(200);
    const after = ({ messages }: Rendered<ChatMessage>): number => sizeOf(messages);
    expect(after(render(run))).toBeLessThanOrEqual(20_010);
    const context = memory();
    await context.add(...run);
    const { requests } = await runLoop({ iterations: 1, output: () => 'ok', context, maxHistoryTokens: 5000 });
    expect(sizeOf(requests[0] ?? [])).toBeLessThanOrEqual(5100);
    const first = await onDisk('again');
    await first.add(...run);
    const { directory } = first;
    await first.close();
    const again = await openSession<ChatMessage>({ directory: join(directory, '..'), id: 'again', counter });
    expect(after(await again.render({ maxHistoryTokens: 5000 }))).toBeLessThanOrEqual(5010);
    await again.close();
  });

  it('003 Acceptance, conversation 6: max_input_tokens is respected when set, else the default of the model', () => {
    const window = (options: RenderOptions<ChatMessage>): number => render([user('hi')], options).report.windowTokens;
    expect(window({ model: 'claude-sonnet-4-20250514', window: 150_000 })).toBe(150_000);
    expect(window({ model: 'claude-sonnet-4-20250514' })).toBe(200_000);
    expect(window({ model: 'gpt-5' })).toBe(400_000);
    expect(window({})).toBe(128_000);
  });

  it('003 Acceptance, conversation 7: memory is bounded after every message that is added', () => {
    const limit = actorMessageLimit(20_000);
    let kept: ChatMessage[] = [system('You are helpful.'), user('Keep at it.')];
    for (const n of range(1, 500)) {
      kept.push(...toolTurn({ id: `c${n}`, output: 'ok' }));
      kept = trimMessages(kept, { maxMessages: limit, format: chat }).messages;
      expect(kept.length).toBeLessThanOrEqual(limit);
    }
    expect(contents(kept)).toContain('Keep at it.');
    expect(unpaired(kept)).toEqual([]);
  });

  it('003 Acceptance, conversation 8: the full history is in events.jsonl, though memory and requests have less', async () => {
    const session = await onDisk('audit', { maxInputTokens: 8000 });
    const run = [...talk(300), ...toolTurn({ id: 'a', output: prose(208_000) })];
    await session.add(...run);
    await session.render({ window: 8000 });
    expect(session.messages().length).toBeLessThan(run.length);
    await session.close();
    const directory = join(session.directory, '..');
    const logged: ChatMessage[] = [];
    for await (const event of readSessionEvents<ChatMessage>({ directory, id: 'audit' }))
      if (event.type === 'message') logged.push(event.message);
    expect(logged).toEqual(run);
  });
});

describe('003 Acceptance, agentic loop', () => {
  const huge = `HEAD ${prose(208_000 - 10)} TAIL`;
  const sent = async (options: MemorySessionOptions<ChatMessage>): Promise<string> => {
    const { requests } = await runLoop({ iterations: 1, output: () => huge, context: memory(options) });
    return results(requests[1] ?? [])[0] ?? '';
  };

  it('003 Acceptance, loop 1: each tool result is truncated to max_tool_result_tokens', async () => {
    expect(counter(await sent({}))).toBeLessThanOrEqual(8000);
    expect(counter(await sent({ maxToolResultTokens: 100 }))).toBeLessThanOrEqual(100);
  });

  it.each(['head', 'tail', 'both'] as const)('003 Acceptance, loop 2: the strategy %s works', async (strategy) => {
    const text = await sent({ toolResultTruncation: strategy });
    expect(text).toBe(truncateResult(huge, { strategy, counter }));
    expect([text.includes('HEAD'), text.includes('TAIL')]).toEqual([strategy !== 'tail', strategy !== 'head']);
  });

  it('003 Acceptance, loop 3: the indicator has original and truncated size, and the strategy', async () => {
    expect(await sent({})).toContain('[truncated: kept first ~8000 of ~52000 tokens (head)]');
    expect(await sent({ toolResultTruncation: 'tail' })).toContain(
      '[truncated: kept last ~8000 of ~52000 tokens (tail)]',
    );
    expect(await sent({ toolResultTruncation: 'both' })).toContain(
      '[truncated: kept first+last ~8000 of ~52000 tokens (both)]',
    );
  });

  it('003 Acceptance, loop 4: max_tool_result_tokens must be > 0, in code and in a file', () => {
    expect(codeOf(() => createMemorySession({ maxToolResultTokens: 0 }))).toBe('BAD_OPTION');
    const { problems } = readConfig('session: { context: { max_tool_result_tokens: 0 } }');
    expect(problems.map(({ field }) => field)).toEqual(['session.context.max_tool_result_tokens']);
  });

  /** Which results of the last request of so many iterations are masked. */
  const maskedIn = async (iterations: number, options: { keepFirst: number; keepLast: number }): Promise<number[]> => {
    const context = memory({ policy: firstAndLast(options) });
    const { requests } = await runLoop({ iterations, output: () => prose(1000), context });
    return results(requests.at(-1) ?? []).flatMap((text, i) => (text.startsWith('[result masked') ? [i + 1] : []));
  };

  it('003 Acceptance, loop 5: tool results outside the first and last window are masked', async () => {
    expect(await maskedIn(8, { keepFirst: 2, keepLast: 3 })).toEqual([3, 4, 5]);
  });

  it('003 Acceptance, loop 6: keep_first and keep_last control the visible windows', async () => {
    expect(await maskedIn(6, { keepFirst: 1, keepLast: 1 })).toEqual([2, 3, 4, 5]);
    expect(await maskedIn(6, { keepFirst: 0, keepLast: 2 })).toEqual([1, 2, 3, 4]);
    expect(await maskedIn(6, { keepFirst: 3, keepLast: 0 })).toEqual([4, 5, 6]);
  });

  it('003 Acceptance, loop 7: at most keep_first + keep_last results mask nothing, both 0 disable masking', async () => {
    expect(await maskedIn(7, { keepFirst: 2, keepLast: 5 })).toEqual([]);
    expect(await maskedIn(20, { keepFirst: 0, keepLast: 0 })).toEqual([]);
  });

  it('003 Acceptance, loop 8: a masked result keeps its call with the arguments, only its content is replaced', async () => {
    const context = memory({ policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) });
    const { requests } = await runLoop({ iterations: 3, output: () => prose(800), context });
    const [call, result] = (requests[3] ?? []).slice(3, 5);
    expect(call?.toolCalls).toEqual([{ id: 'c2', name: 'bash', arguments: '{"step":2}' }]);
    expect(result).toEqual({ ...context.messages()[4], content: '[result masked — ~200 tokens removed]' });
  });

  it('003 Acceptance, loop 9: the oldest iteration groups are dropped as a last resort, never the newest, no pair broken', async () => {
    const options = { maxInputTokens: 4000, maxOutputTokens: 500, maxHistoryTokens: 0, autoRestart: false };
    const context = memory({ policy: firstAndLast(), ...layer3(4000) });
    const text = (n: number): string => prose(300, `step ${n} `);
    const { requests } = await runLoop({
      iterations: 60,
      output: () => 'ok',
      text,
      context,
      count: sizeOf,
      ...options,
    });
    for (const [i, request] of requests.entries()) {
      expect(sizeOf(request)).toBeLessThanOrEqual(loopBudget(options.maxInputTokens, options.maxOutputTokens));
      expect(unpaired(request)).toEqual([]);
      if (i > 0) expect(request.filter(({ role }) => role === 'assistant').at(-1)?.content).toBe(text(i));
    }
    expect(contents(requests.at(-1) ?? []).join()).toMatch(/\[conversation truncated — \d+ older messages omitted\]/);
  });

  it('003 Acceptance, loop 9: the conversation before the loop is always preserved, the oldest iterations go', async () => {
    const options = { maxInputTokens: 4000, maxOutputTokens: 500, maxHistoryTokens: 0, autoRestart: false };
    const context = memory({ policy: firstAndLast(), ...layer3(4000) });
    const conversation = [...talk(4), user('Deploy only on Fridays.'), reply('I will.')];
    await context.add(...conversation);
    const text = (n: number): string => prose(300, `step ${n} `);
    const { requests } = await runLoop({
      iterations: 60,
      output: () => 'ok',
      text,
      context,
      count: sizeOf,
      ...options,
    });
    const last = requests.at(-1) ?? [];
    for (const request of requests) expect(contents(request)).toEqual(expect.arrayContaining(contents(conversation)));
    expect(contents(last)).not.toContain(text(1));
    expect(contents(last)).toContain(text(60));
    expect(unpaired(last)).toEqual([]);
  });

  it('003 Acceptance, loop 9: the conversation gives way only to the newest iteration, and the task never does', async () => {
    const options = { maxInputTokens: 4000, maxOutputTokens: 500, maxHistoryTokens: 0, autoRestart: false };
    const context = memory({ policy: firstAndLast(), ...layer3(4000) });
    const conversation = talk(10, 400);
    await context.add(...conversation);
    const text = (n: number): string => prose(7000, `step ${n} `);
    const { requests } = await runLoop({ iterations: 3, output: () => 'ok', text, context, count: sizeOf, ...options });
    for (const [i, request] of requests.entries()) {
      expect(contents(request)).toEqual(expect.arrayContaining(contents(conversation.slice(0, 2))));
      expect(contents(request)).toContain('Do it all.');
      expect(sizeOf(request)).toBeLessThanOrEqual(loopBudget(4000, 500));
      expect(contents(request).join().includes('[conversation truncated')).toBe(i > 0);
      if (i > 0) expect(request.filter(({ role }) => role === 'assistant').at(-1)?.content).toBe(text(i));
    }
  });

  it('003 Acceptance, loop 10: an agent with 200 iterations never exceeds its budget and every request is legal', async () => {
    const options = { maxInputTokens: 32_000, maxOutputTokens: 2000 };
    const context = memory({ policy: firstAndLast(), contextLimit: 32_000, maxRestarts: 200 });
    const output = (n: number): string => prose(n % 2 === 0 ? 40_000 : 90 * n);
    const { requests, result } = await runLoop({ iterations: 200, output, context, ...options });
    expect(result).toMatchObject({ status: 'complete', text: 'Done.' });
    for (const request of requests) {
      expect(sizeOf(request)).toBeLessThanOrEqual(loopBudget(options.maxInputTokens, options.maxOutputTokens));
      expect(chat.check(request)).toEqual([]);
    }
  });
});

describe('003 Acceptance, configuration', () => {
  it('003 Acceptance, configuration 1: the entire block is optional', () => {
    const { config, problems } = readConfig('session: {}');
    expect(problems).toEqual([]);
    expect({ ...sessionOptionsOf(config), ...agentOptionsOf(config) }).toEqual({});
  });

  it('003 Acceptance, configuration 2: the window in memory is derived from max_input_tokens', async () => {
    const { config } = readConfig('model: { max_input_tokens: 20000 }');
    const context = createMemorySession<ChatMessage>({ ...sessionOptionsOf(config), policy: never() });
    for (const n of range(1, 300)) await context.add(user(`question ${n}`), reply(`answer ${n}`));
    expect(context.messages().length).toBeLessThanOrEqual(200);
    expect(context.messages().length).toBeGreaterThan(150);
  });

  it('003 Acceptance, configuration 3: max_history_tokens caps the history, 20000 by default, 0 for no cap', () => {
    const after = (options: RenderOptions<ChatMessage>): number =>
      render(talk(1000, 400), { model: 'claude', ...options }).report.historyTokens.after;
    expect(after({})).toBeLessThanOrEqual(20_000);
    expect(after({ maxHistoryTokens: 5000 })).toBeLessThanOrEqual(5000);
    expect(after({ maxHistoryTokens: 0 })).toBeGreaterThan(125_000);
  });

  it('003 Acceptance, configuration 4: tool_result_keep_first and _last control masking, both 0 disable it', () => {
    const run = history(12);
    const masks = (context: string): number[] => {
      const policy = policyOf(readConfig(`session: { context: { ${context} } }`).config) ?? never();
      return changedTurns(run, fitHistory(run, { format: chat, policy }).messages);
    };
    expect(masks('tool_result_keep_first: 4, tool_result_keep_last: 4')).toEqual([5, 6, 7, 8]);
    expect(masks('tool_result_keep_first: 0, tool_result_keep_last: 0')).toEqual([]);
  });

  it('003 Acceptance, configuration 5: the schema documents every field of the context block', () => {
    const schema = JSON.parse(readFileSync(new URL('../../palimpsest.schema.json', import.meta.url), 'utf8'));
    const fields = schema.properties.session.properties.context.properties;
    for (const name of [
      'max_history_tokens',
      'max_tool_result_tokens',
      'tool_result_truncation',
      'tool_result_keep_first',
      'tool_result_keep_last',
    ])
      expect([name, typeof fields[name]?.description]).toEqual([name, 'string']);
  });
});

describe('003 Out of scope there, in scope here', () => {
  it('003 Out of scope 1: dropped messages can be summarised', () => {
    const run = history(40, 40).map((message, i) =>
      message.role === 'assistant' ? { ...message, content: prose(300, `step ${i} `) } : message,
    );
    const { messages } = fitHistory(run, { format: chat, counter, policy: never(), maxTokens: 2000 });
    expect(contents(messages).some((text) => text.startsWith('Conversation summary'))).toBe(true);
  });

  it('003 Out of scope 5: truncated content is read again, by its head or by a pattern', async () => {
    const store = createMemoryStore();
    const log = range(1, 20_000)
      .map((n) => `line ${n}: ${n === 15_000 ? 'the error' : 'fine'}`)
      .join('\n');
    const session = await onDisk('peek', { store });
    await session.add(user('go'), ...toolTurn({ id: 'a', output: log }));
    const { messages } = await session.render();
    const [handle = ''] = /p_[a-z2-7]{26}/.exec(results(messages)[0] ?? '') ?? [];
    expect((await recall(store, handle, { head: 1 })).text).toBe('line 1: fine\n');
    expect((await recall(store, handle, { grep: 'error' })).text).toContain('line 15000: the error');
    expect((await recall(store, handle)).text).toBe(log);
    await session.close();
  });
});

describe('003 Technical notes', () => {
  it('003 Technical note 1: bytes / 4 is low on CJK text, the default counter is not', () => {
    const text = '漢'.repeat(300);
    expect(countTokens(text)).toBeGreaterThan(estimateTokens(text));
  });

  it('003 Technical note 2: tool definitions count', () => {
    const tools = [{ name: 'bash', description: prose(4000), parameters: { type: 'object' } }];
    expect(render([user('hi')], { tools }).report.toolTokens).toBe(counter(JSON.stringify(tools)));
  });

  it('003 Technical note 3: what a compaction takes out of the log is in the archive, and read with it', async () => {
    const session = await onDisk('archive');
    await session.add(user('before'), reply('the reset'));
    await session.reset();
    await session.add(user('after'));
    await session.compact();
    const logged: string[] = [];
    for await (const event of session.events()) if (event.type === 'message') logged.push(event.message.content);
    expect(logged).toEqual(['before', 'the reset', 'after']);
    await session.close();
  });
});
