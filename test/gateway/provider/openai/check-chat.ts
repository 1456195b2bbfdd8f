import { asText, extraField, type Fields, fieldsOf, isFields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { checkLength, checkModel, emptyArray, invalidValue } from './common.ts';

const FIELDS = names(
  'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens ' +
    'metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream ' +
    'stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options',
);

/** DeepSeek speaks the same, with a field of its own. */
const DEEPSEEK_FIELDS = names('thinking');

/** Throws what the API would answer to a request that is not as it should be. */
export function checkChat(body: Fields): void {
  checkModel(body.model);
  const isDeepSeek = asText(body.model).startsWith('deepseek');
  const extra = extraField(body, isDeepSeek ? new Set([...FIELDS, ...DEEPSEEK_FIELDS]) : FIELDS);
  if (extra !== undefined) throw new Rejection(`Unrecognized request argument supplied: ${extra}`);
  if (!Array.isArray(body.messages))
    throw new Rejection("Missing required parameter: 'messages'.", {
      param: 'messages',
      code: 'missing_required_parameter',
    });
  if (body.messages.length === 0) throw emptyArray('messages');
  checkSettings(body);
  const messages = body.messages as readonly Fields[];
  for (const [index, message] of messages.entries()) checkMessage(message, index);
  checkPairs(messages);
  if (isDeepSeek) checkReasoning(messages);
}

function checkSettings({ model, max_tokens: most, stream, stream_options: options }: Fields): void {
  if (most !== undefined && most !== null && /^(?:gpt-5|o\d)/.test(asText(model)))
    throw new Rejection(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens', code: 'unsupported_parameter' },
    );
  if (isFields(options) && stream !== true)
    throw new Rejection("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: 'stream_options',
    });
}

const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer'];
const PARTS = ['text', 'image_url', 'input_audio', 'refusal', 'audio', 'file'];

function checkMessage(message: Fields, index: number): void {
  const { role, content } = message;
  if (!ROLES.includes(asText(role))) throw invalidValue(role, ROLES, `messages[${index}].role`);
  const isCalling = role === 'assistant' && (message.tool_calls !== undefined || message.function_call !== undefined);
  if ((content === null || content === undefined) && !isCalling)
    throw new Rejection("Invalid value for 'content': expected a string, got null.", {
      param: `messages.[${index}].content`,
    });
  for (const [i, part] of fieldsOf(content).entries()) {
    const type = asText(part.type);
    if (!PARTS.includes(type)) throw invalidValue(type, PARTS, `messages[${index}].content[${i}].type`);
    if (type === 'image_url' && role !== 'user')
      throw new Rejection(
        `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', ` +
          `but this message with role '${role}' contains an image URL.`,
        { param: `messages[${index}]`, code: 'invalid_value' },
      );
  }
  if (Array.isArray(message.tool_calls) && message.tool_calls.length === 0)
    throw emptyArray(`messages[${index}].tool_calls`);
  for (const [i, call] of fieldsOf(message.tool_calls).entries())
    checkLength(asText(call.id), 40, `messages[${index}].tool_calls[${i}].id`);
  if (role === 'tool' && typeof message.tool_call_id !== 'string')
    throw new Rejection("Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.", {
      param: `messages.[${index}].tool_call_id`,
    });
}

/** A reply that calls is followed by one message for each call, and by nothing else before the last. */
function checkPairs(messages: readonly Fields[]): void {
  let open: string[] = [];
  let isAfterCall = false;
  const close = (index: number): void => {
    if (open.length === 0) return;
    throw new Rejection(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      { param: `messages.[${index}].role` },
    );
  };
  for (const [index, { role, tool_calls: calls, tool_call_id: id }] of messages.entries()) {
    if (role === 'tool') {
      if (!isAfterCall || !open.includes(asText(id)))
        throw new Rejection(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          { param: `messages.[${index}].role` },
        );
      open = open.filter((call) => call !== id);
      continue;
    }
    close(index);
    isAfterCall = role === 'assistant' && Array.isArray(calls);
    open = isAfterCall ? fieldsOf(calls).map((call) => asText(call.id)) : [];
  }
  close(messages.length);
}

/** Between its calls, DeepSeek wants its own thoughts back. */
function checkReasoning(messages: readonly Fields[]): void {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  const forgotten = messages
    .slice(start + 1)
    .some(({ role, tool_calls: calls, reasoning_content: thought }) => role === 'assistant' && calls && !thought);
  if (forgotten) throw new Rejection('The `reasoning_content` in the thinking mode must be passed back to the API.');
}
