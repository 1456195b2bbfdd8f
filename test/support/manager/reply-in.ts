import type { ToolCall } from '../../../src/manager/tool-call.ts';
import type { FormatName } from '../../../src/message.ts';

interface Said {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** A reply as each provider would have given it. */
export function replyIn(format: FormatName, said: Said): unknown[] {
  return writers[format](said);
}

const json = JSON.stringify;

const writers: Readonly<Record<FormatName, (said: Said) => unknown[]>> = {
  chat: ({ text, calls }) => [
    {
      role: 'assistant',
      content: text,
      toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: json(args) })),
    },
  ],
  'openai-chat': ({ text, calls }) => [
    {
      role: 'assistant',
      content: text,
      ...(calls.length > 0 ? { tool_calls: calls.map(toFunction) } : {}),
    },
  ],
  'openai-responses': ({ text, calls }) => [
    ...(text ? [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }] : []),
    ...calls.map(({ id, name, arguments: args }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: json(args),
    })),
  ],
  anthropic: ({ text, calls }) => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
      ],
    },
  ],
  gemini: ({ text, calls }) => [
    {
      role: 'model',
      parts: [
        ...(text ? [{ text }] : []),
        ...calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } })),
      ],
    },
  ],
  'ai-sdk': ({ text, calls }) => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, arguments: input }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input,
        })),
      ],
    },
  ],
  langchain: ({ text, calls }) => [
    {
      type: 'ai',
      content: text,
      tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, name, args, type: 'tool_call' })),
    },
  ],
  'openai-agents': ({ text, calls }) => [
    ...(text
      ? [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }]
      : []),
    ...calls.map(({ id, name, arguments: args }) => ({
      type: 'function_call',
      callId: id,
      name,
      arguments: json(args),
      status: 'completed',
    })),
  ],
  ollama: ({ text, calls }) => [
    {
      role: 'assistant',
      content: text,
      ...(calls.length > 0
        ? { tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, function: { name, arguments: args } })) }
        : {}),
    },
  ],
  'bedrock-converse': ({ text, calls }) => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ text }] : []),
        ...calls.map(({ id, name, arguments: input }) => ({ toolUse: { toolUseId: id, name, input } })),
      ],
    },
  ],
  pi: ({ text, calls }) => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, arguments: args }) => ({ type: 'toolCall', id, name, arguments: args })),
      ],
      stopReason: calls.length > 0 ? 'toolUse' : 'stop',
    },
  ],
};

const toFunction = ({ id, name, arguments: args }: ToolCall) => ({
  id,
  type: 'function',
  function: { name, arguments: json(args) },
});
