import { describe, expect, it } from 'vitest';
import { call, say, scripted, usage } from '../../../test/support/manager/scripted-model.ts';
import { type AnthropicMessage, anthropic } from '../../formats/anthropic.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { polling } from '../../plan/policies/sliding-window.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { sizeOfMessages } from '../budget/sizes.ts';
import { createMemorySession } from '../session/memory-session.ts';
import type { AgentEvent } from './agent-event.ts';
import type { Approve } from './approvals.ts';
import type { Model, ModelRequest } from './model.ts';
import { resumeAgent, runAgent } from './run-agent.ts';
import { createSteering } from './steering.ts';
import type { Tool } from './tools.ts';

const echo: Tool<{ text: string }> = { name: 'echo', run: ({ text }) => `echo: ${text}` };
const roles = (messages: readonly ChatMessage[]): string => messages.map(({ role }) => role).join(' ');
const contents = (messages: readonly ChatMessage[]): string[] => messages.map(({ content }) => content);

/** Counts like a provider. */
const count = ({ messages, system, tools }: ModelRequest<ChatMessage>): number =>
  sizeOfMessages(messages, chat, countTokens) +
  countTokens(system ?? '') +
  countTokens(JSON.stringify(tools.map((tool) => ({ type: 'function', function: tool }))));

/** Refuses like a provider. */
const violations = (requests: readonly ModelRequest<ChatMessage>[]) =>
  requests.flatMap(({ messages }) => chat.check(messages));

const inFormat = (format: unknown) => Object.assign(scripted(say('x')), { format });

