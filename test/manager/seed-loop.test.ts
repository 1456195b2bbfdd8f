import { describe, expect, it } from 'vitest';
import { fromUrl } from '../../src/adapters/models/index.ts';
import { type ChatMessage, chat, fit } from '../../src/index.ts';
import {
  agentOptionsOf,
  createMemorySession,
  createSteering,
  defineTool,
  type Model,
  type ModelRequest,
  openSession,
  type Reply,
  readConfig,
  renderWithBudget,
  runAgent,
  sessionContinuity,
  sessionOptionsOf,
} from '../../src/manager/index.ts';
import { scratchFolder } from '../support/modules.ts';

/** A model that gives these replies, one after the other. */
function scripted(...replies: readonly Partial<Reply<ChatMessage>>[]): Model<ChatMessage> {
  let next = 0;
  return async () => ({ messages: [], calls: [], text: '', ...replies[next++] });
}

const CALL = { id: 'c1', name: 'deploy', arguments: {} };
const calling = (content: string): Partial<Reply<ChatMessage>> => ({
  messages: [{ role: 'assistant', content, toolCalls: [{ id: 'c1', name: 'deploy', arguments: '{}' }] }],
  calls: [CALL],
});
const done: Partial<Reply<ChatMessage>> = { messages: [{ role: 'assistant', content: 'Done.' }], text: 'Done.' };
const deploy = defineTool({ name: 'deploy', run: () => 'deployed' });
const guarded = defineTool({ name: 'deploy', needsApproval: true, run: () => 'deployed' });

describe('agentic_loop.rs', () => {
  it('agentic_result_complete_debug: a run that ends tells its answer', async () => {
    const result = await runAgent({ model: scripted(done), task: 'Deploy.' });
    expect(result).toMatchObject({ status: 'complete', text: 'Done.', iterations: 1, pending: [] });
  });

  it('agentic_result_awaiting_approval_debug: a run that waits for a person tells for which call', async () => {
    const result = await runAgent({ model: scripted(calling('')), tools: [guarded], task: 'Deploy.' });
    expect(result).toMatchObject({ status: 'awaiting-approval', pending: [CALL] });
  });

  it('drain_steering_collects_pending_messages: all that was said, once and in order', () => {
    const steering = createSteering();
    steering.push('first');
    steering.push('second', 'third');
    expect(steering.drain()).toEqual(['first', 'second', 'third']);
    expect(steering.drain()).toEqual([]);
  });

  it.each([
    ['build_assistant_message_with_content', 'I deploy now.'],
    ['build_assistant_message_empty_content', ''],
  ])('%s: a reply stays as the model gave it, beside its call', async (_name, content) => {
    const { messages } = await runAgent({ model: scripted(calling(content), done), tools: [deploy], task: 'Deploy.' });
    expect(messages[1]).toEqual(calling(content).messages?.[0]);
    expect(messages[2]).toMatchObject({ role: 'tool', toolCallId: 'c1', content: 'deployed' });
    expect(chat.check(messages)).toEqual([]);
  });
});

describe('configuration', () => {
  it('context_config_defaults, test_context_config_defaults: nothing has to be said', () => {
    const { config, problems } = readConfig('');
    expect(problems).toEqual([]);
    expect({ ...sessionOptionsOf(config), ...agentOptionsOf(config) }).toEqual({});
  });

  it('the defaults are those of the documents', async () => {
    const session = await openSession({ directory: scratchFolder('seed-loop'), id: 'defaults' });
    const { softThreshold, hardThreshold } = session.manager;
    expect({ softThreshold, hardThreshold }).toEqual({ softThreshold: 0.7, hardThreshold: 0.9 });
    await session.close();
    const { report } = renderWithBudget([{ role: 'user', content: 'Hi' }], { format: chat, window: 200_000 });
    expect(report.historyBudgetTokens).toBe(20_000);
  });

  it('load_agent_with_context_config, test_context_config_override: what is said counts', () => {
    const { config } = readConfig(`
      session:
        max_tool_iterations: 7
        context: { max_history_tokens: 5000, max_tool_result_tokens: 900, tool_result_truncation: tail }
      context: { limit: 32768, soft_threshold_pct: 0.5, hard_threshold_pct: 0.8, carryover_turns: 2, auto_restart: false }
    `);
    expect(sessionOptionsOf(config)).toMatchObject({
      contextLimit: 32_768,
      softThreshold: 0.5,
      hardThreshold: 0.8,
      carryoverTurns: 2,
      maxToolResultTokens: 900,
      toolResultTruncation: 'tail',
    });
    expect(agentOptionsOf(config)).toMatchObject({ maxToolIterations: 7, maxHistoryTokens: 5000, autoRestart: false });
  });

  it('test_context_config_merge_layers: options in code stand before the file, and the file before the defaults', async () => {
    const file = sessionOptionsOf(readConfig('context: { limit: 9000, soft_threshold_pct: 0.5 }').config);
    const options = { ...file, softThreshold: 0.6, directory: scratchFolder('seed-loop'), id: 'layers' };
    const session = await openSession(options);
    const { contextLimit, softThreshold, hardThreshold } = session.manager;
    expect({ contextLimit, softThreshold, hardThreshold }).toEqual({
      contextLimit: 9000,
      softThreshold: 0.6,
      hardThreshold: 0.9,
    });
    await session.close();
  });
});

