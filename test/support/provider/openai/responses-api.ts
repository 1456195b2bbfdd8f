import { countTokens } from '../../../../src/tokens/count-tokens.ts';
import type { Charge } from '../bill.ts';
import type { Exchange, Incoming, ProviderState } from '../exchange.ts';
import { asText, type Fields, fieldsOf } from '../json.ts';
import type { PromptBlock } from '../prompt.ts';
import { Rejection } from '../rejection.ts';
import { type Ask, idOf, type Reply, replyTo } from '../script.ts';
import { callItem } from './call-item.ts';
import { checkItems, checkResponses, typeOf } from './check-responses.ts';
import { cacheDetails, chargeFor, checkKey, readParts, seal } from './common.ts';
import { streamResponse } from './stream-response.ts';

/** OpenAI's `POST /v1/responses`. */
export async function answerResponses({ headers, body }: Incoming, state: ProviderState): Promise<Exchange> {
  checkKey(headers);
  checkResponses(body);
  const items = conversationOf(body, state);
  checkItems(items, state);
  const asked = askOf(body, items);
  const reply = await replyTo(state.script, asked);
  const ask = { ...asked, task: reply.id ?? asked.task };
  const output = outputOf(reply, ask, { body, state });
  const completion = countTokens(JSON.stringify(output));
  const charge = chargeFor({ model: ask.model, blocks: promptBlocks(body, items), completion, tooLong }, state);
  const id = idOf('resp_', ask);
  if (body.store !== false) {
    state.responses.set(id, [...items, ...output]);
    for (const item of output) state.items.set(asText(item.id), item);
  }
  const json = responseOf(body, { id, output, charge, reply, now: state.now() });
  return { streams: body.stream === true, json, events: streamResponse(json, output), charge };
}

const tooLong = (): Rejection =>
  new Rejection('Your input exceeds the context window of this model. Please adjust your input and try again.', {
    param: 'input',
    code: 'context_length_exceeded',
  });

/** All that was said, what the provider kept included. */
function conversationOf(body: Fields, state: ProviderState): Fields[] {
  const { input, previous_response_id: previous } = body;
  const before = previous === undefined || previous === null ? [] : state.responses.get(asText(previous));
  if (!before)
    throw new Rejection(`Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  const now = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : fieldsOf(input);
  return [...before, ...now.map((item) => (item.type === 'item_reference' ? referred(item, state) : item))];
}

function referred({ id }: Fields, { items }: ProviderState): Fields {
  const item = items.get(asText(id));
  if (item) return item;
  throw new Rejection(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
      'Try again with `store` set to true, or remove this item from your input.',
    { status: 404, param: 'input' },
  );
}

const isSaid = (item: Fields): boolean => /^reasoning$|_call$/.test(typeOf(item)) || item.role === 'assistant';

function askOf(body: Fields, items: readonly Fields[]): Ask {
  const turn = items.filter((item, i) => isSaid(item) && !(i > 0 && isSaid(items[i - 1] as Fields))).length;
  const task = readParts(items.find(({ role }) => role === 'user')?.content).text;
  return { api: 'openai-responses', model: asText(body.model), turn, task, body };
}

function promptBlocks(body: Fields, items: readonly Fields[]): PromptBlock[] {
  const tools = fieldsOf(body.tools).map((tool) => ({ text: `tool ${JSON.stringify(tool)}` }));
  const system = typeof body.instructions === 'string' ? [{ text: `system ${body.instructions}` }] : [];
  return [...tools, ...system, ...items.map(toBlock)];
}

function toBlock(item: Fields): PromptBlock {
  const { text, mediaTokens } = readParts(item.content ?? item.output);
  const thoughts = readParts(item.summary).text;
  const tools = item.tools === undefined ? '' : JSON.stringify(item.tools);
  const asked = typeof item.arguments === 'object' ? JSON.stringify(item.arguments) : (item.arguments ?? item.input);
  const words = [typeOf(item), item.role, item.call_id, item.name, asked, thoughts, text, tools];
  return { text: words.filter(Boolean).join(' '), ...(mediaTokens ? { mediaTokens } : {}) };
}

interface OutputContext {
  readonly body: Fields;
  readonly state: ProviderState;
}

/** Reasoning, then a message, then calls. What follows reasoning cannot go without it. */
function outputOf({ thinking, text, calls = [] }: Reply, ask: Ask, { body, state }: OutputContext): Fields[] {
  const thought = thinking === undefined ? undefined : reasoningItem(thinking, ask, { body, state });
  const items: Fields[] = [];
  if (text !== undefined) {
    const content = [{ type: 'output_text', annotations: [], logprobs: [], text }];
    items.push({ id: idOf('msg_', ask), type: 'message', status: 'completed', content, role: 'assistant' });
  }
  for (const [i, call] of calls.entries()) items.push(callItem(call, ask, i));
  if (!thought) return items;
  for (const { id } of items) state.needs.set(asText(id), asText(thought.id));
  return [thought, ...items];
}

function reasoningItem(thinking: string, ask: Ask, { body, state }: OutputContext): Fields {
  const id = idOf('rs_', ask);
  const isSealed = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content');
  const content = isSealed ? { encrypted_content: seal({ id, thinking }, state.secret) } : {};
  return { id, type: 'reasoning', ...content, summary: [{ type: 'summary_text', text: thinking }] };
}

interface ResponseParts {
  readonly id: string;
  readonly output: readonly Fields[];
  readonly charge: Charge;
  readonly reply: Reply;
  readonly now: number;
}

function responseOf(body: Fields, { id, output, charge, reply, now }: ResponseParts): Fields {
  return {
    id,
    object: 'response',
    created_at: Math.floor(now / 1000),
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: usageOf(charge, reply),
    user: null,
    metadata: body.metadata ?? {},
  };
}

function usageOf(charge: Charge, { thinking = '' }: Reply): Fields {
  return {
    input_tokens: charge.prompt,
    input_tokens_details: cacheDetails(charge),
    output_tokens: charge.completion,
    output_tokens_details: { reasoning_tokens: Math.min(charge.completion, countTokens(thinking)) },
    total_tokens: charge.prompt + charge.completion,
  };
}
