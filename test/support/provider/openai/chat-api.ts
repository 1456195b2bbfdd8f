import { countTokens } from '../../../../src/tokens/count-tokens.ts';
import type { Charge } from '../bill.ts';
import type { Exchange, Incoming, ProviderState } from '../exchange.ts';
import { asText, type Fields, fieldsOf, isFields } from '../json.ts';
import type { PromptBlock } from '../prompt.ts';
import { Rejection } from '../rejection.ts';
import { type Ask, idOf, type Reply, replyTo } from '../script.ts';
import { pieces, type StreamEvent } from '../sse.ts';
import { checkChat } from './check-chat.ts';
import { cacheDetails, chargeFor, checkKey, readParts } from './common.ts';

/** OpenAI's `POST /v1/chat/completions`. */
export async function answerChat({ headers, body }: Incoming, state: ProviderState): Promise<Exchange> {
  checkKey(headers);
  checkChat(body);
  const ask = askOf(body);
  const reply = await replyTo(state.script, ask);
  const message = messageOf(reply, ask);
  const completion = countTokens(JSON.stringify(message));
  const charge = chargeFor({ model: ask.model, blocks: promptBlocks(body), completion, tooLong }, state);
  const about = { id: idOf('chatcmpl-', ask), created: Math.floor(state.now() / 1000), model: ask.model };
  const usage = usageOf(charge, reply);
  const json = {
    ...about,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply) }],
    usage,
    service_tier: 'default',
    system_fingerprint: 'fp_scripted',
  };
  const withUsage = isFields(body.stream_options) && body.stream_options.include_usage === true;
  const events = streamChat(message, { about, reply, usage: withUsage ? usage : undefined });
  return { streams: body.stream === true, json, events, charge };
}

const tooLong = (tokens: number, limit: number): Rejection =>
  new Rejection(
    `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. ` +
      'Please reduce the length of the messages.',
    { param: 'messages', code: 'context_length_exceeded' },
  );

function askOf(body: Fields): Ask {
  const messages = fieldsOf(body.messages);
  return {
    api: 'openai-chat',
    model: asText(body.model),
    turn: messages.filter(({ role }) => role === 'assistant').length,
    task: readParts(messages.find(({ role }) => role === 'user')?.content).text,
    body,
  };
}

function promptBlocks(body: Fields): PromptBlock[] {
  const tools = fieldsOf(body.tools).map((tool) => ({ text: `tool ${JSON.stringify(tool)}` }));
  const messages = fieldsOf(body.messages).map((message): PromptBlock => {
    const { text, mediaTokens } = readParts(message.content);
    const calls = fieldsOf(message.tool_calls).map((call) => JSON.stringify([call.id, call.function]));
    const words = [message.role, message.tool_call_id, message.reasoning_content, text, ...calls];
    return { text: words.filter(Boolean).join(' '), ...(mediaTokens ? { mediaTokens } : {}) };
  });
  return [...tools, ...messages];
}

interface ChatMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly refusal: null;
  readonly annotations: readonly never[];
}

interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

function messageOf({ text, thinking, calls = [] }: Reply, ask: Ask): ChatMessage {
  const toolCalls = calls.map(
    ({ id, name, input }, i): ToolCall => ({
      id: id ?? idOf('call_', ask, i),
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }),
  );
  const isDeepSeek = ask.model.startsWith('deepseek');
  return {
    role: 'assistant',
    content: text ?? null,
    ...(isDeepSeek && thinking !== undefined ? { reasoning_content: thinking } : {}),
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
    refusal: null,
    annotations: [],
  };
}

const finishReason = ({ calls = [] }: Reply): string => (calls.length > 0 ? 'tool_calls' : 'stop');

function usageOf(charge: Charge, { thinking = '' }: Reply): Fields {
  return {
    prompt_tokens: charge.prompt,
    completion_tokens: charge.completion,
    total_tokens: charge.prompt + charge.completion,
    prompt_tokens_details: { ...cacheDetails(charge), audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: Math.min(charge.completion, countTokens(thinking)),
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

interface ChatStream {
  readonly about: object;
  readonly reply: Reply;
  readonly usage: Fields | undefined;
}

/** With `include_usage`, every chunk has a usage of null, and one more without choices has the real one. */
function streamChat(message: ChatMessage, { about, reply, usage }: ChatStream): StreamEvent[] {
  const base = {
    ...about,
    object: 'chat.completion.chunk',
    service_tier: 'default',
    system_fingerprint: 'fp_scripted',
  };
  const chunk = (delta: object, reason: string | null = null): StreamEvent => ({
    data: {
      ...base,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      ...(usage ? { usage: null } : {}),
    },
  });
  return [
    chunk({ role: 'assistant', content: message.tool_calls ? null : '', refusal: null }),
    ...pieces(message.reasoning_content ?? '').map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(message.content ?? '').map((content) => chunk({ content })),
    ...(message.tool_calls ?? []).flatMap((call, index) => callDeltas(call, index).map((delta) => chunk(delta))),
    chunk({}, finishReason(reply)),
    ...(usage ? [{ data: { ...base, choices: [], usage } }] : []),
    { data: '[DONE]' },
  ];
}

function callDeltas({ id, type, function: { name, arguments: json } }: ToolCall, index: number): object[] {
  return [
    { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
    ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}
