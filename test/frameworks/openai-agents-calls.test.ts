import {
  Agent,
  type AgentInputItem,
  handoff,
  type Model,
  Runner,
  run as runAlone,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type OpenAIAgentsOptions, palimpsest } from '../../src/adapters/openai-agents/index.ts';
import { openaiAgents } from '../../src/formats/openai-agents.ts';
import { isPlaceholder } from '../../src/laws/idempotent.ts';
import { never } from '../../src/plan/policies/never.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { runner, scriptedModel } from './openai-agents-driver.ts';

setTracingDisabled(true);

/** A model that answers with each of these in turn, and then that it is done. */
function answering(replies: readonly ScriptedReply[]): { readonly model: Model; readonly requests: SentRequest[] } {
  const requests: SentRequest[] = [];
  const model = scriptedModel((request) => replies[requests.push(request) - 1] ?? { text: 'Done.' });
  return { model, requests };
}

const call = (toolName: string, input: Readonly<Record<string, unknown>> = {}, id = '1'): ScriptedReply => ({
  calls: [{ id: `call_${toolName}_${id}`, tool: toolName, input }],
});

const read = tool({
  name: 'read',
  description: 'Reads a file.',
  parameters: z.object({ path: z.string() }),
  execute: async ({ path }) => `a line of ${path}\n`.repeat(100),
});

const reads = (count: number, name: string): ScriptedReply[] =>
  Array.from({ length: count }, (_, i) => call('read', { path: `${name}-${i}` }, `${name}_${i}`));

/** The results that a request has, by the ids of their calls. */
const resultsIn = (request: SentRequest | undefined): ReadonlyMap<string, string> =>
  new Map(
    openaiAgents
      .view((request?.messages ?? []) as never[])
      .flatMap(({ kind, callId, text }) => (kind === 'observation' && callId ? [[callId, text] as const] : [])),
  );

type AgentSettings = ConstructorParameters<typeof Agent<unknown, 'text'>>[0];

/** The size of the first request of an agent. */
async function sizeOf(agent: Agent): Promise<number> {
  const reports: Report[] = [];
  const onReport = (report: Report) => void reports.push(report);
  await runner.run(agent, 'Go.', { callModelInputFilter: palimpsest({ onReport }) });
  return reports[0]?.tokens.before ?? 0;
}

describe('a request counts', () => {
  const words = 'word '.repeat(1001);
  const larger = async (create: (text: string) => AgentSettings) => {
    const agent = (text: string) => new Agent({ ...create(text), model: answering([]).model });
    return (await sizeOf(agent(words))) - (await sizeOf(agent('word')));
  };

  it.each<[string, (text: string) => AgentSettings]>([
    ['the instructions', (instructions) => ({ name: 'A', instructions })],
    ['instructions that a function gives', (text) => ({ name: 'A', instructions: async () => text })],
    [
      'the schema of a tool that is written with zod',
      (text) => {
        const parameters = z.object({ path: z.string().describe(text) });
        return { name: 'A', tools: [tool({ name: 'find', description: 'Finds.', parameters, execute: () => '' })] };
      },
    ],
    [
      'an agent that it can hand off to',
      (handoffDescription) => ({ name: 'A', handoffs: [new Agent({ name: 'B', handoffDescription })] }),
    ],
    [
      'a handoff',
      (toolDescriptionOverride) => ({
        name: 'A',
        handoffs: [handoff(new Agent({ name: 'B' }), { toolDescriptionOverride })],
      }),
    ],
  ])('%s', async (_name, create) => {
    const more = await larger(create);
    expect(more).toBeGreaterThan(900);
    expect(more).toBeLessThan(1500);
  });

  it('against the window of the model that the agent names', async () => {
    const largest = async (name: string): Promise<number> => {
      const { model } = answering(reads(9, 'file'));
      const named = new Runner({ tracingDisabled: true, modelProvider: { getModel: () => model } });
      const dump = { ...read, invoke: async () => 'line\n'.repeat(10_000) };
      const sizes: number[] = [];
      const onReport = ({ tokens }: Report) => void sizes.push(tokens.after);
      const callModelInputFilter = palimpsest({ policy: never(), onReport });
      const agent = new Agent({ name: 'A', model: name, tools: [dump] });
      await named.run(agent, 'Go.', { maxTurns: 100, callModelInputFilter });
      return Math.max(...sizes);
    };
    expect(await largest('gpt-5')).toBeGreaterThan(150_000);
    expect(await largest('unheard-of')).toBeLessThanOrEqual(128_000);
  });
});

