import { describe, expect, it } from 'vitest';
import { polling } from '../../src/index.ts';
import type { Tool } from '../../src/manager/agent/tools.ts';
import {
  type AgentEvent,
  agentOptionsOf,
  ContextManager,
  contextGauge,
  createMemorySession,
  loopBudget,
  openSession,
  readConfig,
  renderWithBudget,
  runAgent,
  type Session,
  type SessionEvent,
  type SessionOptions,
  sessionOptionsOf,
} from '../../src/manager/index.ts';
import type { ChatMessage } from '../../src/message.ts';
import { call, say, scripted, usage } from '../support/manager/scripted-model.ts';
import { eventsOf, temporaryFolders } from '../support/manager/sessions.ts';

const newFolder = temporaryFolders();
const open = (more: Partial<SessionOptions<ChatMessage>> = {}): Promise<Session<ChatMessage>> =>
  openSession({ directory: newFolder(), id: 'limits', model: 'claude-sonnet-5', ...more });

const SEED_YAML = `
model: { provider: anthropic, name: claude-sonnet-4-20250514, max_input_tokens: 150000, max_output_tokens: 8192 }
`;

const read: Tool = { name: 'read_file', run: () => 'a line of the file\n'.repeat(80) };
const counted = (tokens: number) => ({ ...call(['read_file']), usage: usage(tokens) });
const usageOf = (events: readonly SessionEvent<ChatMessage>[]) =>
  events.flatMap((event) => (event.type === 'token_usage' ? [event.context_used_pct] : []));

/** Eight requests, of which the provider counts the last as so large. */
async function runTo(tokens: number, session: Session<ChatMessage>, more: object = {}): Promise<AgentEvent[]> {
  const told: AgentEvent[] = [];
  const steps = Array.from({ length: 8 }, (_, i) => counted(i < 7 ? 1000 : tokens));
  const model = scripted(...steps, say('Done.'));
  const options = { model, context: session, tools: [read], task: 'Read.', maxOutputTokens: 500, ...more };
  await runAgent({ ...options, onEvent: (event) => told.push(event) });
  return told;
}

describe('max_input_tokens of 10,000 for a model whose window is 200,000', () => {
  it.each([
    ['in the session', { maxInputTokens: 10_000 }, {}],
    ['in the run', {}, { maxInputTokens: 10_000 }],
    ['in both', { maxInputTokens: 10_000 }, { maxInputTokens: 10_000 }],
    ['as the smaller one of two limits', { maxInputTokens: 10_000, contextLimit: 190_000 }, { maxInputTokens: 50_000 }],
    ['as the context limit', { contextLimit: 10_000 }, { maxInputTokens: 150_000 }],
  ])('%s: thresholds fire, and log, gauge and pre-flight check show the true share', async (_, inSession, inRun) => {
    const session = await open({ ...inSession, policy: polling({ turns: 2, every: 100 }), carryoverTurns: 2 });
    const told = await runTo(7900, session, inRun);
    const events = await eventsOf(session);
    expect(told.map(({ type }) => type)).toContain('masked');
    expect(usageOf(events).slice(-1)).toEqual([0.79]);
    expect(events.map(({ type }) => type)).toContain('context_mask');
    expect(session.manager.contextLimit).toBe(10_000);
    session.manager.recordUsage({ promptTokens: 7900, completionTokens: 1 });
    expect(contextGauge(session.manager.usagePct).text).toBe('[███████░░░] 79%');
    const { tokens, usagePct } = session.manager.preflight();
    expect(usagePct).toBeCloseTo(tokens / 100);
    await session.close();
  });

  it('does not fire below it', async () => {
    const session = await open({ maxInputTokens: 10_000, policy: polling({ turns: 2, every: 100 }) });
    const told = await runTo(5000, session);
    expect(told.map(({ type }) => type)).not.toContain('masked');
    await session.close();
  });

  it('winds down at 90 % and restarts the second time', async () => {
    const session = await open({ maxInputTokens: 10_000, arrival: { references: false } });
    const told: string[] = [];
    const model = scripted(counted(9200), counted(9300), say('Done.', { usage: usage(500) }));
    const onEvent = ({ type }: AgentEvent) => void told.push(type);
    await runAgent({ model, context: session, tools: [read], task: 'Read.', maxOutputTokens: 500, onEvent });
    expect(told.filter((type) => type === 'wind-down' || type === 'restarted')).toEqual(['wind-down', 'restarted']);
    expect(usageOf(await eventsOf(session))).toEqual([0.92, 0.93, 0.05]);
    await session.close();
  });

  it('bounds what a session renders by itself', async () => {
    const session = await open({ maxInputTokens: 10_000, maxOutputTokens: 500 });
    await session.add({ role: 'user', content: 'Hello' });
    const { report } = await session.render();
    expect(report).toMatchObject({ windowTokens: 10_000, outputTokens: 500, marginTokens: 1000 });
    expect((await session.render({ window: 50_000 })).report.windowTokens).toBe(50_000);
    expect((await session.render({ model: 'gpt-4.1' })).report.windowTokens).toBe(1_000_000);
    await session.close();
  });

  it('may be above the window that is known of a model', async () => {
    const session = await open({ maxInputTokens: 1_000_000 });
    expect(session.manager.contextLimit).toBe(1_000_000);
    await session.close();
  });

  it('counts for one run: the next run without it has the limit of the session', async () => {
    const context = createMemorySession<ChatMessage>({ contextLimit: 100_000 });
    await runAgent({ model: scripted(say('Done.')), context, task: 'Go.', maxInputTokens: 10_000 });
    expect(context.manager.contextLimit).toBe(10_000);
    await runAgent({ model: scripted(say('Done.')), context, task: 'Go.' });
    expect(context.manager.contextLimit).toBe(100_000);
  });
});

