import { formatByName } from '../../src/formats/detect-format.ts';
import type { ChatMessage, Format, FormatName } from '../../src/message.ts';

/** The same short story in every format: two parallel calls, one of which fails, a user message, and an open call. */
export interface Sample {
  readonly name: FormatName;
  readonly messages: readonly unknown[];
  /** The kind, turn and call of each segment, and the tool if there is one. */
  readonly view: readonly string[];
  /** Whether the format can say that a result failed. */
  readonly hasErrorFlag: boolean;
}

export const formatOf = (sample: Sample): Format<unknown> => formatByName(sample.name);

/** The list with every result that may be edited replaced by one text. */
export function masked<M>(format: Format<M>, messages: readonly M[]): M[] {
  const edits = format.view(messages).flatMap(({ kind, callId, bound }, segment) => {
    const isFree = kind === 'observation' && callId !== undefined && !bound;
    return isFree ? [{ kind: 'replace', segment, text: '[masked]', why: 'mask' } as const] : [];
  });
  return format.apply(messages, { version: 1, edits });
}

const LONG = 'line of a file\n'.repeat(20);
const chatStory: ChatMessage[] = [
  { role: 'system', content: 'You fix bugs.' },
  { role: 'user', content: 'Fix the bug.', tags: ['task'] },
  {
    role: 'assistant',
    content: 'I look.',
    toolCalls: [
      { id: 'c1', name: 'read', arguments: '{"path":"a.ts"}' },
      { id: 'c2', name: 'bash', arguments: '{"cmd":"ls"}' },
    ],
  },
  { role: 'tool', content: LONG, toolCallId: 'c1', name: 'read' },
  { role: 'tool', content: 'exit 1', toolCallId: 'c2' },
  { role: 'user', content: 'Hurry.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c3', name: 'read', arguments: '{}' }] },
];

const view = (system: boolean, reasoning = 1): string[] => [
  ...(system ? ['system 0'] : []),
  'user 0',
  ...Array.from({ length: reasoning }, () => 'reasoning 1'),
  'action 1 c1 read',
  'action 1 c2 bash',
  'observation 1 c1 read',
  'observation 1 c2 bash',
  'user 1',
  'action 2 c3 read',
];

