import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Fields, lines, pretty } from '../../../test/support/logs/sample-log.ts';
import type { ReplyFacts } from '../run.ts';
import { readLog } from './read-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-usage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
async function repliesOf(text: string): Promise<(readonly ReplyFacts[])[]> {
  const file = join(folder, `${++files}.jsonl`);
  writeFileSync(file, text);
  const contexts: (readonly ReplyFacts[])[] = [];
  for await (const { replies = [] } of readLog(file)) contexts.push(replies);
  return contexts;
}

const known = (model: string, prompt: number, cached: number, output: number) => ({
  model,
  usage: { prompt, cached, output, cacheLifeMs: undefined },
});

describe('the usage of Claude Code', () => {
  const line = (type: string, message: Fields, more: Fields = {}): Fields => ({
    type,
    message: { role: type, ...message },
    uuid: `u${++files}`,
    sessionId: 's',
    isSidechain: false,
    ...more,
  });
  const usage = (input: number, read: number, written: number, output: number): Fields => ({
    input_tokens: input,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: output,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: written },
  });
  const reply = (id: string, block: Fields, spent: Fields | undefined, more: Fields = {}): Fields =>
    line('assistant', { id, model: 'claude-opus-4-6', content: [block], ...(spent ? { usage: spent } : {}) }, more);
  const text = (value: string): Fields => ({ type: 'text', text: value });
  const HOUR = 3_600_000;

  it('is counted once for a reply of several lines, with the output of the last', async () => {
    const [replies] = await repliesOf(
      lines(
        line('user', { content: 'Fix it.' }),
        reply('m1', text('I look.'), usage(3, 15_000, 900, 1)),
        reply('m1', { type: 'tool_use', id: 't1', name: 'Bash', input: {} }, usage(3, 15_000, 900, 80)),
        line('user', { content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] }),
        reply('m2', text('Done.'), usage(1, 15_900, 200, 9)),
      ),
    );
    const opus = (prompt: number, cached: number, output: number) => ({
      model: 'claude-opus-4-6',
      usage: { prompt, cached, output, cacheLifeMs: HOUR },
    });
    expect(replies).toEqual([opus(15_903, 15_000, 80), opus(16_101, 15_900, 9)]);
  });

  it('of a subagent belongs to the run of the subagent', async () => {
    const side = { isSidechain: true, agentId: 'a1' };
    const contexts = await repliesOf(
      lines(
        line('user', { content: 'Fix it.' }),
        reply('m1', text('I ask.'), usage(10, 0, 0, 5)),
        line('user', { content: 'Look.' }, side),
        reply('m2', text('Found.'), usage(7, 0, 0, 5), side),
        reply('m3', text('Done.'), usage(20, 0, 0, 5)),
      ),
    );
    expect(contexts.map((replies) => replies.map((one) => one.usage?.prompt))).toEqual([[10, 20], [7]]);
  });

  it('is unknown where it is missing, zero, or no number', async () => {
    const zero = usage(0, 0, 0, 0);
    const [replies] = await repliesOf(
      lines(
        line('user', { content: 'Fix it.' }),
        reply('m1', text('a'), undefined),
        reply('m2', text('b'), zero),
        reply('m3', text('c'), { input_tokens: 'many', output_tokens: -3 }),
        reply('m4', text('d'), usage(5, 0, 0, 1)),
      ),
    );
    expect(replies?.map((one) => one.usage?.prompt)).toEqual([undefined, undefined, undefined, 5]);
  });
});