describe('a run', () => {
  const policy = slidingWindow({ turns: 3 });

  it('is masked alike before and after a handoff', async () => {
    const store = createMemoryStore();
    const recall = palimpsest.tools({ store });
    const second = answering(reads(8, 'second'));
    const writer = new Agent({ name: 'Writer', model: second.model, tools: [read, ...recall] });
    const first = answering([...reads(8, 'first'), call('transfer_to_Writer')]);
    const reader = new Agent({ name: 'Reader', model: first.model, tools: [read, ...recall], handoffs: [writer] });
    const sessions: string[] = [];
    const session: OpenAIAgentsOptions['session'] = ({ agent }) => {
      sessions.push(agent.name);
      return 'chat';
    };
    const context = palimpsest({ store, policy, session });
    const result = await runner.run(reader, 'Go.', { maxTurns: 50, callModelInputFilter: context });
    expect(new Set(sessions)).toEqual(new Set(['Reader', 'Writer']));
    expect([first.requests.length, second.requests.length]).toEqual([9, 9]);
    const shown = [...resultsIn(first.requests.at(-1))].filter(([, text]) => isPlaceholder(text));
    expect(shown).toHaveLength(5);
    for (const request of second.requests) {
      expect(openaiAgents.check(request.messages as never[])).toEqual([]);
      for (const [id, text] of shown) expect(resultsIn(request).get(id)).toBe(text);
    }
    expect([...resultsIn(second.requests.at(-1)).values()].filter((text) => isPlaceholder(text))).toHaveLength(13);
    expect(
      [...resultsIn({ messages: result.history, tools: [] }).values()].filter((text) => isPlaceholder(text)),
    ).toEqual([]);
  });

  it('names recall in placeholders only for agents that have the tool', async () => {
    const store = createMemoryStore();
    const second = answering([]);
    const writer = new Agent({ name: 'Writer', model: second.model, tools: [read] });
    const first = answering([...reads(6, 'file'), call('transfer_to_Writer')]);
    const tools = [read, ...palimpsest.tools({ store })];
    const reader = new Agent({ name: 'Reader', model: first.model, tools, handoffs: [writer] });
    await runner.run(reader, 'Go.', { maxTurns: 50, callModelInputFilter: palimpsest({ store, policy }) });
    expect(resultsIn(first.requests.at(-1)).get('call_read_file_0')).toContain('recall p_');
    expect(resultsIn(second.requests[0]).get('call_read_file_0')).toMatch(/masked · p_/);
  });

  it('has no masks before thinking that Anthropic signed, which would need an option of the request', async () => {
    const signed: AgentInputItem = {
      type: 'reasoning',
      content: [{ type: 'input_text', text: 'Hm.' }],
      providerData: { model: 'anthropic:claude', anthropic: { signature: 'signed' } },
    };
    const { history } = await runner.run(
      new Agent({ name: 'A', model: answering(reads(6, 'old')).model, tools: [read] }),
      'Go.',
    );
    const thought = history.flatMap((item): AgentInputItem[] =>
      item.type === 'function_call' ? [signed, item] : [item],
    );
    const input: AgentInputItem[] = [...thought, { role: 'user', content: 'Go on.' }];
    const masks = async (model?: string): Promise<number> => {
      const scripted = answering([]);
      const context = palimpsest({ policy, ...(model ? { model } : {}) });
      await runner.run(new Agent({ name: 'A', model: scripted.model }), input, { callModelInputFilter: context });
      return [...resultsIn(scripted.requests[0]).values()].filter((text) => isPlaceholder(text)).length;
    };
    expect([await masks(), await masks('claude-opus-5-5'), await masks('claude-opus-4-5')]).toEqual([0, 0, 4]);
  });

  it('gives its context to the option session', async () => {
    const sessions: (string | undefined)[] = [];
    const options: OpenAIAgentsOptions = {
      session: ({ context }) => (context as { chat: string }).chat,
      onReport: (_report, { session }) => void sessions.push(session),
    };
    const agent = new Agent<{ chat: string }>({ name: 'A', model: answering([]).model });
    await runAlone(agent, 'Go.', { context: { chat: 'c1' }, callModelInputFilter: palimpsest(options) });
    expect(sessions).toEqual(['c1']);
  });

  it('of an agent that is a tool is fitted with the filter of its own options', async () => {
    const inner = answering(reads(8, 'inner'));
    const callModelInputFilter = palimpsest({ policy });
    const helper = new Agent({ name: 'Helper', model: inner.model, tools: [read] });
    const runOptions = { callModelInputFilter, maxTurns: 50 };
    const help = helper.asTool({ toolName: 'help', toolDescription: 'Helps.', runOptions });
    const outer = answering([call('help', { input: 'Go.' })]);
    await runner.run(new Agent({ name: 'A', model: outer.model, tools: [help] }), 'Go.', { callModelInputFilter });
    expect(inner.requests).toHaveLength(9);
    expect([...resultsIn(inner.requests.at(-1)).values()].filter((text) => isPlaceholder(text))).toHaveLength(5);
  });

  it.each(['conversationId', 'previousResponseId'])(
    'with %s is left as it is, and a warning says so once',
    async (option) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
      try {
        const context = palimpsest({ store: createMemoryStore(), policy, session: 'chat' });
        const options = { maxTurns: 50, callModelInputFilter: context, [option]: 'id_1' };
        const requests: SentRequest[] = [];
        for (const name of ['one', 'two']) {
          const scripted = answering(reads(6, name));
          await runner.run(new Agent({ name: 'A', model: scripted.model, tools: [read] }), 'Go.', options);
          requests.push(...scripted.requests);
        }
        expect(requests.map(({ messages }) => messages.length)).toEqual(Array(14).fill(1));
        expect(JSON.stringify(requests)).not.toContain('masked');
        expect(warn.mock.calls).toEqual([[expect.stringContaining('nothing is masked in this run')]]);
        expect(warn.mock.calls[0]?.[0]).toContain('conversationId or previousResponseId');
      } finally {
        warn.mockRestore();
      }
    },
  );
});

