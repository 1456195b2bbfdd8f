// The document "Context Window Management", as far as it is not about disk: its acceptance criteria by their own words,
// the tests of the original, and what was wrong with it.
import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  createPlanner,
  defaultContextWindow,
  estimateTokens,
  firstAndLast,
  fit,
  never,
  truncateResult,
} from '../../src/index.ts';
import {
  actorMessageLimit,
  ContextManager,
  createMemorySession,
  loopBudget,
  loopPolicy,
  openSession,
  type Rendered,
  type RenderOptions,
  renderWithBudget,
  trimMessages,
} from '../../src/manager/index.ts';
import { addUsage } from '../../src/manager/usage.ts';
import {
  answer,
  changedTurns,
  codeOf,
  contents,
  history,
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
} from '../seeds/support.ts';
import { scratchFolder } from '../support/modules.ts';

const counter = estimateTokens;
const render = (messages: readonly ChatMessage[], options: RenderOptions<ChatMessage> = {}): Rendered<ChatMessage> =>
  renderWithBudget(messages, { format: chat, counter, ...options });

/** The loop of an agent: what each request holds, as the messages grow. */
function loop(policy: Parameters<typeof loopPolicy>[0], options: Parameters<typeof loopPolicy>[1], maxTokens: number) {
  const made = loopPolicy(policy, { maxTokens, ...options });
  return (messages: readonly ChatMessage[]) => fit(messages, { format: chat, counter, policy: made, maxTokens });
}

describe('acceptance, conversation level', () => {
  it("Messages are truncated to fit within the model's context window before each LLM call", () => {
    const run = talk(1000, 2000);
    const { report } = render(run, { model: 'gpt-4o', maxHistoryTokens: 0 });
    expect(report.historyTokens.before).toBeGreaterThan(defaultContextWindow('gpt-4o'));
    expect(report.requestTokens + report.outputTokens + report.marginTokens).toBeLessThanOrEqual(128_000);
  });

  it('System prompt, tools, and output token reserve are accounted for in the budget', () => {
    const available = (options: RenderOptions<ChatMessage>): number =>
      render([user('hi')], { window: 50_000, maxOutputTokens: 0, ...options }).report.availableTokens;
    const tools = [{ name: 'bash', description: prose(2000) }];
    expect(available({})).toBe(45_000);
    expect(available({ system: prose(4000) })).toBe(44_000);
    expect(available({ directives: prose(4000) })).toBe(44_000);
    expect(available({ tools })).toBe(45_000 - counter(JSON.stringify(tools)));
    expect(available({ maxOutputTokens: 8192 })).toBe(45_000 - 8192);
  });

  it('Most recent messages preserved (oldest dropped first)', () => {
    const run = talk(60);
    const rendered = render(run, { maxHistoryTokens: 1500 });
    expect(rendered.omitted).toBeGreaterThan(0);
    expect(rendered.messages.slice(3)).toEqual(run.slice(2 + rendered.omitted));
  });

  it('Truncation notice injected when messages are omitted', () => {
    const rendered = render(talk(60), { maxHistoryTokens: 1500 });
    expect(rendered.messages[1]).toEqual(system(omitted(rendered.omitted)));
    expect(contents(render(talk(3)).messages).join()).not.toContain('[conversation truncated');
  });

  it('Works for all three call sites: a list of messages, a session in memory, a session on disk', async () => {
    const run = talk(60);
    const inMemory = createMemorySession<ChatMessage>({ counter, policy: never() });
    const directory = scratchFolder('seed-003');
    const onDisk = await openSession<ChatMessage>({ directory, id: 'site', counter, policy: never() });
    const budget = { maxHistoryTokens: 1500 };
    const alone = render(run, budget);
    expect(alone.omitted).toBeGreaterThan(0);
    for (const session of [inMemory, onDisk]) {
      await session.add(...run);
      expect(await session.render(budget)).toEqual(alone);
    }
    await onDisk.close();
  });

  it('`max_input_tokens` respected when set; sensible defaults per model name when not', () => {
    const window = (options: RenderOptions<ChatMessage>): number => render([user('hi')], options).report.windowTokens;
    expect(window({ model: 'claude-sonnet-4-20250514', window: 150_000 })).toBe(150_000);
    expect(window({ model: 'claude-sonnet-4-20250514' })).toBe(200_000);
    expect(window({ model: 'gpt-5' })).toBe(400_000);
  });

  it('Actor memory bounded by derived limit', () => {
    const limit = actorMessageLimit(20_000);
    let memory: ChatMessage[] = [system('You are helpful.'), user('Keep at it.')];
    for (const n of range(1, 500)) {
      memory.push(...toolTurn({ id: `c${n}`, output: 'ok' }));
      memory = trimMessages(memory, { maxMessages: limit, format: chat }).messages;
      expect(memory.length).toBeLessThanOrEqual(limit);
    }
    expect(limit).toBe(200);
    expect(contents(memory)).toContain('Keep at it.');
    expect(unpaired(memory)).toEqual([]);
  });
});

