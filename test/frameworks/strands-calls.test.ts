import {
  Agent,
  type AgentConfig,
  InvokeModelStage,
  Message,
  type MessageData,
  SessionManager,
  TextBlock,
  ToolResultBlock,
  tool,
} from '@strands-agents/sdk';
import { InMemoryStorage } from '@strands-agents/sdk/storage';
import { describe, expect, it } from 'vitest';
import { palimpsest, type StrandsContext, type StrandsOptions } from '../../src/adapters/strands/index.ts';
import { isPlaceholder } from '../../src/laws/idempotent.ts';
import { polling, slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createJob } from '../../src/testing/adapter-job.ts';
import type { ScriptedReply } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { type Received, toTool, withBedrock } from './strands-driver.ts';

const job = createJob('job');
const policy = slidingWindow({ turns: 2 });
const replies = Array.from({ length: 10 }, (_, turn) => job.reply(turn));

interface Settings extends Omit<AgentConfig, 'model'> {
  readonly fit?: StrandsOptions;
  readonly modelId?: string;
  /** Whether Strands manages the context, as it does by default. */
  readonly managed?: boolean;
  readonly invocationState?: Record<string, unknown>;
  /** Called with the agent before it is invoked. */
  prepare?(agent: Agent): void;
}

/** Runs an agent by a script, which ends with "Done.". */
async function runAgent(script: readonly ScriptedReply[], settings: Settings = {}) {
  const { fit, modelId, managed = false, invocationState = {}, prepare, ...rest } = settings;
  const config = managed ? rest : { contextManager: false as const, ...rest };
  const requests: Received[] = [];
  const answer = (request: Received) => script[requests.push(request) - 1] ?? { text: 'Done.' };
  const agent = await withBedrock(answer, async (model) => {
    if (modelId) model.updateConfig({ modelId });
    const tools = job.tools.map(toTool);
    const made = new Agent({ model, tools, printer: false, ...config });
    if (fit) made.addMiddleware(InvokeModelStage.Input, palimpsest(fit));
    prepare?.(made);
    await made.invoke('Go.', { invocationState });
    return made;
  });
  return { requests, agent };
}

/** The contents of the results in a request. */
const resultsIn = (request: Received | undefined) =>
  (request?.messages ?? []).flatMap(({ content }) =>
    (content as { toolResult?: { content: { text?: string }[]; status?: string } }[]).flatMap(({ toolResult }) =>
      toolResult ? [toolResult] : [],
    ),
  );

const maskedIn = (request: Received | undefined): number =>
  resultsIn(request).filter(({ content }) => isPlaceholder(content[0]?.text ?? '')).length;