describe('runAgent', () => {
  it('ends with the first reply that calls nothing', async () => {
    const model = scripted(say('Four.'));
    const result = await runAgent({ model, task: 'Two and two?', system: 'Be brief.' });
    expect(result).toMatchObject({ status: 'complete', text: 'Four.', iterations: 1, restarts: 0, pending: [] });
    expect(roles(result.messages)).toBe('user assistant');
    expect(model.requests[0]).toMatchObject({ system: 'Be brief.', tools: [] });
  });

  it('runs the tools that are called, tells the results, and asks again', async () => {
    const model = scripted(call(['echo', { text: 'one' }]), call(['echo', { text: 'two' }]), say('Done.'));
    const result = await runAgent({ model, task: 'Echo.', tools: [echo] });
    expect(result).toMatchObject({ status: 'complete', text: 'Done.', iterations: 3 });
    expect(roles(result.messages)).toBe('user assistant tool assistant tool assistant');
    expect(contents(result.messages)[2]).toBe('echo: one');
    expect(violations(model.requests)).toEqual([]);
  });

  it('runs many calls at once without a warning of Node about listeners', async () => {
    const warnings: Error[] = [];
    const keep = (warning: Error): void => void warnings.push(warning);
    process.on('warning', keep);
    const calls = Array.from({ length: 30 }, (_, n): [string, object] => ['echo', { text: `${n}` }]);
    const { signal } = new AbortController();
    const result = await runAgent({
      model: scripted(call(...calls), say('Done.')),
      task: 'Echo.',
      tools: [echo],
      signal,
    });
    await new Promise(setImmediate);
    process.off('warning', keep);
    expect(contents(result.messages)).toHaveLength(33);
    expect(warnings).toEqual([]);
  });

  it('runs parallel calls at the same time, and tells their results in order', async () => {
    let arrived = 0;
    let open = (): void => {};
    const bothAreHere = new Promise<void>((resolve) => {
      open = resolve;
    });
    const meet: Tool<{ name: string }> = {
      name: 'meet',
      run: async ({ name }) => {
        if (++arrived === 2) open();
        await bothAreHere;
        return name;
      },
    };
    const model = scripted(call(['meet', { name: 'a' }], ['meet', { name: 'b' }]), say('They met.'));
    const { messages } = await runAgent({ model, task: 'Meet.', tools: [meet] });
    expect(contents(messages).slice(2, 4)).toEqual(['a', 'b']);
  });

  it('goes on after a tool that fails, hangs or is not there', async () => {
    const tools: Tool[] = [
      { name: 'fail', run: () => Promise.reject(new Error('no such file')) },
      { name: 'hang', run: () => new Promise(() => {}) },
    ];
    const model = scripted(call(['fail'], ['hang'], ['fly']), say('I see.'));
    const result = await runAgent({ model, task: 'Try.', tools, toolTimeoutMs: 5 });
    expect(result.status).toBe('complete');
    expect(contents(result.messages).slice(2, 5)).toEqual([
      'Error: no such file',
      'Error: hang did not finish within 5 ms and was stopped',
      'Error: there is no tool fly; there are fail, hang',
    ]);
  });

  it('stops after maxToolIterations with every call answered, and goes on when it is called again', async () => {
    const model = scripted(call(['echo', { text: '1' }]), call(['echo', { text: '2' }]), say('Done.'));
    const context = createMemorySession<ChatMessage>();
    const options = { model, context, tools: [echo], maxToolIterations: 2 };
    const first = await runAgent({ ...options, task: 'Go.' });
    expect(first).toMatchObject({ status: 'max-iterations', iterations: 2 });
    expect(chat.check([...first.messages, { role: 'user', content: 'and now?' }])).toEqual([]);
    const second = await runAgent(options);
    expect(second).toMatchObject({ status: 'complete', text: 'Done.', iterations: 1 });
  });

  it('asks again where a provider paused in the middle of a turn', async () => {
    const model = scripted(say('I am searching', { stop: 'pause' }), say('Found it.'));
    expect(await runAgent({ model, task: 'Search.' })).toMatchObject({ status: 'complete', text: 'Found it.' });
    expect(model.requests).toHaveLength(2);
  });

  it('adds up usage, and tells what happens while it happens', async () => {
    const events: AgentEvent[] = [];
    const heard: string[] = [];
    const first = { ...call(['echo', { text: 'x' }]), usage: usage(100, 5) };
    const result = await runAgent({
      model: scripted(first, say('All done now.', { usage: usage(150, 7) })),
      task: 'Go.',
      tools: [echo],
      onEvent: (event) => events.push(event),
      onText: (delta) => heard.push(delta),
    });
    expect(result.usage).toMatchObject({ promptTokens: 250, completionTokens: 12 });
    expect(events.map(({ type }) => type)).toEqual(['request', 'reply', 'call', 'result', 'request', 'reply']);
    expect(heard.filter((delta) => delta !== '')).toEqual(['All ', 'done ', 'now.']);
  });

  it.each([
    ['length', 'the answer was cut'],
    ['refusal', 'the model refused'],
  ] as const)('does not let an answer pass for whole that ended for %s', async (stop, because) => {
    const result = await runAgent({ model: scripted(say('I was', { stop })), task: 'Go.' });
    expect(result).toMatchObject({ status: 'complete', because: expect.stringContaining(because) });
    expect(await runAgent({ model: scripted(say('All.')), task: 'Go.' })).not.toHaveProperty('because');
  });

  it.each([undefined, {}, { messages: [], text: 'x' }])('says that %o is no reply', async (reply) => {
    const model = (async () => reply) as unknown as Model<ChatMessage>;
    await expect(runAgent({ model, task: 'Go.' })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('{ messages, calls, text }'),
    });
  });

  it('throws what a model throws', async () => {
    const model = scripted(new Error('invalid x-api-key'));
    await expect(runAgent({ model, task: 'Go.' })).rejects.toThrow('invalid x-api-key');
    expect(model.requests).toHaveLength(1);
  });

  it('answers the calls that an earlier run left open before it goes on', async () => {
    const context = createMemorySession<ChatMessage>();
    await context.add({ role: 'user', content: 'Go.' }, ...call(['echo', { text: 'x' }]).messages);
    const model = scripted(say('Very well.'));
    await runAgent({ model, context, tools: [echo], task: 'Something else.' });
    expect(violations(model.requests)).toEqual([]);
    expect(roles(context.messages())).toBe('user assistant tool user assistant');
    expect(contents(context.messages())[2]).toMatch(/^Error: it was not made/);
  });

  it('leaves calls open that the provider answers itself', async () => {
    const searching = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} };
    const paused = { role: 'assistant', content: [searching] };
    const context = createMemorySession<AnthropicMessage>({ format: anthropic });
    await context.add({ role: 'user', content: 'Search.' }, paused);
    const asked: (readonly AnthropicMessage[])[] = [];
    const ask = async ({ messages }: ModelRequest<AnthropicMessage>) => {
      asked.push(messages);
      return { messages: [{ role: 'assistant', content: 'Found.' }], calls: [], text: 'Found.' };
    };
    await runAgent({ model: Object.assign(ask, { format: anthropic }), context });
    expect(asked[0]?.at(-1)).toEqual(paused);
  });

  it.each([
    ['a model that is no function', { model: 'gpt-5' }],
    ['an option that is not there', { model: scripted(), maxIterations: 3 }],
    ['messages, which are called task', { model: scripted(say('x')), task: 'Go.', messages: [] }],
    ['an empty task', { model: scripted(say('x')), task: '' }],
    ['no task where nothing was said yet', { model: scripted(say('x')) }],
    ['no iterations', { model: scripted(), maxToolIterations: 0 }],
    ['a context that is no session', { model: scripted(), context: {} }],
    ['tools that are no list', { model: scripted(), tools: {} }],
    ['a model in a format that has no writer', { model: inFormat({ ...chat, name: 'mine' }), task: 'Go.' }],
    ['a model in a format that is not there', { model: inFormat('chatt'), task: 'Go.' }],
    ['two tools of one name', { model: scripted(), tools: [echo, echo] }],
  ])('refuses %s', async (_what, options) => {
    await expect(runAgent(options as never)).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  it('runs in the format of its model without a session, given as an object or by its name', async () => {
    for (const format of [anthropic, 'anthropic'] as const) {
      const asked: (readonly AnthropicMessage[])[] = [];
      const ask = async ({ messages }: ModelRequest<AnthropicMessage>) => {
        asked.push(messages);
        const use = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: { text: 'x' } };
        if (asked.length > 1) return { messages: [{ role: 'assistant', content: 'Done.' }], calls: [], text: 'Done.' };
        const calls = [{ id: 'toolu_1', name: 'echo', arguments: { text: 'x' } }];
        return { messages: [{ role: 'assistant', content: [use] }], calls, text: '' };
      };
      await runAgent({ model: Object.assign(ask, { format }), tools: [echo], task: 'Echo.' });
      expect(asked[1]?.at(-1)).toEqual({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'echo: x' }],
      });
    }
  });

  it('names the format of a model for which there is no writer, and those that it may have', async () => {
    const model = inFormat({ ...chat, name: 'mine' }) as never;
    await expect(runAgent({ model, task: 'Go.' })).rejects.toThrow(
      /the format of the model to be one of chat, .*openai-agents, ollama, bedrock-converse, pi, or a format object with such a name but found 'mine'/,
    );
  });

  it('refuses to run twice at a time in one session: each would answer the calls of the other', async () => {
    const context = createMemorySession<ChatMessage>();
    let second: unknown;
    const again: Tool = {
      name: 'again',
      run: async () => {
        second = await runAgent({ model: scripted(say('x')), context, task: 'Me too.' }).catch((error) => error);
      },
    };
    const model = scripted(call(['again']), say('Done.'), say('Now I.'));
    const { messages } = await runAgent({ model, context, tools: [again], task: 'Go.' });
    expect(second).toMatchObject({ code: 'BAD_INPUT' });
    expect(roles(messages)).toBe('user assistant tool assistant');
    expect(await runAgent({ model, context, task: 'And now?' })).toMatchObject({ text: 'Now I.' });
  });

  it('refuses a session in another format than the model', async () => {
    const model: Model<never> = Object.assign(async () => say('x') as never, { format: 'anthropic' } as const);
    const context = createMemorySession<never>({ format: 'chat' });
    await expect(runAgent({ model, context, task: 'x' })).rejects.toThrow(/format: 'anthropic'.*'chat'/);
  });
});