describe('acceptance, agentic loop', () => {
  const huge = `HEAD ${prose(208_000 - 10)} TAIL`;
  const one = (output: string): ChatMessage[] => [user('go'), ...toolTurn({ id: 'a', output })];

  it('Individual tool results truncated to `max_tool_result_tokens` (3a)', () => {
    const send = loop(never(), { maxToolResultTokens: 8000 }, 100_000);
    expect(counter(results(send(one(huge)).messages)[0] ?? '')).toBeLessThanOrEqual(8000);
  });

  it.each(['head', 'tail', 'both'] as const)('All three truncation strategies work: %s', (toolResultTruncation) => {
    const send = loop(never(), { toolResultTruncation }, 100_000);
    const [text = ''] = results(send(one(huge)).messages);
    expect(text).toBe(truncateResult(huge, { strategy: toolResultTruncation, counter }));
    expect([text.includes('HEAD'), text.includes('TAIL')]).toEqual([
      toolResultTruncation !== 'tail',
      toolResultTruncation !== 'head',
    ]);
  });

  it('Truncated results include indicator with original vs truncated size and strategy', () => {
    const send = loop(never(), {}, 100_000);
    expect(results(send(one(huge)).messages)[0]).toContain('[truncated: kept first ~8000 of ~52000 tokens (head)]');
  });

  it('`max_tool_result_tokens` must be > 0', () => {
    expect(codeOf(() => loopPolicy(never(), { maxToolResultTokens: 0 }))).toBe('BAD_OPTION');
  });

  it('Tool results outside first/last window are masked (3b), and keep_first and keep_last control visible windows', () => {
    const run = history(8, 1000);
    const send = loop(firstAndLast({ keepFirst: 2, keepLast: 3 }), {}, 100_000);
    expect(changedTurns(run, send(run).messages)).toEqual([3, 4, 5]);
  });

  it('Results <= keep_first + keep_last means nothing gets masked; both 0 disables masking', () => {
    const run = history(7, 1000);
    expect(loop(firstAndLast({ keepFirst: 2, keepLast: 5 }), {}, 100_000)(run).messages).toEqual(run);
    expect(loop(firstAndLast({ keepFirst: 0, keepLast: 0 }), {}, 100_000)(run).messages).toEqual(run);
  });

  it('Masked results preserve tool call (arguments visible), replace content', () => {
    const run = [
      user('go'),
      ...range(1, 3).flatMap((n) => toolTurn({ id: `c${n}`, args: `{"n":${n}}`, output: prose(800) })),
    ];
    const { messages } = loop(firstAndLast({ keepFirst: 1, keepLast: 1 }), {}, 100_000)(run);
    expect(messages[3]).toBe(run[3]);
    expect(messages[4]).toEqual({ ...run[4], content: '[result masked — ~200 tokens removed]' });
  });

  it('Oldest iteration groups dropped as last resort (3c); conversation history always preserved', () => {
    const conversation = [...talk(5), user('Now do something.')];
    const steps = range(1, 40).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(300), output: 'ok' }));
    const send = loop(firstAndLast(), { conversationMessages: conversation.length }, 2500);
    const { messages, report } = send([...conversation, ...steps]);
    expect(report.edits.drop).toBeGreaterThan(0);
    expect(contents(messages)).toEqual(expect.arrayContaining(contents(conversation)));
    expect(messages.slice(-2)).toEqual(steps.slice(-2));
    expect(unpaired(messages)).toEqual([]);
  });

  it('Agent with many tool iterations no longer hits context limit errors mid-loop', () => {
    const maxInputTokens = 32_000;
    const budget = loopBudget({ maxInputTokens, maxOutputTokens: 2000 });
    const planner = createPlanner<ChatMessage>({
      format: chat,
      counter,
      policy: loopPolicy(firstAndLast(), { maxTokens: budget, conversationMessages: 2 }),
      maxTokens: budget,
    });
    planner.add(system('You are helpful.'), user('Do it all.'));
    for (const n of range(1, 200)) {
      planner.add(parallelCalls(`a${n}`, `b${n}`), answer(`a${n}`, prose(40_000)), answer(`b${n}`, prose(90 * n)));
      expect(planner.tokens).toBeLessThanOrEqual(budget);
      expect(chat.check(planner.messages())).toEqual([]);
    }
    expect(planner.hidden.filter(({ why }) => why === 'clip')).not.toEqual([]);
  });
});