describe('the usage of Codex', () => {
  const item = (payload: Fields): Fields => ({ timestamp: '2026-01-02T03:04:05Z', type: 'response_item', payload });
  const count = (input: number, cached: number, total: number): Fields => ({
    type: 'event_msg',
    payload: {
      type: 'token_count',
      info: {
        total_token_usage: { total_tokens: total },
        last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: 40 },
      },
    },
  });
  const says = (role: string, text: string): Fields =>
    item({ type: 'message', role, content: [{ type: 'input_text', text }] });

  it('follows the reply; an event that comes again adds nothing', async () => {
    const [replies] = await repliesOf(
      lines(
        { type: 'session_meta', payload: { id: 'x' } },
        { type: 'turn_context', payload: { model: 'gpt-5.4' } },
        says('user', 'Fix it.'),
        { type: 'event_msg', payload: { type: 'token_count', info: null } },
        item({ type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' }),
        count(30_000, 2400, 30_040),
        item({ type: 'function_call_output', call_id: 'c1', output: 'ok' }),
        says('assistant', 'Done.'),
        count(31_000, 29_000, 61_080),
        says('user', 'And now?'),
        // Rate limits only: the totals are those of the reply before.
        count(31_000, 29_000, 61_080),
        says('assistant', 'Nothing.'),
      ),
    );
    expect(replies).toEqual([
      known('gpt-5.4', 30_000, 2400, 40),
      known('gpt-5.4', 31_000, 29_000, 40),
      { model: 'gpt-5.4', usage: undefined },
    ]);
  });

  it('is in a record of its own where no count follows, and that of a compaction belongs to no reply', async () => {
    const record = (input_tokens: number, cached_input_tokens: number): Fields => ({
      type: 'token_usage_record',
      payload: { usage: { input_tokens, cached_input_tokens, output_tokens: 40 } },
    });
    const replies = await repliesOf(
      lines(
        { type: 'session_meta', payload: { id: 'x' } },
        { type: 'turn_context', payload: { model: 'gpt-5.4' } },
        says('user', 'Fix it.'),
        item({ type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' }),
        record(30_000, 2400),
        item({ type: 'function_call_output', call_id: 'c1', output: 'ok' }),
        says('assistant', 'Done.'),
        record(31_000, 29_000),
        count(31_000, 29_000, 61_080),
        record(99_000, 0),
        { type: 'compacted', payload: { message: 'Summary.' } },
        says('assistant', 'So.'),
        record(9000, 8000),
      ),
    );
    expect(replies).toEqual([
      [known('gpt-5.4', 30_000, 2400, 40), known('gpt-5.4', 31_000, 29_000, 40)],
      [known('gpt-5.4', 9000, 8000, 40)],
    ]);
  });
});

describe('the usage of other agents', () => {
  it('OpenCode counts cached tokens apart, and each step by itself', async () => {
    const tokens = (input: number, read: number): Fields => ({
      input,
      output: 20,
      reasoning: 5,
      cache: { read, write: 1 },
    });
    const parts = [
      { type: 'step-start' },
      { type: 'text', text: 'I look.' },
      { type: 'step-finish', tokens: tokens(99, 0) },
      { type: 'step-start' },
      { type: 'text', text: 'Done.' },
      { type: 'step-finish', tokens: tokens(9, 100) },
    ];
    const log = {
      info: { id: 's' },
      messages: [
        { info: { role: 'user' }, parts: [{ type: 'text', text: 'Fix it.' }] },
        { info: { role: 'assistant', modelID: 'claude-sonnet-4.6' }, parts },
      ],
    };
    expect(await repliesOf(pretty(log))).toEqual([
      [known('claude-sonnet-4.6', 100, 0, 25), known('claude-sonnet-4.6', 110, 100, 25)],
    ]);
  });

  it('Gemini CLI counts cached tokens within its input', async () => {
    const tokens = { input: 21_905, output: 58, cached: 17_949, thoughts: 686 };
    const log = {
      sessionId: 's',
      projectHash: 'p',
      messages: [
        { id: '1', type: 'user', content: 'Fix it.' },
        { id: '2', type: 'gemini', content: 'Done.', tokens, model: 'gemini-3-flash-preview' },
      ],
    };
    expect(await repliesOf(pretty(log))).toEqual([[known('gemini-3-flash-preview', 21_905, 17_949, 744)]]);
  });

  it('Qwen Code counts cached tokens within its input, and all but the prompt as output', async () => {
    const usageMetadata = {
      promptTokenCount: 1000,
      cachedContentTokenCount: 400,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 7,
    };
    const reply = (more: Fields): Fields => ({
      ...{ type: 'assistant', sessionId: 's', model: 'qwen3-coder-plus', usageMetadata: { ...usageMetadata, ...more } },
      message: { role: 'model', parts: [{ text: 'a' }] },
    });
    expect(await repliesOf(lines(reply({ totalTokenCount: 1037 }), reply({})))).toEqual([
      [known('qwen3-coder-plus', 1000, 400, 37), known('qwen3-coder-plus', 1000, 400, 30)],
    ]);
  });

  it('ATIF counts cached tokens within its prompt; a step can name its own model', async () => {
    const metrics = { prompt_tokens: 900, completion_tokens: 20, cached_tokens: 300 };
    const steps = [
      { source: 'agent', message: 'a', metrics },
      { source: 'agent', message: 'b', model_name: 'other' },
    ];
    expect(await repliesOf(pretty({ schema_version: 'ATIF-v1.6', agent: { model_name: 'm' }, steps }))).toEqual([
      [known('m', 900, 300, 20), { model: 'other', usage: undefined }],
    ]);
  });

  it('pi counts cached tokens apart; a request that was aborted has none', async () => {
    const reply = (usage: Fields): Fields => ({
      type: 'message',
      message: { role: 'assistant', content: [{ type: 'text', text: 'a' }], model: 'claude-opus-4-5', usage },
    });
    const log = lines(
      { type: 'session', cwd: '/' },
      { type: 'message', message: { role: 'user', content: 'Fix it.' } },
      reply({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }),
      reply({ input: 3, output: 88, cacheRead: 4000, cacheWrite: 442 }),
    );
    expect(await repliesOf(log)).toEqual([
      [{ model: 'claude-opus-4-5', usage: undefined }, known('claude-opus-4-5', 4445, 4000, 88)],
    ]);
  });

  it('Cline counts cached tokens within its input, unless there are more of them', async () => {
    const reply = (metrics: Fields): Fields => ({
      role: 'assistant',
      content: [{ type: 'text', text: 'a' }],
      modelInfo: { id: 'anthropic/claude-opus-4.8' },
      metrics,
    });
    const log = {
      sessionId: 's',
      agent: 'a',
      messages: [
        { role: 'user', content: 'Fix it.' },
        reply({ inputTokens: 35_912, outputTokens: 164, cacheReadTokens: 34_332, cacheWriteTokens: 0 }),
        reply({ inputTokens: 10, outputTokens: 164, cacheReadTokens: 36_000, cacheWriteTokens: 90 }),
      ],
    };
    expect(await repliesOf(pretty(log))).toEqual([
      [
        known('anthropic/claude-opus-4.8', 35_912, 34_332, 164),
        known('anthropic/claude-opus-4.8', 36_100, 36_000, 164),
      ],
    ]);
  });

  it('goose names the model of each reply, and else that of the session', async () => {
    const message = (metadata: Fields): Fields => ({
      ...{ role: 'assistant', created: 1_760_000_000, metadata },
      content: [{ type: 'text', text: 'a' }],
    });
    const log = {
      model_config: { model_name: 'gpt-5' },
      conversation: [message({ inference: { provider: 'x', requestedModel: 'claude-sonnet-4-5' } }), message({})],
    };
    const [[first, second] = []] = await repliesOf(pretty(log));
    expect([first?.model, second?.model]).toEqual(['claude-sonnet-4-5', 'gpt-5']);
  });

  it('the output of an OpenCode run has the tokens of each step', async () => {
    const event = (type: string, part: Fields): Fields => ({ type, sessionID: 's', part });
    const tokens = { total: 180, input: 100, output: 50, reasoning: 20, cache: { read: 7, write: 3 } };
    const log = lines(
      event('text', { type: 'text', text: 'a' }),
      event('step_finish', { type: 'step-finish', tokens }),
      event('text', { type: 'text', text: 'b' }),
      event('step_finish', { type: 'step-finish', tokens: { ...tokens, input: 200 } }),
    );
    const [[first, second] = []] = await repliesOf(log);
    expect([first?.usage, second?.usage]).toMatchObject([
      { prompt: 110, cached: 7, output: 70 },
      { prompt: 210, cached: 7, output: 70 },
    ]);
  });

  it('Copilot names the model of each conversation, and its output has the usage before or after a reply', async () => {
    const event = (type: string, data: Fields): Fields => ({ type, data });
    const counts = { inputTokens: 200, cacheReadTokens: 40, cacheWriteTokens: 7, outputTokens: 30 };
    const log = lines(
      event('session.start', { sessionId: 's', selectedModel: 'gpt-5' }),
      event('user.message', { content: 'Fix it.' }),
      event('assistant.turn_start', { turnId: '0' }),
      event('assistant.message', { content: 'a' }),
      event('assistant.usage', counts),
      event('subagent.started', { toolCallId: 'c1', model: 'claude-haiku-4.5' }),
      event('assistant.message', { content: 'b', parentToolCallId: 'c1' }),
      event('assistant.turn_start', { turnId: '1' }),
      event('assistant.usage', { ...counts, inputTokens: 300 }),
      event('assistant.message', { content: 'c' }),
    );
    expect(await repliesOf(log)).toEqual([
      [known('gpt-5', 200, 40, 30), known('gpt-5', 300, 40, 30)],
      [{ model: 'claude-haiku-4.5', usage: undefined }],
    ]);
  });

  it('the extension of Cline adds up what was read from the cache and written to it', async () => {
    const reply = (prompt: number, cached: number, completion: number): Fields => ({
      role: 'assistant',
      content: [{ type: 'text', text: 'a' }],
      modelInfo: { modelId: 'claude-sonnet-4-5', providerId: 'anthropic', mode: 'act' },
      metrics: { tokens: { prompt, completion, cached }, cost: 0.1 },
    });
    const log = [{ role: 'user', content: '<task>Fix it.</task>' }, reply(4, 14_000, 90), reply(6, 15_500, 20)];
    expect(await repliesOf(JSON.stringify(log))).toEqual([
      [known('claude-sonnet-4-5', 14_004, 0, 90), known('claude-sonnet-4-5', 15_506, 14_004, 20)],
    ]);
  });

  it('OpenHands keeps the answer of the provider, once for all actions of a reply', async () => {
    const usage = { prompt_tokens: 5036, completion_tokens: 153, prompt_tokens_details: { cached_tokens: 3840 } };
    const action = (id: number): Fields => ({
      id,
      source: 'agent',
      action: 'run',
      args: { command: 'ls' },
      tool_call_metadata: {
        tool_call_id: `c${id}`,
        function_name: 'bash',
        model_response: { id: 'r1', model: 'gpt-4o-2024-08-06', usage, choices: [{ message: { content: 'I look.' } }] },
      },
    });
    const log = {
      history: [{ id: 0, source: 'user', action: 'message', args: { content: 'Fix it.' } }, action(1), action(2)],
    };
    expect(await repliesOf(pretty(log))).toEqual([[known('gpt-4o-2024-08-06', 5036, 3840, 153)]]);
  });

  it('mini-swe-agent keeps the answer of the provider, and else names the model of its run', async () => {
    const response = { model: 'gemini-3-pro-preview', usage: { prompt_tokens: 1823, completion_tokens: 74 } };
    const log = {
      trajectory_format: 'mini-swe-agent-1',
      info: { config: { model: { model_name: 'google/gemini-3-pro-preview' } } },
      messages: [
        { role: 'user', content: 'Fix it.' },
        { role: 'assistant', content: '```bash\nls\n```', extra: { response } },
        { role: 'user', content: 'a.ts' },
        { role: 'assistant', content: '```bash\ncat a.ts\n```' },
      ],
    };
    expect(await repliesOf(pretty(log))).toEqual([
      [known('gemini-3-pro-preview', 1823, 0, 74), { model: 'google/gemini-3-pro-preview', usage: undefined }],
    ]);
  });

  it('a request body names its model for all its replies', async () => {
    const log = {
      model: 'gpt-4.1',
      messages: [
        { role: 'user', content: 'Fix it.' },
        { role: 'assistant', content: 'Done.' },
      ],
    };
    expect(await repliesOf(pretty(log))).toEqual([[{ model: 'gpt-4.1', usage: undefined }]]);
  });
});