describe('an abort', () => {
  it('ends a run that waits for its model', async () => {
    const controller = new AbortController();
    const model = scripted(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          controller.abort();
        }),
    );
    const result = await runAgent({ model, task: 'Go.', signal: controller.signal });
    expect(result).toMatchObject({ status: 'aborted', iterations: 0 });
    expect(roles(result.messages)).toBe('user');
  });

  it('ends a run in its tools: they are told, and every call is answered', async () => {
    const controller = new AbortController();
    let told = false;
    const stuck: Tool = {
      name: 'stuck',
      run: (_args, { signal }) => {
        signal.addEventListener('abort', () => {
          told = true;
        });
        queueMicrotask(() => controller.abort());
        return new Promise(() => {});
      },
    };
    const model = scripted(call(['echo', { text: 'quick' }], ['stuck']));
    const result = await runAgent({ model, task: 'Go.', tools: [echo, stuck], signal: controller.signal });
    expect(result.status).toBe('aborted');
    expect(told).toBe(true);
    expect(contents(result.messages).slice(-2)).toEqual([
      'echo: quick',
      'Error: the run was aborted before this call had finished',
    ]);
    expect(model.requests).toHaveLength(1);
  });

  it('does not wait for a model that does not listen', async () => {
    const controller = new AbortController();
    const deaf = () => {
      controller.abort();
      return new Promise<never>(() => {});
    };
    expect((await runAgent({ model: scripted(deaf), task: 'Go.', signal: controller.signal })).status).toBe('aborted');
  });

  it('before the start asks nobody', async () => {
    const model = scripted(say('x'));
    expect((await runAgent({ model, task: 'Go.', signal: AbortSignal.abort() })).status).toBe('aborted');
    expect(model.requests).toHaveLength(0);
  });
});