describe('the tool recall', () => {
  const ask = async (store: ReturnType<typeof createMemoryStore>, input: Readonly<Record<string, unknown>>) => {
    const { model, requests } = answering([call('recall', input)]);
    await runner.run(new Agent({ name: 'A', model, tools: palimpsest.tools({ store }) }), 'Go.');
    return JSON.stringify(requests[1]?.messages);
  };

  it('gives an image back as an image', async () => {
    const store = createMemoryStore();
    const image = { type: 'input_image', image: `data:image/png;base64,${PNG}` };
    const handle = await store.put(JSON.stringify([image]), { session: 's' });
    expect(await ask(store, { handle })).toContain(`{"type":"input_image","image":"data:image/png;base64,${PNG}"}`);
  });

  it('tells the model of a wrong argument', async () => {
    expect(await ask(createMemoryStore(), { handel: 1 })).toContain('did you mean handle?');
  });

  it('tells the model of a store that fails', async () => {
    const get = () => Promise.reject(new Error('disk on fire'));
    const handle = `p_${'a'.repeat(26)}`;
    expect(await ask(Object.assign(createMemoryStore(), { get }), { handle })).toContain('Error: disk on fire');
  });

  it('tells the model of arguments that are no JSON', async () => {
    const [recall] = palimpsest.tools({ store: createMemoryStore() });
    expect(await recall.invoke(undefined, '{"handle":')).toBe('Error: Expected arguments in JSON but found {"handle":');
  });
});