describe('acceptance, configuration', () => {
  it('All fields have working defaults (entire block is optional)', () => {
    expect(render([user('hi')]).report).toMatchObject({ historyBudgetTokens: 20_000, windowTokens: 128_000 });
    expect(loopPolicy(firstAndLast())).toMatchObject({ maxResultTokens: 8000, truncation: 'head' });
    const run = history(8, 800);
    expect(changedTurns(run, fit(run, { format: chat, policy: loopPolicy(firstAndLast()) }).messages)).toEqual([3]);
  });

  it('Actor-level window derived from `max_input_tokens` (not user-configurable)', () => {
    expect([undefined, 8000, 32_768, 150_000, 1_000_000].map(actorMessageLimit)).toEqual([1000, 100, 326, 1500, 2000]);
  });

  it('`max_history_tokens` caps history token budget (default `20000`, `0` = no cap)', () => {
    const after = (options: RenderOptions<ChatMessage>): number =>
      render(talk(1000, 400), { model: 'claude', ...options }).report.historyTokens.after;
    expect(after({})).toBeLessThanOrEqual(20_000);
    expect(after({ maxHistoryTokens: 5000 })).toBeLessThanOrEqual(5000);
    expect(after({ maxHistoryTokens: 0 })).toBeGreaterThan(125_000);
  });
});