describe('when whoever asked is gone', () => {
  const gone = (onDisconnect?: 'pause' | 'continue') => {
    const controller = new AbortController();
    const leave: Tool = { name: 'leave', run: () => controller.abort() };
    const model = scripted(call(['leave']), say('Done.'));
    const more = onDisconnect ? { onDisconnect } : {};
    return runAgent({ model, task: 'Go.', tools: [leave], disconnected: controller.signal, ...more });
  };

  it('pauses before the next request, with every call answered', async () => {
    const result = await gone();
    expect(result).toMatchObject({ status: 'paused', iterations: 1 });
    expect(roles(result.messages)).toBe('user assistant tool');
  });

  it('or goes on to the end', async () => {
    expect(await gone('continue')).toMatchObject({ status: 'complete', text: 'Done.' });
  });
});

describe('steering', () => {
  it('is told before the next request, never between a call and its result', async () => {
    const steering = createSteering();
    const busy: Tool = {
      name: 'busy',
      run: () => {
        steering.push('Mind the tests.', 'And hurry.');
        return 'worked';
      },
    };
    const model = scripted(call(['busy'], ['echo', { text: 'x' }]), say('I will.'));
    const { messages } = await runAgent({ model, task: 'Go.', tools: [busy, echo], steering });
    expect(roles(messages)).toBe('user assistant tool tool user user assistant');
    expect(violations(model.requests)).toEqual([]);
    expect(model.requests[1]?.messages.at(-1)?.content).toBe('And hurry.');
  });

  it('keeps a run going that would have ended', async () => {
    const steering = createSteering();
    const first = () => {
      steering.push('One more thing.');
      return say('Done.');
    };
    const result = await runAgent({ model: scripted(first, say('That too.')), task: 'Go.', steering });
    expect(result).toMatchObject({ status: 'complete', text: 'That too.', iterations: 2 });
  });
});

