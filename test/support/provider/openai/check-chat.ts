import { asText, extraField, type Fields, fieldsOf, names } from '../json.ts';
import { Rejection } from '../rejection.ts';

const FIELDS = names(
  'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens ' +
    'metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream ' +
    'stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options',
);

/** DeepSeek speaks the same, with a field of its own. */
const DEEPSEEK_FIELDS = names('thinking');

/** Throws what the API would answer to a request that an edit on the way has broken. */
export function checkChat(body: Fields): void {
  const isDeepSeek = asText(body.model).startsWith('deepseek');
  const extra = extraField(body, isDeepSeek ? new Set([...FIELDS, ...DEEPSEEK_FIELDS]) : FIELDS);
  if (extra !== undefined) throw new Rejection(`Unrecognized request argument supplied: ${extra}`);
  if (!Array.isArray(body.messages))
    throw new Rejection("Missing required parameter: 'messages'.", {
      param: 'messages',
      code: 'missing_required_parameter',
    });
  const messages = body.messages as readonly Fields[];
  for (const [index, message] of messages.entries()) checkMessage(message, index);
  checkPairs(messages);
}

function checkMessage({ role, content, tool_calls: calls, function_call: call }: Fields, index: number): void {
  const isCalling = role === 'assistant' && (calls !== undefined || call !== undefined);
  if ((content === null || content === undefined) && !isCalling)
    throw new Rejection("Invalid value for 'content': expected a string, got null.", {
      param: `messages.[${index}].content`,
    });
  if (role !== 'user' && fieldsOf(content).some(({ type }) => type === 'image_url'))
    throw new Rejection(
      `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', ` +
        `but this message with role '${role}' contains an image URL.`,
      { param: `messages[${index}]`, code: 'invalid_value' },
    );
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