describe('duragent: context/mod.rs', () => {
  it('context: empty_context_renders_none', () => {
    expect(render([])).toMatchObject({ messages: [], omitted: 0, cut: undefined });
  });

  it('context: single_block_renders, directives_appended, blocks_sorted_by_priority: blocks are the caller’s, and sized', () => {
    const blocks = [{ type: 'text', text: prose(400) }];
    const sized = (options: RenderOptions<ChatMessage>): number => render([user('hi')], options).report.systemTokens;
    expect(sized({ system: blocks })).toBe(counter(JSON.stringify(blocks)));
    expect(sized({ system: blocks, directives: prose(400) })).toBe(counter(JSON.stringify(blocks)) + 100);
  });

  it('context: summary_counts_correctly', () => {
    const { report } = render([system(prose(396)), ...talk(60).slice(1)], {
      tools: [{ name: 'bash' }],
      maxHistoryTokens: 1500,
    });
    expect(report.systemTokens).toBe(99 + 4);
    expect(report.requestTokens).toBe(report.systemTokens + report.toolTokens + report.historyTokens.after);
    expect(report.omitted).toBeGreaterThan(0);
  });

  it('context: render_with_tools_includes_them and render_with_empty_tools_sets_none', () => {
    expect(render([user('hi')], { tools: [{ name: 'bash' }] }).report.toolTokens).toBeGreaterThan(0);
    expect(render([user('hi')]).report.toolTokens).toBe(0);
  });

  it('context: render_with_budget_no_truncation', () => {
    const run = talk(3);
    expect(render(run).messages).toEqual(run);
  });

  it('context: render_with_budget_truncates_old_messages: 20 messages that nobody answered, 100 tokens, the notice first', () => {
    const run = range(1, 20).map((n) => user(`message number ${n} with some padding`));
    const { messages, omitted: left } = render(run, { maxHistoryTokens: 100 });
    expect(messages[0]).toEqual(system(omitted(left)));
    expect(messages.at(-1)).toBe(run[19]);
    expect(messages).toContain(run[0]);
  });

  it('context: render_with_budget_max_history_tokens_caps', () => {
    const run = talk(30);
    expect(render(run, { window: 100_000, maxHistoryTokens: 500 }).omitted).toBeGreaterThan(0);
    expect(render(run, { window: 100_000, maxHistoryTokens: 0 }).omitted).toBe(0);
  });

  it('context: render_with_budget_skips_orphaned_tool_messages: there are none', () => {
    const run = [
      user('go'),
      ...range(1, 30).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(300) })),
      user('and?'),
    ];
    for (const maxHistoryTokens of range(2, 30).map((n) => 100 * n))
      expect(unpaired(render(run, { maxHistoryTokens }).messages)).toEqual([]);
  });

  it('context: render_with_budget_includes_system_message', () => {
    const run = talk(60);
    expect(render(run, { maxHistoryTokens: 1000 }).messages[0]).toBe(run[0]);
  });
});

describe('duragent: agentic_loop.rs', () => {
  const usage = { promptTokens: 100, completionTokens: 50, cachedTokens: 0, cacheWriteTokens: 0 };

  it('agentic_loop: accumulate_usage_both_some', () => {
    expect(addUsage(usage, usage)).toMatchObject({ promptTokens: 200, completionTokens: 100 });
  });

  it('agentic_loop: accumulate_usage_one_none', () => {
    expect([addUsage(usage, undefined), addUsage(undefined, usage)]).toEqual([usage, usage]);
  });
});