describe('an agent of Strands', () => {
  it('takes the middleware in a plugin too', async () => {
    const plugin = {
      name: 'palimpsest',
      initAgent: (agent: Pick<Agent, 'addMiddleware'>) =>
        void agent.addMiddleware(InvokeModelStage.Input, palimpsest({ policy })),
    };
    const { requests } = await runAgent(replies, { plugins: [plugin] });
    expect([requests.length, maskedIn(requests[10])]).toEqual([11, 8]);
  });

  it('drops old messages itself where contextManager is not false', async () => {
    const script = Array.from({ length: 30 }, (_, turn) => job.reply(turn));
    const kept = await runAgent(script, { fit: { policy } });
    const dropped = await runAgent(script, { fit: { policy }, managed: true });
    expect([kept.agent.messages.length, dropped.agent.messages.length <= 40]).toEqual([62, true]);
  });

  it('takes a strategy that keeps the originals, also where they exceed the window', async () => {
    const script = Array.from({ length: 30 }, (_, turn) => job.reply(turn));
    const small = (agent: Agent) => agent.model.updateConfig({ contextWindowLimit: 3000 } as never);
    const strategy = palimpsest.strategy({ policy, maxTokens: 100_000, stage: InvokeModelStage });
    const managed = { strategies: [strategy], stash: false };
    const { requests, agent } = await runAgent(script, { contextManager: managed, prepare: small });
    expect([requests.length, agent.messages.length]).toEqual([31, 62]);
    expect(JSON.stringify(agent.messages)).toContain('src/read-0a.ts holds line 39');
    expect(maskedIn(requests[30])).toBeGreaterThan(15);
    expect(requests[30]?.toolConfig?.tools.map(({ toolSpec }) => toolSpec?.name)).not.toContain('retrieve_context');
    // Without the strategy, Strands drops the oldest messages from the agent.
    const alone = await runAgent(script, { contextManager: { strategies: [], stash: false }, prepare: small });
    expect(alone.agent.messages.length).toBeLessThan(62);
  });

  it('refuses a strategy without its stage', () => {
    expect(() => palimpsest.strategy({} as never)).toThrow(
      /^Expected palimpsest.strategy option stage to be InvokeModelStage/,
    );
  });

  it('sends messages of its own classes, and those that were not edited as they came', async () => {
    const seen: { before: readonly Message[]; after: readonly Message[] }[] = [];
    let before: readonly Message[] = [];
    const { agent } = await runAgent(replies, {
      prepare: (made) => {
        made.addMiddleware(InvokeModelStage.Input, (context) => {
          before = context.messages;
          return context;
        });
        made.addMiddleware(InvokeModelStage.Input, palimpsest({ policy }));
        made.addMiddleware(InvokeModelStage.Input, (context) => {
          seen.push({ before, after: context.messages });
          return context;
        });
      },
    });
    const { before: given, after } = seen.at(-1) ?? { before: [], after: [] };
    expect(after.every((message) => message instanceof Message)).toBe(true);
    const edited = after.filter((message) => !given.some((one) => one.trackingId === message.trackingId));
    expect(edited).toEqual([]);
    const [masked] = after[2]?.content ?? [];
    expect(masked).toBeInstanceOf(ToolResultBlock);
    expect((masked as ToolResultBlock).content[0]).toBeInstanceOf(TextBlock);
    expect(after[2]?.toJSON()).not.toEqual(agent.messages[2]?.toJSON());
    expect(after[1]?.toJSON()).toEqual(agent.messages[1]?.toJSON());
  });

  it('counts its system prompt, as a text and as blocks', async () => {
    const sizeWith = async (systemPrompt: NonNullable<AgentConfig['systemPrompt']>): Promise<number> => {
      const reports: Report[] = [];
      await runAgent([], { systemPrompt, fit: { onReport: (report) => void reports.push(report) } });
      return reports[0]?.tokens.before ?? 0;
    };
    const words = 'word '.repeat(1001);
    const small = await sizeWith('word');
    expect((await sizeWith(words)) - small).toBeGreaterThan(900);
    expect((await sizeWith([{ text: words }])) - small).toBeGreaterThan(900);
  });

  it('names its session, and a function can choose another', async () => {
    const sessions: (string | undefined)[] = [];
    const onReport = (_report: Report, { session }: { session?: string }) => void sessions.push(session);
    const sessionManager = () => new SessionManager({ sessionId: 'chat-1', storage: new InMemoryStorage() });
    await runAgent([], { fit: { onReport }, sessionManager: sessionManager() });
    await runAgent([], {
      fit: { onReport, session: ({ invocationState }) => String(invocationState.chat) },
      invocationState: { chat: 'chat-2' },
      sessionManager: sessionManager(),
    });
    expect(sessions).toEqual(['chat-1', 'chat-2']);
  });

  it('tells the model of a wrong argument of recall', async () => {
    const recall = tool(palimpsest.recall({ store: createMemoryStore() }));
    const calls = [{ id: 'call_1', tool: 'recall', input: { handel: 1 } }];
    const { requests } = await runAgent([{ calls }], { tools: [recall] });
    expect(resultsIn(requests[1])).toMatchObject([
      { status: 'error', content: [{ text: expect.stringContaining('did you mean handle?') }] },
    ]);
  });

  it('gets a recalled image as an image', async () => {
    const store = createMemoryStore();
    const recall = tool(palimpsest.recall({ store }));
    const calls = (handle: string) => [{ id: 'call_1', tool: 'recall', input: { handle } }];
    const image = { image: { format: 'png', source: { bytes: PNG } } };
    const handle = await store.put(JSON.stringify([image]), { session: 's' });
    const { requests } = await runAgent([{ calls: calls(handle) }], { tools: [recall] });
    expect(resultsIn(requests[1])).toMatchObject([
      { content: [{ text: expect.stringContaining('[image 1: image/png]') }, image] },
    ]);
  });

  it('offers recall with its whole JSON schema', async () => {
    const recall = tool(palimpsest.recall({ store: createMemoryStore() }));
    const { requests } = await runAgent([], { tools: [recall] });
    expect(requests[0]?.toolConfig?.tools[0]?.toolSpec).toMatchObject({
      name: 'recall',
      inputSchema: { json: { required: ['handle'] } },
    });
  });

  it('gets no new masks before signed reasoning that is bound to them', async () => {
    const wholeIn = async (modelId: string): Promise<number[]> => {
      const { requests } = await runAgent(replies, { fit: { policy }, modelId });
      const whole = resultsIn(requests[10]).map(({ content }) => !isPlaceholder(content[0]?.text ?? ''));
      return whole.flatMap((isWhole, i) => (isWhole ? [i] : []));
    };
    // Results of turns 6 (short), 8 and 9. The reasoning of turn 5 saw those of turns 3 and 4 whole.
    expect(await wholeIn('us.anthropic.claude-sonnet-4-5-v1:0')).toEqual([7, 9, 10]);
    expect(await wholeIn('us.anthropic.claude-opus-5-5-v1:0')).toEqual([3, 4, 7, 9, 10]);
  });

  it('keeps the citations of a message in which the texts of an edit were shortened', async () => {
    const input = { path: 'a.ts', old_string: 'old line\n'.repeat(200), new_string: 'new' };
    const content = [
      { citations: { citations: [], content: [{ text: 'Cited.' }] } },
      { toolUse: { toolUseId: 'edit', name: 'edit', input } },
    ];
    const result = (toolUseId: string, text: string) => ({
      role: 'user',
      content: [{ toolResult: { toolUseId, status: 'success', content: [{ text }] } }],
    });
    const messages = [
      { role: 'user', content: [{ text: 'Edit.' }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'read', name: 'read', input: { path: 'a.ts' } } }] },
      result('read', 'old line\n'.repeat(200)),
      { role: 'assistant', content },
      result('edit', 'Edited.'),
    ] as unknown as MessageData[];
    const sent: Message[][] = [];
    await runAgent(replies, {
      messages,
      prepare: (made) => {
        const fit = palimpsest({ policy: polling({ turns: 2, every: 6, oldTexts: true }), store: createMemoryStore() });
        made.addMiddleware(InvokeModelStage.Input, fit);
        made.addMiddleware(InvokeModelStage.Input, (context) => {
          sent.push([...context.messages]);
          return context;
        });
      },
    });
    const data = sent.at(-1)?.[3]?.toJSON() as unknown as { content: typeof content };
    expect(data.content[0]).toEqual(content[0]);
    expect(JSON.stringify(data.content[1])).toContain('chars of old text left out');
  });

  it('goes on untouched where the server of its model has the history', async () => {
    const agent = { id: 'agent', sessionId: 's', cancelSignal: new AbortController().signal };
    const messages = [new Message({ role: 'user', content: [new TextBlock('And now?')] })];
    const model = { modelId: 'gpt-5', stateful: true };
    const context: StrandsContext = { agent, model, messages, toolSpecs: [], invocationState: {} };
    expect(await palimpsest()(context)).toBe(context);
  });
});
