import { describe, expect, it } from 'vitest';
import { samples } from '../../test/support/format-samples.ts';
import { anthropic, detectFormat, fit, fitAndStore, HistoryReducer, PalimpsestError, slidingWindow } from '../index.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const LONG = 'line of a file, with words in it\n'.repeat(60);
const base64 = 'QUJD'.repeat(5000);

function errorOf(work: () => unknown): PalimpsestError {
  try {
    work();
  } catch (error) {
    if (error instanceof PalimpsestError) return error;
    throw error;
  }
  throw new Error('Expected an error');
}

describe('a value that is no list', () => {
  it.each([
    [null, 'found null'],
    [undefined, 'found undefined'],
    [{}, 'found object'],
    ['text', 'found string'],
  ])('%j is called what it is', (value, said) => {
    expect(errorOf(() => fit(value as never)).message).toContain(`Expected a list of messages but ${said};`);
  });
});

const turns = (of: (turn: number) => object[], count = 8): object[] =>
  Array.from({ length: count }, (_, i) => of(i)).flat();

const piMessages = [
  { role: 'user', content: 'Fix the bug.', timestamp: 1 },
  ...turns((turn) => [
    {
      role: 'assistant',
      content: [{ type: 'toolCall', id: `c${turn}`, name: 'read', arguments: { path: 'a.ts' } }],
      api: 'anthropic-messages',
      stopReason: 'toolUse',
    },
    {
      role: 'toolResult',
      toolCallId: `c${turn}`,
      toolName: 'read',
      content: [{ type: 'text', text: LONG }],
      isError: false,
    },
  ]),
];

const converseMessages = [
  { role: 'user', content: [{ text: 'Fix the bug.' }] },
  ...turns((turn) => [
    { role: 'assistant', content: [{ toolUse: { toolUseId: `c${turn}`, name: 'read', input: { path: 'a.ts' } } }] },
    { role: 'user', content: [{ toolResult: { toolUseId: `c${turn}`, content: [{ text: LONG }] } }] },
  ]),
];

/** Like those of no format that there is. */
const alienMessages = [
  { role: 'user', content: 'Fix the bug.' },
  ...turns((turn) => [
    { role: 'assistant', content: 'I look.', invocations: [{ ref: turn, name: 'read' }] },
    { role: 'tool', content: '', outcome: { ref: turn, said: LONG } },
  ]),
];
const alienBlocks = [
  { role: 'user', content: [{ type: 'textBlock', text: 'Fix the bug.' }] },
  ...turns((turn) => [
    { role: 'assistant', content: [{ type: 'toolUseBlock', toolUseId: `c${turn}`, name: 'read', input: {} }] },
    { role: 'user', content: [{ type: 'toolResultBlock', toolUseId: `c${turn}`, content: [{ text: LONG }] }] },
  ]),
];

describe('a list whose text a format does not read', () => {
  it.each([
    ['alien fields', alienMessages, 'fields role content outcome'],
    ['alien blocks', alienBlocks, 'parts toolResultBlock'],
  ])('with %s has no format, and the error says what was seen', (_name, list, seen) => {
    expect(detectFormat(list)).toBeUndefined();
    const { code, message } = errorOf(() => fit(list));
    expect(code).toBe('UNKNOWN_FORMAT');
    expect(message).toContain('message 2');
    expect(message).toContain(seen);
    expect(message).toMatch(/found [\d,]+ characters, of which the likeliest format, [a-z-]+, reads \d+/);
    expect(message).toContain('pass { format }');
  });

  it.each([
    ['chat', piMessages],
    ['anthropic', converseMessages],
    ['gemini', converseMessages],
    ['openai-responses', samples.find(({ name }) => name === 'anthropic')?.messages as object[]],
    ['openai-chat', samples.find(({ name }) => name === 'gemini')?.messages as object[]],
  ] as const)('is refused also where the format %s is named', (format, list) => {
    const { code, message } = errorOf(() => fit(list, { format }));
    expect(code).toBe('UNKNOWN_FORMAT');
    expect(message).toContain(`the format that was named, ${format}, reads`);
    expect(message).toContain('name another format');
  });

  it('is refused if the named format reads its text, but no result that another format reads', () => {
    const list = samples.find(({ name }) => name === 'openai-chat')?.messages as object[];
    const { code, message } = errorOf(() => fit(list, { format: 'anthropic' }));
    expect(code).toBe('UNKNOWN_FORMAT');
    expect(message).toMatch(
      /found (a result|\d+ results) of tools that openai-chat reads, and anthropic, which was named, reads none/,
    );
    // A custom format may read results in its own way.
    const own = { ...anthropic, view: anthropic.view.bind(anthropic) };
    expect(() => fit(list, { format: own })).not.toThrow();
  });

  it('is refused at every door', async () => {
    await expect(fitAndStore(alienMessages, { store: createMemoryStore() })).rejects.toMatchObject({
      code: 'UNKNOWN_FORMAT',
    });
    const reduce = () => new HistoryReducer().reduce(alienMessages, { maxInputChars: 1000 });
    expect(errorOf(reduce).code).toBe('UNKNOWN_FORMAT');
  });

  it('is refused when it grows out of a list that was read', () => {
    const list: object[] = [{ role: 'user', content: 'Fix the bug.' }];
    expect(fit(list).messages).toEqual(list);
    list.push({ role: 'assistant', content: 'I look at it.' });
    expect(fit(list).messages).toEqual(list);
    list.push(...alienMessages.slice(1));
    expect(errorOf(() => fit(list)).code).toBe('UNKNOWN_FORMAT');
  });
});