describe('2.5 duragent, what was wrong', () => {
  it('2.5#1 masked once, a result says its own size on every later iteration', () => {
    const send = loop(firstAndLast({ keepFirst: 0, keepLast: 1 }), {}, 100_000);
    const run: ChatMessage[] = [user('go')];
    for (const n of range(1, 6)) {
      run.push(...toolTurn({ id: `c${n}`, output: prose(4000) }));
      const masks = results(send(run).messages).slice(0, -1);
      expect(masks).toEqual(masks.map(() => '[result masked — ~1000 tokens removed]'));
    }
  });

  it('2.5#3 a cut waits for its budget, and then holds: the prefix changes only where history overflows', () => {
    const run = talk(300);
    let [last, cuts]: [Rendered<ChatMessage> | undefined, number] = [undefined, 0];
    const renders = range(2, 300);
    for (const turns of renders) {
      const rendered: Rendered<ChatMessage> = render(run.slice(0, 2 * turns + 1), {
        maxHistoryTokens: 5000,
        cut: last?.cut,
      });
      if (rendered.report.decision === 'cut') cuts += 1;
      else expect(rendered.messages.slice(0, last?.messages.length ?? 0)).toEqual(last?.messages ?? []);
      last = rendered;
    }
    expect(cuts).toBeLessThan(renders.length / 8);
  });

  it('2.5#4 all that is cut on arrival, masked, dropped or omitted is answered whole, to be stored', () => {
    const original = prose(60_000, 'the build log: ');
    const run = [...talk(5), ...toolTurn({ id: 'a', output: original }), ...talk(20).slice(1)];
    expect(fit(run, { format: chat, policy: loopPolicy(never()) }).hidden).toMatchObject([{ text: original }]);
    const { hidden, messages } = render(run, { maxHistoryTokens: 1500 });
    const kept = new Set(messages);
    const texts = hidden.map(({ text }) => text).join('\n');
    for (const message of run) if (!kept.has(message)) expect(texts).toContain(JSON.stringify(message));
  });

  it('2.5#5 a result that came after an approval is cut like any other, and earlier iterations can still go', () => {
    const before = [user('go'), ...range(1, 20).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(2000) }))];
    const paused = [...before, parallelCalls('needs-approval')];
    const resumed = [...paused, answer('needs-approval', prose(100_000))];
    const send = loop(firstAndLast(), { maxToolResultTokens: 1000, conversationMessages: 1 }, 6000);
    send(paused);
    const { messages, report } = send(resumed);
    expect(results(messages).at(-1)).toContain('[truncated: kept first ~1000');
    expect(report.tokens.after).toBeLessThanOrEqual(6000);
    expect(report.edits.mask).toBeGreaterThan(0);
  });

  it('2.5#6 a newest message larger than the budget is cut, never dropped, and the question before it stays', () => {
    const run = [...talk(4), user('Read this.'), reply('Send it.'), user(prose(100_000, 'Here: '))];
    const { messages } = render(run, { maxHistoryTokens: 1000 });
    expect(messages.at(-1)?.content).toMatch(/^Here: .*\[truncated: kept/s);
    expect(contents(messages)).toContain(run[1]?.content);
  });

  it('2.5#7 steering between parallel results never leaves one without its call', () => {
    const run = [
      user('go'),
      ...range(1, 20).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`a${n}`, prose(500)),
        user(`[steering] ${n}`),
        answer(`b${n}`, prose(500)),
      ]),
    ];
    for (const n of range(3, 30)) {
      expect(unpaired(render(run, { maxHistoryTokens: 100 * n }).messages)).toEqual([]);
      expect(unpaired(loop(never(), {}, 100 * n)(run).messages)).toEqual([]);
      expect(unpaired(trimMessages(run, { maxMessages: 2 * n, format: chat }).messages)).toEqual([]);
    }
  });

  it('2.5#8 dropped iterations are announced and counted, and nothing above the budget is ever sent', () => {
    const run = [user('go'), ...range(1, 60).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(200), output: 'ok' }))];
    const { messages, report } = loop(never(), {}, 1000)(run);
    expect(report.edits.drop + (report.reductionStage === 'summarization' ? 1 : 0)).toBeGreaterThan(0);
    expect(
      contents(messages).some((text) => text.startsWith('[conversation truncated') || text.includes('summary')),
    ).toBe(true);
    expect(codeOf(() => loop(never(), {}, 100)([user(prose(4000)), reply('ok')]))).toBe('BUDGET_IMPOSSIBLE');
  });

  it('2.5#10 estimates are corrected by what the provider counted', () => {
    const manager = new ContextManager<ChatMessage>({ contextLimit: 100_000, format: chat, model: 'm' });
    const run = [user('漢字かな混じり文。'.repeat(500))];
    const { tokens } = manager.preflight(run);
    manager.recordUsage({ usage: { prompt_tokens: Math.round(1.7 * tokens), completion_tokens: 4 } });
    expect(manager.preflight(run).tokens).toBeCloseTo(1.7 * tokens, -1);
  });

  it('2.5#11 the report says what was omitted and shortened, and where the tokens went', () => {
    const run = [...talk(40), user(prose(20_000))];
    const { report, omitted: left } = render(run, { maxHistoryTokens: 1000, system: prose(400) });
    expect(report).toMatchObject({ omitted: left, clipped: 1, systemTokens: 108, decision: 'cut' });
    expect(report.historyTokens.before).toBeGreaterThan(report.historyTokens.after);
  });
});