describe('approvals', () => {
  let made: string[] = [];
  const remove: Tool<{ path: string }> = {
    name: 'remove',
    needsApproval: ({ path }) => path !== '/tmp/x',
    run: ({ path }) => {
      made.push(path);
      return `removed ${path}`;
    },
  };
  const start = (tools: readonly Tool[] = [remove, echo]) => {
    made = [];
    const model = scripted(call(['remove', { path: '/etc' }], ['echo', { text: 'x' }]), say('As you wish.'));
    const context = createMemorySession<ChatMessage>();
    return { model, context, tools };
  };

  it('stop a run until someone decides; nothing of that reply is run before', async () => {
    const options = start();
    const events: string[] = [];
    const result = await runAgent({ ...options, task: 'Clean up.', onEvent: ({ type }) => events.push(type) });
    expect(result).toMatchObject({
      status: 'awaiting-approval',
      pending: [{ name: 'remove', arguments: { path: '/etc' } }],
    });
    expect(roles(result.messages)).toBe('user assistant');
    expect(events.at(-1)).toBe('approval-required');
    expect(made).toEqual([]);
  });

  it('are not asked for where a tool says they need not be', async () => {
    const model = scripted(call(['remove', { path: '/tmp/x' }]), say('Gone.'));
    expect((await runAgent({ model, tools: [remove], task: 'Clean up.' })).status).toBe('complete');
  });

  it('are brought by resumeAgent: what was approved is made, and the run goes on', async () => {
    const options = start();
    const { pending } = await runAgent({ ...options, task: 'Clean up.' });
    const result = await resumeAgent({ ...options, decisions: { [pending[0]?.id ?? '']: true } });
    expect(result).toMatchObject({ status: 'complete', text: 'As you wish.' });
    expect(contents(result.messages).slice(2, 4)).toEqual(['removed /etc', 'echo: x']);
    expect(violations(options.model.requests)).toEqual([]);
  });

  it('tell the model what was denied, and why', async () => {
    const options = start();
    const { pending } = await runAgent({ ...options, task: 'Clean up.' });
    const decision = { approved: false, reason: 'not on this machine' };
    const { messages } = await resumeAgent({ ...options, decisions: { [pending[0]?.id ?? '']: decision } });
    expect(contents(messages)[2]).toBe('Error: the user did not approve this call: not on this machine');
    expect(made).toEqual([]);
  });

  it('wait on where a decision is missing', async () => {
    const options = start();
    await runAgent({ ...options, task: 'Clean up.' });
    const again = await resumeAgent({ ...options, decisions: {} });
    expect(again).toMatchObject({ status: 'awaiting-approval', pending: [{ name: 'remove' }] });
  });

  const two = () => ({
    ...start(),
    model: scripted(call(['remove', { path: '/a' }], ['remove', { path: '/b' }]), say('Gone.')),
  });

  it('may be decided one after the other, as pending lists them', async () => {
    const options = two();
    const { pending: both } = await runAgent({ ...options, task: 'Clean up.' });
    const [first = '', second = ''] = both.map(({ id }) => id);
    const stopped = await resumeAgent({ ...options, decisions: { [first]: { approved: false, reason: 'mine' } } });
    expect(stopped).toMatchObject({ status: 'awaiting-approval', pending: [{ id: second }] });
    expect(options.context.decidedApprovals()).toEqual([{ callId: first, approved: false, reason: 'mine' }]);
    expect(made).toEqual([]);
    const { status, messages } = await resumeAgent({ ...options, decisions: { [second]: true } });
    expect(status).toBe('complete');
    expect(contents(messages).slice(2, 4)).toEqual(['Error: the user did not approve this call: mine', 'removed /b']);
    expect(options.context.decidedApprovals()).toEqual([]);
  });

  it('keep what approve decided at once, where another call waits', async () => {
    const options = two();
    const approve: Approve = ({ arguments: args }) => ((args as { path: string }).path === '/a' ? true : 'wait');
    const { pending } = await runAgent({ ...options, task: 'Clean up.', approve });
    expect(pending).toHaveLength(1);
    const result = await resumeAgent({ ...options, decisions: { [pending[0]?.id ?? '']: true } });
    expect(result.status).toBe('complete');
    expect(made).toEqual(['/a', '/b']);
  });

  it('hold for one call: a later one with the same id waits', async () => {
    const same = [{ id: 'same', name: 'remove', arguments: '{"path":"/etc"}' }];
    const { context, model, tools } = start();
    const calls: ChatMessage = { role: 'assistant', content: '', toolCalls: same };
    await context.add({ role: 'user', content: 'Go.' }, calls);
    await context.log({ type: 'approval_decision', call_id: 'same', decision: 'approved' });
    expect(context.decidedApprovals()).toHaveLength(1);
    await context.add({ role: 'tool', toolCallId: 'same', content: 'removed' }, calls);
    expect(context.decidedApprovals()).toEqual([]);
    expect(await resumeAgent({ context, model, tools, decisions: {} })).toMatchObject({ status: 'awaiting-approval' });
  });

  it('wait on for a call whatever its id is: none was decided by chance', async () => {
    const toolCalls = [{ id: 'constructor', name: 'remove', arguments: '{"path":"/etc"}' }];
    const { context, model, tools } = start();
    await context.add({ role: 'user', content: 'Go.' }, { role: 'assistant', content: '', toolCalls });
    expect(await resumeAgent({ context, model, tools, decisions: {} })).toMatchObject({ status: 'awaiting-approval' });
  });

  it('refuse a decision about a call that nobody made', async () => {
    const options = start();
    await runAgent({ ...options, task: 'Clean up.' });
    await expect(resumeAgent({ ...options, decisions: { call_x: true } })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });

  it('refuse messages beside a session, which has them already, and a task', async () => {
    const options = start();
    const { messages, pending } = await runAgent({ ...options, task: 'Clean up.' });
    const decisions = { [pending[0]?.id ?? '']: true };
    await expect(resumeAgent({ ...options, messages, decisions })).rejects.toThrow(/messages.*left out/);
    await expect(resumeAgent({ ...options, decisions, task: 'x' } as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });

  it('make no call of which a tool cannot tell whether it needs one', async () => {
    const careful: Tool<{ path: string }> = { ...remove, needsApproval: ({ path }) => path.startsWith('/etc') };
    const options = { ...start([careful]), model: scripted(call(['remove']), say('I see.')) };
    const { messages, status } = await runAgent({ ...options, task: 'Clean up.' });
    expect(status).toBe('complete');
    expect(contents(messages)[2]).toMatch(/^Error: it could not be told whether remove may be called like this: /);
    expect(made).toEqual([]);
  });

  it.each([
    ['does not answer', () => new Promise<never>(() => {})],
    ['would wait', () => 'wait' as const],
  ])('are not waited for in a run that is aborted, where whoever is asked %s', async (_what, answer) => {
    const controller = new AbortController();
    const approve = () => {
      controller.abort();
      return answer();
    };
    const result = await runAgent({ ...start(), task: 'Clean up.', approve, signal: controller.signal });
    expect(result).toMatchObject({ status: 'aborted', pending: [] });
    expect(roles(result.messages)).toBe('user assistant tool tool');
    expect(made).toEqual([]);
  });

  it('need a conversation with calls that wait', async () => {
    const options = { model: scripted(say('x')), context: createMemorySession<ChatMessage>() };
    await expect(resumeAgent({ ...options, decisions: {} })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  it('may be decided at once', async () => {
    const asked: unknown[] = [];
    const options = start();
    const result = await runAgent({
      ...options,
      task: 'Clean up.',
      approve: ({ arguments: args }) => {
        asked.push(args);
        return false;
      },
    });
    expect(result.status).toBe('complete');
    expect(asked).toEqual([{ path: '/etc' }]);
    expect(contents(result.messages)[2]).toBe('Error: the user did not approve this call');
  });

  it('work without a session, from the messages of the result', async () => {
    const { model, tools } = start();
    const { pending, messages } = await runAgent({ model, tools, task: 'Clean up.' });
    const decisions = { [pending[0]?.id ?? '']: true };
    expect((await resumeAgent({ model, tools, messages, decisions })).status).toBe('complete');
  });

  it('are given up where the conversation goes on without them', async () => {
    const options = start();
    await runAgent({ ...options, task: 'Clean up.' });
    const result = await runAgent({ ...options, task: 'Forget it.' });
    expect(result.status).toBe('complete');
    expect(violations(options.model.requests)).toEqual([]);
    expect(made).toEqual([]);
  });
});

const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i % 97}`).join(' ');

/** Answers so many tokens of text. */
const big: Tool<{ tokens: number }> = {
  name: 'big',
  run: ({ tokens }) => {
    let text = words(tokens);
    while (countTokens(text) > tokens) text = text.slice(0, Math.floor(text.length * 0.95));
    return text;
  },
};

describe('the budget of a request', () => {
  const sizeOf = (request: ModelRequest<ChatMessage> | undefined): number =>
    countTokens(JSON.stringify(request?.messages ?? []));

  it('cuts results when they arrive, and keeps them whole in the conversation', async () => {
    const model = scripted(call(['big', { tokens: 30_000 }]), say('Much.'));
    const { messages } = await runAgent({ model, tools: [big], task: 'Read.' });
    expect(sizeOf(model.requests[1])).toBeLessThan(9000);
    expect(model.requests[1]?.messages[2]?.content).toContain('[truncated: kept first ~8000 of ~');
    expect(countTokens(messages[2]?.content ?? '')).toBeGreaterThan(25_000);
  });

  it('holds for results that come after an approval', async () => {
    const model = scripted(call(['big', { tokens: 30_000 }]), say('Much.'));
    const context = createMemorySession<ChatMessage>();
    const options = { model, context, tools: [{ ...big, needsApproval: true }] };
    const { pending } = await runAgent({ ...options, task: 'Read.' });
    await resumeAgent({ ...options, decisions: { [pending[0]?.id ?? '']: true } });
    expect(sizeOf(model.requests[1])).toBeLessThan(9000);
  });

  it('caps the conversation before the run, not the run itself', async () => {
    const context = createMemorySession<ChatMessage>();
    for (let i = 0; i < 20; i++)
      await context.add({ role: 'user', content: words(500) }, { role: 'assistant', content: words(500) });
    const reads = Array.from({ length: 6 }, () => call(['big', { tokens: 4000 }]));
    const model = scripted(...reads, say('Read.'));
    await runAgent({ model, context, tools: [big], task: 'Read all six.', maxHistoryTokens: 6000 });
    expect(sizeOf(model.requests[0])).toBeLessThan(6500);
    expect(model.requests[0]?.messages.at(-1)?.content).toBe('Read all six.');
    expect(contents(model.requests[0]?.messages ?? []).some((text) => text.startsWith('[conversation truncated'))).toBe(
      true,
    );
    expect(sizeOf(model.requests[6])).toBeGreaterThan(20_000);
    // A cut stays: the first messages are those of the request before.
    expect(model.requests[1]?.messages.slice(0, 3)).toEqual(model.requests[0]?.messages.slice(0, 3));
  });

  it('is kept in a long run, though nothing is ever masked by price', async () => {
    const steps = Array.from({ length: 24 }, () => call(['big', { tokens: 3000 }]));
    const model = scripted(...steps, say('Read.'));
    const result = await runAgent({
      model,
      tools: [big],
      task: 'Read on.',
      maxInputTokens: 20_000,
      maxOutputTokens: 1000,
    });
    expect(result.status).toBe('complete');
    for (const request of model.requests) expect(sizeOf(request)).toBeLessThan(17_000);
    expect(violations(model.requests)).toEqual([]);
    expect(model.requests.every(({ messages }) => messages.some(({ content }) => content === 'Read on.'))).toBe(true);
  });

  it('that leaves no room at all is an error that says so', async () => {
    const system = words(3000);
    const run = runAgent({
      model: scripted(say('x')),
      task: 'Go.',
      system,
      maxInputTokens: 2000,
      maxOutputTokens: 500,
    });
    await expect(run).rejects.toMatchObject({ code: 'BUDGET_IMPOSSIBLE' });
  });
});

describe('a request that the provider refuses as too large', () => {
  const refused = (): Error => new Error('prompt is too long: 213462 tokens > 200000 maximum');
  const sizeOf = (request: ModelRequest<ChatMessage> | undefined): number => JSON.stringify(request?.messages).length;
  const reads = Array.from({ length: 8 }, () => call(['big', { tokens: 3000 }]));

  it('is sent once more, smaller, and those after it stay smaller', async () => {
    const model = scripted(...reads, refused(), call(['big', { tokens: 3000 }]), say('It fits.'));
    const events: AgentEvent[] = [];
    const result = await runAgent({ model, tools: [big], task: 'Read.', onEvent: (event) => events.push(event) });
    expect(result).toMatchObject({ status: 'complete', text: 'It fits.' });
    expect(events.filter(({ type }) => type === 'overflow')).toHaveLength(1);
    const [large, small, next] = model.requests.slice(8);
    expect(sizeOf(small)).toBeLessThan(0.75 * sizeOf(large));
    expect(sizeOf(next)).toBeLessThan(0.8 * sizeOf(large));
    expect(violations(model.requests)).toEqual([]);
  });

  it('and once more refused ends the run, with the words of the provider', async () => {
    const model = scripted(...reads, refused(), refused(), say('never'));
    const result = await runAgent({ model, tools: [big], task: 'Read.' });
    expect(result).toMatchObject({ status: 'context-full', because: expect.stringContaining('prompt is too long') });
    expect(model.requests).toHaveLength(10);
  });

  it('and cannot be smaller ends the run, with the words of the provider', async () => {
    const model = scripted(refused(), say('never'));
    const result = await runAgent({ model, task: 'Go.', system: words(3000) });
    expect(result).toMatchObject({ status: 'context-full', because: expect.stringContaining('prompt is too long') });
    expect(model.requests).toHaveLength(1);
  });

  it('is recognised where the answer itself ran into the end of the window', async () => {
    const model = scripted(...reads, say('I was cut', { stop: 'context-full' }), say('Now I can say it.'));
    const result = await runAgent({ model, tools: [big], task: 'Read.' });
    expect(result).toMatchObject({ status: 'complete', text: 'Now I can say it.' });
    expect(contents(result.messages)).not.toContain('I was cut');
  });
});

describe('when the window fills', () => {
  const start = (more: object = {}) =>
    createMemorySession<ChatMessage>({
      contextLimit: 10_000,
      carryoverTurns: 2,
      policy: polling({ turns: 2, every: 100 }),
      ...more,
    });
  const used = (tokens: number) => ({ ...call(['big', { tokens: 300 }]), usage: usage(tokens) });

  it('masks from the soft threshold on, and tells the model', async () => {
    const steps = Array.from({ length: 8 }, (_, i) => used(i < 7 ? 1000 : 7500));
    const model = scripted(...steps, say('Done.', { usage: usage(3000) }));
    const events: AgentEvent[] = [];
    await runAgent({ model, context: start(), tools: [big], task: 'Go.', onEvent: (event) => events.push(event) });
    expect(events.filter(({ type }) => type === 'masked')).toHaveLength(1);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.at(-1)?.content).toMatch(/^\[Context compressed: \d+ observations masked this round, \d+ total, ~\d+%/);
    expect(last.filter(({ content }) => content.includes('masked')).length).toBeGreaterThan(3);
    expect(violations(model.requests)).toEqual([]);
  });

  it('winds down at the hard threshold, then restarts with the task, and says so in the system prompt', async () => {
    let saved = 0;
    const context = start({ onWindDown: () => void saved++ });
    const model = scripted(used(9200), used(9300), say('Done.', { usage: usage(500) }));
    const events: string[] = [];
    const result = await runAgent({
      model,
      context,
      tools: [big],
      task: 'The task.',
      system: 'Be brief.',
      onEvent: ({ type }) => events.push(type),
    });
    expect(result).toMatchObject({ status: 'complete', restarts: 1 });
    expect(events.filter((type) => type === 'wind-down' || type === 'restarted')).toEqual(['wind-down', 'restarted']);
    expect(saved).toBe(1);
    expect(context.number).toBe(2);
    const after = model.requests.at(-1);
    expect(after?.system).toMatch(/^Be brief\.\n\n## Session Continuity/);
    expect(after?.messages[0]?.content).toBe('The task.');
    expect(after?.messages.some(({ content }) => content.startsWith('[Session restarted. Session #2.'))).toBe(true);
    expect(violations(model.requests)).toEqual([]);
  });

  it('forgets that it wound down once there is room again', async () => {
    const steps = [used(9200), used(2000), used(2000), used(9200), used(9200), say('Done.', { usage: usage(500) })];
    const events: string[] = [];
    const onEvent = ({ type }: AgentEvent) => events.push(type);
    const result = await runAgent({ model: scripted(...steps), context: start(), tools: [big], task: 'Go.', onEvent });
    expect(result).toMatchObject({ status: 'complete', restarts: 0 });
    expect(events.filter((type) => type === 'wind-down')).toHaveLength(2);
  });

  it('tells where the request differs from the one before, for the cache', async () => {
    const steps = Array.from({ length: 8 }, (_, i) => used(i < 7 ? 1000 : 7500));
    const model = scripted(...steps, say('Done.'));
    await runAgent({ model, context: start(), tools: [big], task: 'Go.' });
    const [before, after] = model.requests.slice(-2);
    const [marker = 0] = after?.cacheMarkers ?? [];
    expect(model.requests.slice(0, -1).every(({ cacheMarkers }) => cacheMarkers === undefined)).toBe(true);
    expect(after?.messages.slice(0, marker)).toEqual(before?.messages.slice(0, marker));
    expect(after?.messages[marker]).not.toEqual(before?.messages[marker]);
  });

  it('learns how the provider counts, system prompt and tools included', async () => {
    const context = createMemorySession<ChatMessage>();
    const counted = (request: ModelRequest<ChatMessage>) => ({
      ...call(['big', { tokens: 100 }]),
      usage: usage(Math.round(1.5 * count(request))),
    });
    const model = scripted(counted, counted, say('Done.'));
    await runAgent({ model, context, tools: [big], task: 'Go.', system: words(2000) });
    expect(context.manager.calibration.ratio('')).toBeCloseTo(1.5, 1);
  });

  it('winds down where results do not fit into a request, far from the thresholds, and restarts the second time', async () => {
    const context = start({ contextLimit: 100_000 });
    const three = (request: ModelRequest<ChatMessage>) => {
      const big = ['big', { tokens: 3900 }] as const;
      return { ...call(big, big, big), usage: usage(count(request)) };
    };
    const model = scripted(three, three, say('Done.'));
    const events: string[] = [];
    const onEvent = ({ type }: AgentEvent) => events.push(type);
    await runAgent({
      model,
      context,
      tools: [big],
      task: 'Go.',
      maxInputTokens: 12_000,
      maxOutputTokens: 500,
      onEvent,
    });
    expect(events.filter((type) => type === 'wind-down' || type === 'restarted')).toEqual(['wind-down', 'restarted']);
    expect(model.requests[1]?.messages.at(-1)?.content).toMatch(/^\[Context window \d+% full\./);
    expect(violations(model.requests)).toEqual([]);
  });

  it('acts before a provider is asked for too much, though it counted little so far', async () => {
    const steps = Array.from({ length: 12 }, () => call(['big', { tokens: 1500 }]));
    const model = scripted(...steps, say('Done.'));
    const events: string[] = [];
    const onEvent = ({ type }: AgentEvent) => events.push(type);
    const context = start({ contextLimit: 12_000 });
    await runAgent({ model, context, tools: [big], task: 'Go.', maxOutputTokens: 500, onEvent });
    expect(events).toContain('masked');
    const sizes = model.requests.map(({ messages }) => sizeOfMessages(messages, chat, countTokens));
    expect(Math.max(...sizes)).toBeLessThan(12_000 - 500 - 1200);
    expect(
      contents(model.requests.at(-1)?.messages ?? []).some((text) => text.includes('older messages omitted')),
    ).toBe(false);
  });

  it('ends after maxRestarts', async () => {
    const model = scripted(used(9500));
    const result = await runAgent({
      model,
      context: start({ maxRestarts: 2 }),
      tools: [big],
      task: 'Go.',
      maxToolIterations: 100,
    });
    expect(result).toMatchObject({ status: 'context-full', restarts: 2, because: 'max-restarts' });
  });

  it('ends where it may not restart by itself', async () => {
    const model = scripted(used(9500));
    const result = await runAgent({ model, context: start(), tools: [big], task: 'Go.', autoRestart: false });
    expect(result).toMatchObject({ status: 'context-full', restarts: 0 });
  });
});

describe('signed thinking', () => {
  it('makes a request opt into losing what was bound to words that are gone', async () => {
    const requests: ModelRequest<unknown>[] = [];
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
    const model = Object.assign(
      async (request: ModelRequest<unknown>) => {
        requests.push(request);
        const isFirst = requests.length === 1;
        const use = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: { text: 'x' } };
        return {
          messages: [{ role: 'assistant', content: isFirst ? [thinking, use] : [{ type: 'text', text: 'Done.' }] }],
          calls: isFirst ? [{ id: 'toolu_1', name: 'echo', arguments: { text: 'x' } }] : [],
          text: isFirst ? '' : 'Done.',
        };
      },
      { format: 'anthropic' as const, model: 'claude-opus-5-5' },
    );
    await runAgent({ model, tools: [echo], task: 'Think.' });
    expect(requests[0]?.requires).toBeUndefined();
    expect(requests[1]?.requires).toEqual([
      expect.objectContaining({ field: 'thinking.block_binding.prefix_mismatch_behavior', value: 'drop_block' }),
    ]);
  });
});
