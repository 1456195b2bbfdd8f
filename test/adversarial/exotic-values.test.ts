import { describe, expect, it } from 'vitest';
import { type FitOptions, type FormatName, fit, slidingWindow } from '../../src/index.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { fitOrRefuse, head, prose, settings, survive, turns, write } from '../support/hostile-histories.ts';

describe('exotic values', () => {
  class Result {
    readonly type = 'text';
    readonly text = prose(900);
    #secret = 1;
    get secret(): number {
      return this.#secret;
    }
  }
  const cyclic = (): object => {
    const value: Record<string, unknown> = { type: 'text', text: prose(900) };
    value.self = value;
    return value;
  };
  const bare = (fields: object): object => Object.assign(Object.create(null), fields);
  const part = { type: 'text', text: prose(900) };
  const values: Readonly<Record<string, () => unknown>> = {
    undefined: () => undefined,
    null: () => null,
    'a number': () => 5,
    NaN: () => Number.NaN,
    'a boolean': () => true,
    'a BigInt': () => 10n,
    'a symbol': () => Symbol('s'),
    'a function': () => () => 1,
    'a cycle': cyclic,
    'a cycle in a list': () => [cyclic(), part],
    'a list that holds itself': () => {
      const list: unknown[] = [part];
      list.push(list);
      return list;
    },
    'a BigInt in a list': () => [{ ...part, size: 10n }],
    'a symbol in a list': () => [{ ...part, kind: Symbol('s') }, Symbol('t')],
    'a Map': () => new Map([['text', prose(900)]]),
    'a Set': () => new Set([part]),
    'a Date': () => new Date(0),
    'an Error': () => new Error('no'),
    'a RegExp': () => /x/,
    'a Promise': () => Promise.resolve('x'),
    bytes: () => new Uint8Array(2000),
    'an instance': () => new Result(),
    'instances in a list': () => [new Result(), new Result()],
    'a proxy': () => new Proxy([part], {}),
    'a proxy in a list': () => [new Proxy({ ...part }, {})],
    'an object without a prototype': () => bare(part),
    'a list of objects without a prototype': () => [bare(part), bare({ type: 'text', text: 'x' })],
    'a sparse list': () => {
      const list = [part, part, part];
      delete list[1];
      return list;
    },
    'a list of everything': () => [null, undefined, 'text', 5, part, [part], { type: 5, text: 5 }, { type: 'text' }],
    'a getter': () => ({
      type: 'text',
      get text() {
        return prose(900);
      },
    }),
    'its own toJSON': () => ({ ...part, toJSON: () => 'other' }),
    'a toJSON that throws': () => ({
      ...part,
      toJSON() {
        throw new Error('no JSON of me');
      },
    }),
    'deep nesting': () => {
      let value: unknown = 'x';
      for (let i = 0; i < 5000; i++) value = [value];
      return value;
    },
    'an empty list': () => [],
    'an empty object': () => ({}),
  };

  /** Where a strange value may stand: as what a tool answered, as what it was asked, as any field of a message. */
  const places: Readonly<Record<string, readonly [FormatName, (value: unknown) => unknown[]]>> = {
    'chat content': ['chat', (value) => chatWith({ content: value })],
    'chat toolCalls': ['chat', (value) => [{ role: 'assistant', content: 'x', toolCalls: value }]],
    'chat arguments': ['chat', (value) => chatWith({}, { arguments: value })],
    'chat ids and names': ['chat', (value) => chatWith({ toolCallId: value, name: value }, { id: value, name: value })],
    'chat role': ['chat', (value) => chatWith({ role: value })],
    'chat tags': ['chat', (value) => chatWith({ tags: value })],
    'chat pairId': ['chat', (value) => chatWith({ pairId: value, pairRole: 'result' })],
    'openai-chat content': ['openai-chat', (value) => openaiWith(value)],
    'openai-chat arguments': ['openai-chat', (value) => openaiWith(prose(900), value)],
    'anthropic content': ['anthropic', (value) => anthropicWith(value)],
    'anthropic input': ['anthropic', (value) => anthropicWith(prose(900), value)],
    'anthropic blocks': [
      'anthropic',
      (value) => [
        { role: 'user', content: value },
        { role: 'assistant', content: value },
      ],
    ],
    'gemini response': ['gemini', (value) => geminiWith(value)],
    'gemini parts': ['gemini', (value) => [{ role: 'user', parts: value }]],
    'openai-responses output': ['openai-responses', (value) => itemsWith('call_id', 'function_call_output', value)],
    'openai-agents output': ['openai-agents', (value) => itemsWith('callId', 'function_call_result', value)],
    'ai-sdk output': ['ai-sdk', (value) => aiSdkWith(value)],
    'ai-sdk value': ['ai-sdk', (value) => aiSdkWith({ type: 'json', value })],
    'langchain content': ['langchain', (value) => langchainWith(value)],
    'langchain tool_calls': ['langchain', (value) => [{ type: 'ai', content: 'x', tool_calls: value }]],
  };

  function chatWith(result: object, call: object = {}): unknown[] {
    return [
      { role: 'assistant', content: 'x', toolCalls: [{ id: 'e', name: 'bash', arguments: '{}', ...call }] },
      { role: 'tool', toolCallId: 'e', content: prose(900), ...result },
    ];
  }
  function openaiWith(content: unknown, args: unknown = '{}'): unknown[] {
    const call = { id: 'e', type: 'function', function: { name: 'bash', arguments: args } };
    return [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'e', content },
    ];
  }
  function anthropicWith(content: unknown, input: unknown = {}): unknown[] {
    return [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'e', name: 'bash', input }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'e', content }] },
    ];
  }
  function geminiWith(response: unknown): unknown[] {
    return [
      { role: 'model', parts: [{ functionCall: { id: 'e', name: 'bash', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'e', name: 'bash', response } }] },
    ];
  }
  function itemsWith(id: string, type: string, output: unknown): unknown[] {
    return [
      { type: 'function_call', [id]: 'e', name: 'bash', arguments: '{}' },
      { type, [id]: 'e', output },
    ];
  }
  function aiSdkWith(output: unknown): unknown[] {
    return [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'e', toolName: 'bash', input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'e', toolName: 'bash', output }] },
    ];
  }
  function langchainWith(content: unknown): unknown[] {
    return [
      { type: 'ai', content: '', tool_calls: [{ id: 'e', name: 'bash', args: {} }] },
      { type: 'tool', tool_call_id: 'e', content },
    ];
  }
  const frame = (format: FormatName): [unknown[], unknown[]] => {
    if (format === 'gemini')
      return [[{ role: 'user', parts: [{ text: 'task' }] }], [{ role: 'model', parts: [{ text: 'x' }] }]];
    if (format === 'langchain') return [[{ type: 'human', content: 'task' }], [{ type: 'ai', content: 'x' }]];
    const writer = format === 'openai-agents' ? 'openai-responses' : format;
    return [
      write([{ user: 'task' }], writer),
      write([...(format === 'openai-agents' ? [] : turns(1, 3)), { says: 'x' }], writer),
    ];
  };
  const few = [settings[1], settings[2], settings[8], settings[9], settings[11], settings[13]] as FitOptions[];

  describe.each(Object.entries(places))('%s', (_, [format, place]) => {
    it.each(Object.entries(values))('%s', (_name, make) => {
      const [first, last] = frame(format);
      const messages = [...first, ...place(make()), ...last];
      for (const options of few) {
        const fitted = survive(messages, format, options);
        if (fitted) expect(fitted.messages.length).toBeGreaterThan(0);
      }
    });
  });

  it('a result that cannot be written down is not hidden, so nothing can be lost', () => {
    for (const content of [[cyclic()], [{ ...part, size: 10n }]]) {
      const messages = [
        { role: 'user', content: 't' },
        ...openaiWith(content),
        { role: 'assistant', content: 'x' },
      ] as object[];
      const { messages: fitted, hidden } = fit(messages, {
        format: 'openai-chat',
        policy: slidingWindow({ turns: 0 }),
      });
      expect([fitted[2] === messages[2], hidden]).toEqual([true, []]);
    }
  });

  it.each(Object.entries(values))('in the place of a message: %s', (_, make) => {
    for (const format of [
      'chat',
      'openai-chat',
      'anthropic',
      'gemini',
      'openai-responses',
      'ai-sdk',
      'langchain',
    ] as const) {
      const [first, last] = frame(format);
      for (const options of few) survive([...first, make(), ...last, make()], format, options);
    }
    expect(fitOrRefuse([make()], {})?.messages.length ?? 1).toBe(1);
  });

  describe('in the place of the list', () => {
    const list = write([...head, ...turns(1, 12)], 'chat');
    const sparse = (): unknown[] => {
      const holes = list.slice();
      delete holes[0];
      delete holes[7];
      return holes;
    };
    class Messages extends Array<unknown> {}
    const lists: Readonly<Record<string, () => readonly unknown[]>> = {
      'a frozen list': () => deepFreeze(list.slice()),
      'a sealed list': () => Object.seal(list.slice()),
      'a list with fields of its own': () => Object.assign(list.slice(), { extra: 1 }),
      'an instance of a class of lists': () => Messages.from(list),
      'a proxy': () => new Proxy(list.slice(), {}),
      'a list with holes': sparse,
      'a list of proxies': () => list.map((message) => new Proxy(message, {})),
      'a list of objects without a prototype': () => list.map(bare),
      'a list of instances': () => list.map((message) => Object.assign(new (class Message {})(), message)),
      'the same object many times': () =>
        [...head, ...turns(1, 1)].length > 0 ? [...list, ...list.slice(-1), ...list.slice(-2)] : [],
    };
    it.each(Object.entries(lists))('%s', (_, make) => {
      const messages = make();
      for (const options of settings) {
        const fitted = survive(messages, 'chat', options);
        if (fitted) expect(Array.isArray(fitted.messages)).toBe(true);
      }
    });
    it('edited instances keep their class, edited objects without a prototype have none', () => {
      class Message {}
      const of = (make: (message: object) => object) =>
        fit(list.map(make), { format: 'chat', policy: slidingWindow({ turns: 1 }) });
      const instances = of((message) => Object.assign(new Message(), message));
      expect(instances.report.maskedCount).toBe(11);
      for (const message of instances.messages) expect(message).toBeInstanceOf(Message);
      for (const message of of(bare).messages) expect(Object.getPrototypeOf(message)).toBeNull();
    });
  });
});
