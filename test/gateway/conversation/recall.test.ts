import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/plan/policies/sliding-window.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { recallTool } from '../../../src/store/recall-tool/recall-tool.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A gateway that masks all but the last two turns. `send` answers the request as the upstream got it. */
async function start(path: string, options: GatewayOptions = {}) {
  const upstream = await startUpstream((_request, response) => response.writeHead(200).end('{}'));
  closers.push(upstream.close);
  const store = createMemoryStore();
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }), store, ...options });
  closers.push(() => gateway.close({ graceMs: 0 }));
  const send = async (body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return upstream.received.at(-1)?.body.toString() ?? '';
  };
  return { ...gateway, store, send };
}

const output = (turn: number): string =>
  Array.from({ length: 40 }, (_, i) => `line ${i + 1} of the result of turn ${turn}`).join('\n');

interface Call {
  readonly name: string;
  readonly args?: object;
  readonly result: unknown;
}

const shell = (turn: number): Call => ({ name: 'shell', args: { command: `run ${turn}` }, result: output(turn) });

/** The messages of Codex. */
const responses = (calls: readonly Call[]): object[] => [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
  ...calls.flatMap(({ name, args = {}, result }, i) => [
    { type: 'function_call', call_id: `c${i}`, name, arguments: JSON.stringify(args) },
    { type: 'function_call_output', call_id: `c${i}`, output: result },
  ]),
];

/** The messages of Qwen Code. */
const chat = (calls: readonly Call[], system = 'You are an agent.'): object[] => [
  { role: 'system', content: system },
  { role: 'user', content: 'Fix it.' },
  ...calls.flatMap(({ name, args = {}, result }, i) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${i}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    },
    { role: 'tool', tool_call_id: `c${i}`, content: result },
  ]),
];

/** The messages of Gemini CLI. */
const gemini = (calls: readonly Call[]): object[] => [
  { role: 'user', parts: [{ text: 'Fix it.' }] },
  ...calls.flatMap(({ name, args = {}, result }) => [
    { role: 'model', parts: [{ functionCall: { name, args } }] },
    { role: 'user', parts: [{ functionResponse: { name, response: { output: result } } }] },
  ]),
];

const GEMINI = '/v1beta/models/gemini-2.5-pro:generateContent';
const four = [1, 2, 3, 4].map(shell);
const tool = (name: string, more = {}): object => ({ type: 'function', name, parameters: {}, ...more });
const handlesIn = (sent: string): string[] =>
  [...sent.matchAll(/masked · (?:recall )?(p_[a-z2-7]{26})/g)].map(([, h]) => h as string);

describe('a placeholder names recall', () => {
  const request = { model: 'gpt-5', input: responses(four) };

  it('where the tools of an MCP server come as a namespace', async () => {
    const { send } = await start('/v1/responses');
    const tools = [tool('shell'), { type: 'namespace', name: 'mcp__palimpsest', tools: [tool('recall')] }];
    expect(await send({ ...request, tools })).toContain('masked · recall p_');
  });

  it('where tools come in an item of the list', async () => {
    const { send } = await start('/v1/responses');
    const tools = [{ type: 'namespace', name: 'mcp__palimpsest', tools: [tool('recall')] }];
    const input = [{ type: 'additional_tools', role: 'developer', tools }, ...request.input];
    expect(await send({ ...request, input })).toContain('masked · recall p_');
  });

  it('where a system prompt lists the tools that tool_search finds', async () => {
    const { send } = await start('/v1/chat/completions');
    const tools = [{ type: 'function', function: { name: 'tool_search' } }];
    const system = 'Deferred tools:\n- "mcp__palimpsest__recall": "Gives back the original text"';
    const sent = await send({ model: 'qwen3', tools, messages: chat(four, system) });
    expect(sent).toContain('masked · recall p_');
  });

  it('where the server has another name', async () => {
    const { send } = await start(GEMINI);
    const declared = [{ name: 'mcp_memory_recall', description: 'Gives back a text that was masked in your context.' }];
    const sent = await send({ contents: gemini(four), tools: [{ functionDeclarations: declared }] });
    expect(sent).toContain('masked · recall p_');
  });

  it('where a client of the MCP server is known and the request shows nothing', async () => {
    const { send } = await start('/v1/responses', { hasRecall: (tenant) => tenant === 'default' });
    expect(await send(request)).toContain('masked · recall p_');
  });

  it('and not where no tool can recall', async () => {
    const { send } = await start('/v1/responses');
    const sent = await send({ ...request, tools: [tool('shell'), tool('product_recall')] });
    expect(sent).toContain('masked · p_');
    expect(sent).not.toContain('masked · recall');
  });

  it('in all requests of the conversation, once one has shown the tool', async () => {
    const { send } = await start('/v1/responses');
    const tools = [{ type: 'namespace', name: 'mcp__palimpsest', tools: [tool('recall')] }];
    const first = await send({ ...request, tools });
    const next = await send({ ...request, input: responses([...four, shell(5)]) });
    expect(handlesIn(next).slice(0, 2)).toEqual(handlesIn(first));
    expect(next).not.toContain('masked · p_');
  });
});