describe('requests', () => {
  it('render_produces_chat_request: in the format that came in, which the provider takes', () => {
    const history: ChatMessage[] = [
      { role: 'system', content: 'You are an agent.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
    ];
    const { messages, notice } = renderWithBudget(history, { format: chat, model: 'gpt-4o' });
    expect(messages).toEqual(history);
    expect(notice).toBeUndefined();
    expect(chat.check(messages)).toEqual([]);
  });

  it('estimate_tool_definitions_tokens_with_tools: tools count, none count nothing', () => {
    const size = (tools: unknown): number => fit([{ role: 'user', content: 'Hi' }], { tools }).report.tokens.after;
    expect(size([{ name: 'read', description: 'Reads a file.', parameters: {} }])).toBeGreaterThan(size(undefined));
    expect(size(undefined)).toBe(size(''));
  });

  it('health_check_returns_error_when_ollama_unavailable: a server that is not there is named', async () => {
    const model = fromUrl({ baseURL: 'http://127.0.0.1:1/v1', model: 'llama3.2', retries: 0 });
    await expect(runAgent({ model, task: 'Hi' })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('127.0.0.1:1'),
    });
  });
});

/** Answers what each request of a run was. */
async function requestsOf(
  options: Partial<Parameters<typeof runAgent<ChatMessage>>[0]>,
): Promise<ModelRequest<ChatMessage>[]> {
  const requests: ModelRequest<ChatMessage>[] = [];
  const model: Model<ChatMessage> = async (request) => {
    requests.push(request);
    return { messages: [], calls: [], text: 'Done.', ...(requests.length === 1 ? calling('') : done) };
  };
  await runAgent({ model, tools: [deploy], task: 'Deploy.', ...options });
  return requests;
}

describe('builder.rs: what a request is built from', () => {
  it('all_fields, renders_to_chat_request, with_tool_refs, tool_refs_tracked_in_summary', async () => {
    const [request] = await requestsOf({ system: 'You deploy.', maxOutputTokens: 500 });
    expect(request).toMatchObject({
      system: 'You deploy.',
      messages: [{ role: 'user', content: 'Deploy.' }],
      tools: [{ name: 'deploy' }],
      maxOutputTokens: 500,
    });
    const { report } = renderWithBudget(request?.messages ?? [], { format: chat, tools: request?.tools });
    expect(report.toolTokens).toBeGreaterThan(0);
  });

  it('partial: what is not given is not sent', async () => {
    const [request] = await requestsOf({ tools: [], task: [{ role: 'user', content: 'Hi' }] });
    expect(request).not.toHaveProperty('system');
    expect(request?.tools).toEqual([]);
  });

  it('with_messages, chained: each request goes on from the one before', async () => {
    const [first, second] = await requestsOf({
      task: [
        { role: 'user', content: 'One.' },
        { role: 'user', content: 'Two.' },
      ],
    });
    expect(first?.messages.map(({ content }) => content)).toEqual(['One.', 'Two.']);
    expect(second?.messages.slice(0, 2)).toEqual(first?.messages);
    expect(second?.messages).toHaveLength(4);
  });

  it('no_skills_block_when_empty, injects_skills_block, block_source_skill_variant: only a restarted session adds to the system prompt', () => {
    expect(sessionContinuity(1)).toBe('');
    expect(sessionContinuity(2)).toMatch(/^## Session Continuity\n\nThis is session #2\./);
  });

  it('prime_directives_always_present, prime_directives_rendered_before_soul: the system prompt comes first, with every request, also after a restart', async () => {
    const context = createMemorySession<ChatMessage>({ contextLimit: 9000 });
    const before = await requestsOf({ context, system: 'You deploy.' });
    await context.restart('test');
    const after = await requestsOf({ context, system: 'You deploy.' });
    expect(before.map(({ system }) => system)).toEqual(['You deploy.', 'You deploy.']);
    for (const { system } of after) expect(system).toBe(`You deploy.\n\n${sessionContinuity(2)}`);
  });
});
