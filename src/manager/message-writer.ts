import { formats } from '../formats/detect-format.ts';
import type { Item } from '../formats/items.ts';
import type { Format, FormatName } from '../message.ts';
import { badOption } from '../options.ts';
import type { ToolResult } from './tool-call.ts';

/** Writes the messages that a session or a run adds itself, in one format. */
export interface MessageWriter<M> {
  readonly format: Format<M>;
  user(text: string): M;
  /** A notice to the model, in the role that the format allows among the messages. */
  notice(text: string): M;
  /** The results of one reply, in one message or several. */
  results(results: readonly ToolResult[]): M[];
}

/**
 * The writer for a format or its name; `chat` if not given. A format of the user's own is written like ours of the same
 * name. `option` is named in the error for a name that has no writer.
 */
export function messageWriter<M>(
  given: Format<M> | FormatName = 'chat',
  option = 'the option format',
): MessageWriter<M> {
  // A caller without types may pass null.
  const name = typeof given === 'object' ? given?.name : given;
  if (!Object.hasOwn(WRITERS, name))
    throw badOption(option, `one of ${Object.keys(WRITERS).join(', ')}, or a format object with such a name`, name);
  const format = typeof given === 'object' ? given : (formats[name] as unknown as Format<M>);
  const words = WRITERS[name] as unknown as Words<M>;
  return { format, ...words, notice: (text) => format.note(format.noteRole, text, []) };
}

type Words<M> = Pick<MessageWriter<M>, 'user' | 'results'>;
type Writers = { readonly [N in FormatName]: (typeof formats)[N] extends Format<infer M> ? Words<M> : never };

const WRITERS: Writers = {
  chat: {
    user: (content) => ({ role: 'user', content }),
    results: each(({ call, text }) => ({ role: 'tool', content: text, name: call.name, toolCallId: call.id })),
  },
  'openai-chat': {
    user: (content) => ({ role: 'user', content }),
    results: each(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
  },
  'openai-responses': {
    user: userItem,
    results: each(
      (result): Item =>
        ({ type: 'function_call_output', call_id: result.call.id, output: responsesOutput(result) }) as Item,
    ),
  },
  anthropic: {
    user: (content) => ({ role: 'user', content }),
    // "tool_result blocks must be in the next message": one message has all results of a reply.
    results: (results) => [{ role: 'user', content: results.map(anthropicResult) }],
  },
  gemini: {
    user: (text) => ({ role: 'user', parts: [{ text }] }),
    results: (results) => [{ role: 'user', parts: results.map(geminiResult) }],
  },
  'ai-sdk': {
    user: (content) => ({ role: 'user', content }),
    results: (results) => [{ role: 'tool', content: results.map(aiSdkResult) }],
  },
  langchain: {
    user: (content) => ({ type: 'human', content }),
    results: each(({ call, text, isError }) => ({
      type: 'tool',
      content: text,
      tool_call_id: call.id,
      name: call.name,
      status: isError ? 'error' : 'success',
    })),
  },
  'openai-agents': {
    user: userItem,
    results: each(
      ({ call, text, isError }): Item =>
        ({
          type: 'function_call_result',
          callId: call.id,
          name: call.name,
          status: isError ? 'incomplete' : 'completed',
          output: { type: 'text', text },
        }) as Item,
    ),
  },
  ollama: {
    user: (content) => ({ role: 'user', content }),
    results: each(({ call, text }) => ({
      role: 'tool',
      ...ownId(call, 'tool_call_id'),
      tool_name: call.name,
      content: text,
    })),
  },
  'bedrock-converse': {
    user: (text) => ({ role: 'user', content: [{ text }] }),
    results: (results) => [{ role: 'user', content: results.map(converseResult) }],
  },
  pi: {
    user: (content) => ({ role: 'user', content, timestamp: 0 }),
    results: each(({ call, text, isError, images = [] }) => ({
      role: 'toolResult',
      toolCallId: call.id,
      toolName: call.name,
      content: [{ type: 'text', text }, ...images.map(({ mimeType, data }) => ({ type: 'image', data, mimeType }))],
      isError: isError === true,
      timestamp: 0,
    })),
  },
};

function each<M>(write: (result: ToolResult) => M): (results: readonly ToolResult[]) => M[] {
  return (results) => results.map(write);
}

function userItem(content: string): Item {
  return { type: 'message', role: 'user', content } as Item;
}

function anthropicResult({ call, text, isError, images = [] }: ToolResult): object {
  const blocks = images.map(({ mimeType, data }) => ({
    type: 'image',
    source: { type: 'base64', media_type: mimeType, data },
  }));
  const content = images.length === 0 ? text : [{ type: 'text', text }, ...blocks];
  return { type: 'tool_result', tool_use_id: call.id, content, ...(isError ? { is_error: true } : {}) };
}

function responsesOutput({ text, images = [] }: ToolResult): string | object[] {
  if (images.length === 0) return text;
  const blocks = images.map(({ mimeType, data }) => ({
    type: 'input_image',
    image_url: `data:${mimeType};base64,${data}`,
  }));
  return [{ type: 'input_text', text }, ...blocks];
}

/** Gemini and Ollama give ids to calls with some models only. Without one, the result has none either. */
function ownId(call: ToolResult['call'], field: string): object {
  return call.id === '' || call.id === `function ${call.name}` ? {} : { [field]: call.id };
}

function geminiResult({ call, text, isError }: ToolResult): object {
  return {
    functionResponse: { ...ownId(call, 'id'), name: call.name, response: isError ? { error: text } : { output: text } },
  };
}

/** Bedrock refuses an empty text. It takes images as bytes, not as base64, so they are left out. */
function converseResult({ call, text, isError }: ToolResult): object {
  const content = [{ text: text === '' ? '(no output)' : text }];
  return { toolResult: { toolUseId: call.id, content, ...(isError ? { status: 'error' } : {}) } };
}

function aiSdkResult({ call, text, isError, images = [] }: ToolResult): object {
  const blocks = images.map(({ mimeType: mediaType, data }) => ({ type: 'image-data', data, mediaType }));
  const output =
    images.length === 0
      ? { type: isError ? 'error-text' : 'text', value: text }
      : { type: 'content', value: [{ type: 'text', text }, ...blocks] };
  return { type: 'tool-result', toolCallId: call.id, toolName: call.name, output };
}