describe('the answer of a recall, masked in its turn', () => {
  const wraps: readonly [string, string, (calls: readonly Call[]) => object, string, (answer: string) => unknown][] = [
    [
      'Codex',
      '/v1/responses',
      (calls) => ({ model: 'gpt-5', input: responses(calls) }),
      'recall',
      (answer) => [
        { type: 'input_text', text: 'Wall time: 0.0438 seconds\nOutput:' },
        { type: 'input_text', text: answer },
      ],
    ],
    [
      'Gemini CLI',
      GEMINI,
      (calls) => ({ contents: gemini(calls) }),
      'mcp_palimpsest_recall',
      (answer) => `<untrusted_context>\n${answer}\n</untrusted_context>`,
    ],
    [
      'Qwen Code, which cuts long results',
      '/v1/chat/completions',
      (calls) => ({ model: 'qwen3', messages: chat(calls) }),
      'mcp__palimpsest__recall',
      (answer) => [{ type: 'text', text: `${answer.slice(0, 900)}\n[cut]` }],
    ],
  ];

  it.each(wraps)(
    'keeps its handle, wrapped by %s, and is not stored again',
    async (_name, path, toBody, name, wrap) => {
      const { send, store } = await start(path);
      const [handle = ''] = handlesIn(await send(toBody(four)));
      const answer = String(await recallTool(store).execute({ handle }));
      const recall = { name, args: { handle }, result: wrap(answer) };
      const later = [...four, recall, shell(6), shell(7), shell(8)];
      for (let end = 5; end <= later.length; end++) await send(toBody(later.slice(0, end)));
      const before = (await store.stats()).texts;
      const handles = handlesIn(await send(toBody(later)));
      expect(handles).toHaveLength(6);
      expect(handles[4]).toBe(handle);
      expect(handles[0]).toBe(handle);
      expect((await store.get(handle))?.text).toContain(output(1));
      for (const shown of handles) expect((await store.get(shown))?.text).not.toContain('recalled p_');
      expect((await store.stats()).texts).toBe(before);
    },
  );

  it.each(wraps)('in part keeps the handle of its text too, wrapped by %s', async (_name, path, toBody, name, wrap) => {
    const { send, store } = await start(path);
    const [handle = ''] = handlesIn(await send(toBody(four)));
    const args = { handle, grep: 'line [2-9]', context: 1 };
    const answer = String(await recallTool(store).execute(args));
    const later = [...four, { name, args, result: wrap(answer) }, shell(6), shell(7), shell(8)];
    for (let end = 5; end <= later.length; end++) await send(toBody(later.slice(0, end)));
    const handles = handlesIn(await send(toBody(later)));
    expect(handles[4]).toBe(handle);
    for (const shown of handles) expect((await store.get(shown))?.text).not.toContain('recalled p_');
  });

  it('as an error, or for a text that the history does not have, is a text of its own', async () => {
    const { send, store } = await start('/v1/responses');
    const [handle = ''] = handlesIn(await send({ model: 'gpt-5', input: responses(four) }));
    const other = await store.put(output(99), { session: 'another' });
    const foreign = String(await recallTool(store).execute({ handle: other, lines: [2, 30] }));
    const failed = `unsupported call: recall ${handle} ${'is not a tool of this session. '.repeat(20)}`;
    const later = [
      ...four,
      { name: 'recall', args: { handle: other, lines: [2, 30] }, result: foreign },
      { name: 'recall', args: { handle }, result: failed },
      shell(7),
      shell(8),
    ];
    const handles = handlesIn(await send({ model: 'gpt-5', input: responses(later) }));
    expect((await store.get(handles[4] ?? ''))?.text).toBe(foreign);
    expect((await store.get(handles[5] ?? ''))?.text).toBe(failed);
  });
});