export const samples: readonly Sample[] = [
  { name: 'chat', messages: chatStory, view: view(true), hasErrorFlag: false },
  {
    name: 'openai-chat',
    hasErrorFlag: false,
    view: view(true, 2),
    messages: [
      { role: 'system', content: 'You fix bugs.' },
      { role: 'user', content: [{ type: 'text', text: 'Fix the bug.' }] },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Hm.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } },
          { id: 'c2', type: 'function', function: { name: 'bash', arguments: '{"cmd":"ls"}' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'c1',
        content: [
          { type: 'text', text: LONG },
          { type: 'text', text: 'end', cache_control: { type: 'ephemeral' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c2', content: 'exit 1' },
      { role: 'user', content: 'Hurry.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c3', type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
    ],
  },
  {
    name: 'openai-responses',
    hasErrorFlag: true,
    view: view(true),
    messages: [
      { role: 'developer', content: 'You fix bugs.' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix the bug.' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'gAAAAA==',
      },
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'read', arguments: '{"path":"a.ts"}' },
      { type: 'function_call', id: 'fc_2', call_id: 'c2', name: 'bash', arguments: '{"cmd":"ls"}' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: LONG },
          {
            type: 'input_image',
            image_url: 'https://example.com/a.png',
            prompt_cache_breakpoint: { mode: 'explicit' },
          },
        ],
      },
      { type: 'function_call_output', call_id: 'c2', output: 'exit 1', status: 'incomplete' },
      { role: 'user', content: 'Hurry.' },
      { type: 'function_call', id: 'fc_3', call_id: 'c3', name: 'read', arguments: '{}' },
    ],
  },
  {
    name: 'anthropic',
    hasErrorFlag: true,
    view: view(false, 2),
    messages: [
      { role: 'user', content: 'Fix the bug.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a.ts' } },
          { type: 'tool_use', id: 'c2', name: 'bash', input: { cmd: 'ls' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c1',
            content: [
              { type: 'text', text: LONG },
              { type: 'text', text: 'end', cache_control: { type: 'ephemeral', ttl: '1h' } },
            ],
          },
          { type: 'tool_result', tool_use_id: 'c2', content: 'exit 1', is_error: true },
          { type: 'text', text: 'Hurry.' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c3', name: 'read', input: {} }] },
    ],
  },
  {
    name: 'gemini',
    hasErrorFlag: true,
    view: view(false),
    messages: [
      { role: 'user', parts: [{ text: 'Fix the bug.' }] },
      {
        role: 'model',
        parts: [
          { text: 'I look.', thought: true },
          { functionCall: { id: 'c1', name: 'read', args: { path: 'a.ts' } }, thoughtSignature: 'c2ln' },
          { functionCall: { id: 'c2', name: 'bash', args: { cmd: 'ls' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'read', response: { output: LONG }, willContinue: false } },
          { functionResponse: { id: 'c2', name: 'bash', response: { error: 'exit 1' } } },
          { text: 'Hurry.' },
        ],
      },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'c3', name: 'read', args: {} }, thoughtSignature: 'c2ln' }],
      },
    ],
  },
  {
    name: 'ai-sdk',
    hasErrorFlag: true,
    view: view(true, 2),
    messages: [
      { role: 'system', content: 'You fix bugs.' },
      { role: 'user', content: [{ type: 'text', text: 'Fix the bug.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'c2ln' } } },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'a.ts' } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'bash', input: { cmd: 'ls' } },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'read',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: LONG },
                {
                  type: 'text',
                  text: 'end',
                  providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
                },
              ],
            },
          },
          {
            type: 'tool-result',
            toolCallId: 'c2',
            toolName: 'bash',
            output: { type: 'error-json', value: { exit: 1 } },
            providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
          },
        ],
      },
      { role: 'user', content: 'Hurry.' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c3', toolName: 'read', input: {} }] },
    ],
  },
  {
    name: 'langchain',
    hasErrorFlag: true,
    view: view(true, 2),
    messages: [
      { type: 'system', content: 'You fix bugs.' },
      { type: 'human', content: 'Fix the bug.' },
      {
        type: 'ai',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a.ts' } },
        ],
        tool_calls: [
          { id: 'c1', name: 'read', args: { path: 'a.ts' } },
          { id: 'c2', name: 'bash', args: { cmd: 'ls' } },
        ],
      },
      {
        type: 'tool',
        tool_call_id: 'c1',
        content: [
          { type: 'text', text: LONG },
          { type: 'text', text: 'end', cache_control: { type: 'ephemeral' } },
        ],
        artifact: { rows: 3 },
      },
      { type: 'tool', tool_call_id: 'c2', name: 'bash', content: 'exit 1', status: 'error' },
      { type: 'human', content: 'Hurry.' },
      { type: 'ai', content: '', tool_calls: [{ id: 'c3', name: 'read', args: {} }] },
    ],
  },
  {
    name: 'ollama',
    hasErrorFlag: false,
    view: view(true, 2),
    messages: [
      { role: 'system', content: 'You fix bugs.' },
      { role: 'user', content: 'Fix the bug.' },
      {
        role: 'assistant',
        content: 'I look.',
        thinking: 'Hm.',
        tool_calls: [
          { id: 'c1', function: { index: 0, name: 'read', arguments: { path: 'a.ts' } } },
          { id: 'c2', function: { index: 1, name: 'bash', arguments: { cmd: 'ls' } } },
        ],
      },
      { role: 'tool', tool_name: 'read', tool_call_id: 'c1', content: LONG },
      { role: 'tool', tool_name: 'bash', tool_call_id: 'c2', content: 'exit 1' },
      { role: 'user', content: 'Hurry.' },
      { role: 'assistant', tool_calls: [{ id: 'c3', function: { index: 0, name: 'read', arguments: {} } }] },
    ],
  },
  {
    name: 'bedrock-converse',
    hasErrorFlag: true,
    view: view(false, 2),
    messages: [
      { role: 'user', content: [{ text: 'Fix the bug.' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2ln' } } },
          { text: 'I look.' },
          { toolUse: { toolUseId: 'c1', name: 'read', input: { path: 'a.ts' } } },
          { toolUse: { toolUseId: 'c2', name: 'bash', input: { cmd: 'ls' } } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'c1', content: [{ text: LONG }, { text: 'end' }], status: 'success' } },
          { toolResult: { toolUseId: 'c2', content: [{ text: 'exit 1' }], status: 'error' } },
          { text: 'Hurry.' },
          { cachePoint: { type: 'default' } },
        ],
      },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c3', name: 'read', input: {} } }] },
    ],
  },
  {
    name: 'pi',
    hasErrorFlag: true,
    view: view(true, 2),
    messages: [
      { role: 'system', content: 'You fix bugs.', timestamp: 1 },
      { role: 'user', content: 'Fix the bug.', timestamp: 1 },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', thinkingSignature: 'c2ln' },
          { type: 'text', text: 'I look.' },
          { type: 'toolCall', id: 'c1', name: 'read', arguments: { path: 'a.ts' } },
          { type: 'toolCall', id: 'c2', name: 'bash', arguments: { cmd: 'ls' } },
        ],
        api: 'anthropic-messages',
        provider: 'anthropic',
        model: 'm',
        stopReason: 'toolUse',
        timestamp: 2,
      },
      {
        role: 'toolResult',
        toolCallId: 'c1',
        toolName: 'read',
        content: [
          { type: 'text', text: LONG },
          { type: 'text', text: 'end' },
        ],
        details: { lines: 20 },
        isError: false,
        timestamp: 3,
      },
      {
        role: 'toolResult',
        toolCallId: 'c2',
        toolName: 'bash',
        content: [{ type: 'text', text: 'exit 1' }],
        isError: true,
        timestamp: 3,
      },
      { role: 'user', content: 'Hurry.', timestamp: 4 },
      {
        role: 'assistant',
        content: [{ type: 'toolCall', id: 'c3', name: 'read', arguments: {} }],
        api: 'anthropic-messages',
        stopReason: 'toolUse',
        timestamp: 5,
      },
    ],
  },
  {
    name: 'openai-agents',
    hasErrorFlag: true,
    view: view(true),
    messages: [
      { role: 'system', content: 'You fix bugs.' },
      { role: 'user', content: 'Fix the bug.' },
      { type: 'reasoning', id: 'rs_1', content: [{ type: 'input_text', text: 'Hm.' }], providerData: {} },
      { type: 'function_call', callId: 'c1', name: 'read', arguments: '{"path":"a.ts"}', status: 'completed' },
      { type: 'function_call', callId: 'c2', name: 'bash', arguments: '{"cmd":"ls"}', status: 'completed' },
      {
        type: 'function_call_result',
        callId: 'c1',
        name: 'read',
        status: 'completed',
        output: { type: 'text', text: LONG },
      },
      { type: 'function_call_result', callId: 'c2', name: 'bash', status: 'incomplete', output: 'exit 1' },
      { role: 'user', content: 'Hurry.' },
      { type: 'function_call', callId: 'c3', name: 'read', arguments: '{}', status: 'completed' },
    ],
  },
];