describe('the soft threshold and the budget of the loop', () => {
  it('with max_input_tokens 150000 and max_output_tokens 8192, soft is at 70 % and below the budget', async () => {
    const { config } = readConfig(SEED_YAML);
    const session = await open(sessionOptionsOf(config));
    const model = scripted(say('Done.'));
    await runAgent({ ...agentOptionsOf(config), model, context: session, task: 'Go.' });
    const { limit } = session.manager;
    expect(limit).toMatchObject({ limitTokens: 150_000, budgetTokens: 126_808, soft: { tokens: 105_000 } });
    expect(loopBudget({ maxInputTokens: 150_000, maxOutputTokens: 8192 })).toBe(limit.budgetTokens);
    await session.close();
  });

  it.each([
    [200_000, 64_000],
    [128_000, 60_000],
    [32_768, undefined],
    [10_000, undefined],
    [5000, undefined],
    [1000, 899],
  ])('soft is below the budget for a limit of %i and an answer of %s', async (maxInputTokens, maxOutputTokens) => {
    const context = createMemorySession<ChatMessage>({ maxInputTokens });
    const output = maxOutputTokens === undefined ? {} : { maxOutputTokens };
    // The run may have no room for its messages: the limits are set before.
    await runAgent({ model: scripted(say('Done.')), context, task: 'Go.', ...output }).catch(() => {});
    const { limit, softThreshold } = context.manager;
    expect(limit.budgetTokens).toBe(loopBudget({ maxInputTokens, ...output }));
    expect(limit.soft.share * maxInputTokens).toBeLessThan(limit.budgetTokens);
    expect(softThreshold).toBeLessThanOrEqual(0.7);
  });

  it('a large reserve for the answer masks before the oldest iterations are dropped', async () => {
    const policy = polling({ turns: 2, every: 100 });
    const session = await open({ maxInputTokens: 20_000, policy, carryoverTurns: 2 });
    const long: Tool = { name: 'read_file', run: () => 'a line of the file\n'.repeat(150) };
    const model = scripted(...Array.from({ length: 14 }, () => call(['read_file'])), say('Done.'));
    const told: AgentEvent[] = [];
    await runAgent({
      model,
      context: session,
      tools: [long],
      task: 'Read.',
      maxOutputTokens: 10_000,
      onEvent: (event) => told.push(event),
    });
    const cuts = told.filter((event) => event.type === 'request' && event.report.decision !== 'fits');
    expect(told.map(({ type }) => type)).toContain('masked');
    expect(cuts).toEqual([]);
    await session.close();
  });
});

describe('an answer that leaves no room for a request', () => {
  const text = /Expected maxOutputTokens to be below nine tenths of maxInputTokens \(10000\) but found 12000/;

  it('is refused by openSession, createMemorySession and ContextManager', async () => {
    const options = { maxInputTokens: 10_000, maxOutputTokens: 12_000 };
    await expect(open(options)).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(text) });
    expect(() => createMemorySession(options)).toThrow(text);
    expect(() => new ContextManager(options)).toThrow(text);
  });

  it('is refused by runAgent before the model is asked, with and without a session', async () => {
    const model = scripted(say('Done.'));
    const refused = { code: 'BAD_OPTION', message: expect.stringMatching(text) };
    const options = { model, task: 'Go.', maxInputTokens: 10_000, maxOutputTokens: 12_000 };
    await expect(runAgent(options)).rejects.toMatchObject(refused);
    const context = createMemorySession<ChatMessage>();
    await expect(runAgent({ ...options, context })).rejects.toMatchObject(refused);
    expect(context.messages()).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it('names the window of the model where no limit is set', () => {
    const options = { model: 'gpt-4o', maxOutputTokens: 128_000 };
    expect(() => new ContextManager(options)).toThrow(
      /the window of the model, as maxInputTokens is not set \(128000\)/,
    );
  });
});

describe('every door', () => {
  it('computes the same limit from the same options', () => {
    const options = { model: 'my-llm', contextWindows: { 'my-llm': 40_000 }, maxOutputTokens: 2000 };
    const { limit, contextLimit } = new ContextManager(options);
    const { report } = renderWithBudget<ChatMessage>([{ role: 'user', content: 'Hi' }], { ...options, format: 'chat' });
    expect([contextLimit, report.windowTokens]).toEqual([40_000, 40_000]);
    expect([limit.budgetTokens, report.availableTokens]).toEqual([34_000, 34_000]);
    expect(loopBudget(options)).toBe(34_000);
  });

  it('a pre-flight check says that a request fits only where it leaves room for the answer', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: 'word '.repeat(7000) }];
    const fits = (more: object) =>
      new ContextManager({ contextLimit: 10_000, format: 'chat', ...more }).preflight(messages).fits;
    expect([fits({}), fits({ maxOutputTokens: 500 }), fits({ maxOutputTokens: 4000 })]).toEqual([true, true, false]);
  });
});
