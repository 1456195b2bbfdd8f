import { defaultContextWindow } from '../../../../src/budget.ts';
import { priceLists } from '../../../../src/plan/prices.ts';
import { countTokens } from '../../../../src/tokens/count-tokens.ts';
import type { Charge } from '../bill.ts';
import type { Exchange, Incoming, ProviderState } from '../exchange.ts';
import { asText, type Fields, fieldsOf, isFields } from '../json.ts';
import { measure, type Prompt } from '../prompt.ts';
import type { Split } from '../prompt-cache.ts';
import { Rejection } from '../rejection.ts';
import { type Ask, idOf, type Reply, replyTo } from '../script.ts';
import { BINDING_BETA, betasOf, checkHeaders, checkRequest, isThinking } from './check-request.ts';
import { leastCacheable } from './models.ts';
import { blocksOf, promptBlocks } from './prompt-blocks.ts';
import { streamMessage } from './stream-message.ts';
import { checkThoughts, signThought } from './thinking.ts';

/** Anthropic's `POST /v1/messages` and `/v1/messages/count_tokens`. */
export async function answerMessages(incoming: Incoming, state: ProviderState): Promise<Exchange> {
  const { route, headers } = incoming;
  checkHeaders(headers);
  const betas = betasOf(headers);
  const { body } = incoming;
  checkRequest(body, betas, route.action);
  const transformations = checkThoughts(body, { betas, secret: state.secret });
  const dropped = new Set(transformations.map(({ path }) => path));
  const model = asText(body.model);
  const prompt = measure(
    model,
    promptBlocks(body, (path) => dropped.has(path)),
  );
  if (route.action === 'count') return countAnswer(prompt, body);
  checkSize(prompt, model, state);
  const reply = await replyTo(state.script, askOf(body));
  const split = state.marked.take(prompt, { now: state.now(), leastTokens: leastCacheable(model) });
  const content = contentOf(reply, body, state.secret);
  const completion = countTokens(JSON.stringify(content.map(({ signature: _signature, ...block }) => block)));
  const charge = { model, prompt: prompt.tokens, split, completion, prices: priceLists['anthropic-5m'] };
  const message = {
    ...messageOf(body, content, charge),
    ...(betas.includes(BINDING_BETA) ? { input_transformations: transformations } : {}),
    ...(body.context_management === undefined ? {} : { context_management: { applied_edits: [] } }),
  };
  return { streams: body.stream === true, json: message, events: streamMessage(message), charge };
}

function askOf(body: Fields): Ask {
  const messages = fieldsOf(body.messages);
  return {
    api: 'anthropic',
    model: asText(body.model),
    turn: messages.filter(({ role }) => role === 'assistant').length,
    task: asText(blocksOf(messages[0]?.content).find(({ type }) => type === 'text')?.text),
    body,
  };
}

function countAnswer({ tokens }: Prompt, { context_management: management }: Fields): Exchange {
  const json = {
    input_tokens: tokens,
    ...(isFields(management) ? { context_management: { original_input_tokens: tokens } } : {}),
  };
  return { streams: false, json, events: [] };
}

function checkSize({ tokens }: Prompt, model: string, { contextTokens }: ProviderState): void {
  const limit = contextTokens ?? defaultContextWindow(model);
  if (tokens > limit) throw new Rejection(`prompt is too long: ${tokens} tokens > ${limit} maximum`);
}

/** A block of a reply. */
export interface ReplyBlock {
  readonly type: 'thinking' | 'text' | 'tool_use';
  readonly [field: string]: unknown;
}

function contentOf({ thinking, text, calls = [] }: Reply, body: Fields, secret: string): ReplyBlock[] {
  const ask = askOf(body);
  const blocks: ReplyBlock[] = [];
  if (thinking !== undefined && isThinking(body))
    blocks.push({ type: 'thinking', thinking, signature: signThought(thinking, body, secret) });
  if (text !== undefined && text !== '') blocks.push({ type: 'text', text });
  for (const [i, { id = idOf('toolu_01', ask, i), name, input }] of calls.entries())
    blocks.push({ type: 'tool_use', id, name, input });
  return blocks;
}

/** A message as it is sent whole. */
export interface WholeMessage {
  readonly content: readonly ReplyBlock[];
  readonly stop_reason: string;
  readonly usage: Fields;
  readonly [field: string]: unknown;
}

function messageOf(body: Fields, content: readonly ReplyBlock[], { split, completion }: Charge): WholeMessage {
  return {
    model: body.model,
    id: idOf('msg_01', askOf(body)),
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: usageOf(split, completion),
  };
}

function usageOf({ read, written, fresh }: Split, completion: number): Fields {
  const sum = (lifeMs: number): number =>
    written.reduce((total, write) => total + (write.lifeMs === lifeMs ? write.tokens : 0), 0);
  const [short, long] = [sum(priceLists['anthropic-5m'].lifeMs), sum(priceLists['anthropic-1h'].lifeMs)];
  return {
    input_tokens: fresh,
    cache_creation_input_tokens: short + long,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    output_tokens: completion,
    service_tier: 'standard',
    inference_geo: 'global',
  };
}