describe('a list is read', () => {
  it.each([
    ['pi', piMessages],
    ['bedrock-converse', converseMessages],
  ] as const)('as %s, with its results', (name, list) => {
    expect(detectFormat(list)).toBe(name);
    const { report, messages } = fit(list, { policy: slidingWindow({ turns: 2 }) });
    expect(report.byKind.observation.before.chars).toBe(8 * LONG.length);
    expect(report.maskedCount).toBe(6);
    expect(JSON.stringify(messages).length).toBeLessThan(JSON.stringify(list).length / 2);
  });

  it.each([
    ['one word', [{ role: 'user', content: 'Hi' }]],
    [
      'short texts',
      [
        { role: 'user', content: 'Hi there.' },
        { role: 'assistant', content: 'Hello, what now?' },
      ],
    ],
    ['a field of the caller', [{ role: 'user', content: 'Hi there.', note: 'a private note, which no model sees' }]],
  ])('that holds %s and fits several formats', (_name, list) => {
    for (const format of ['chat', 'openai-chat', 'anthropic', 'ai-sdk', 'ollama'] as const)
      expect(fit(list, { format }).messages).toEqual(list);
    expect(detectFormat(list)).toBe('openai-chat');
  });

  it('whatever images, signatures and ids are in it', () => {
    const list = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at this.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        ],
      },
      { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: `${base64} {}` }] },
    ];
    expect(detectFormat(list)).toBe('anthropic');
    expect(fit(list).messages).toEqual(list);
  });

  it('whatever a framework keeps beside the content', () => {
    const list = [
      { type: 'human', content: 'Go.' },
      { type: 'ai', content: '', tool_calls: [{ id: 'c', name: 'f', args: {} }], response_metadata: { raw: LONG } },
      { type: 'tool', tool_call_id: 'c', content: 'Done.', artifact: { rows: LONG } },
    ];
    expect(detectFormat(list)).toBe('langchain');
    expect(fit(list).messages).toEqual(list);
  });

  it('with blocks of a type to come, where other blocks show its format', () => {
    const list = [
      { role: 'user', content: [{ type: 'hologram', words: LONG }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'ok' }] },
    ];
    expect(detectFormat(list)).toBe('anthropic');
    expect(fit(list).messages).toEqual(list);
    expect(fit(list.slice(0, 1), { format: 'anthropic' }).messages).toEqual(list.slice(0, 1));
    expect(errorOf(() => fit(list.slice(0, 1))).code).toBe('UNKNOWN_FORMAT');
  });

  it('with a text as a document, and with the tools of an MCP server', () => {
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: LONG } };
    expect(detectFormat([{ role: 'user', content: [document] }])).toBe('anthropic');
    const tools = { type: 'mcp_list_tools', server_label: 's', tools: [{ name: 'f', description: LONG }] };
    expect(detectFormat([{ role: 'user', content: 'Hi there.' }, tools])).toBe('openai-responses');
  });
});
