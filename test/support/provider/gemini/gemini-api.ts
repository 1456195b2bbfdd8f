import { defaultContextWindow } from '../../../../src/budget.ts';
import { priceLists } from '../../../../src/plan/prices.ts';
import { countTokens } from '../../../../src/tokens/count-tokens.ts';
import { sizeMedia } from '../../../../src/tokens/media.ts';
import type { Charge } from '../bill.ts';
import type { Exchange, Incoming, ProviderState } from '../exchange.ts';
import { asText, type Fields, fieldsOf, isFields } from '../json.ts';
import { measure, type PromptBlock } from '../prompt.ts';
import { Rejection } from '../rejection.ts';
import { type Ask, idOf, type Reply, replyTo } from '../script.ts';
import { pieces, type StreamEvent } from '../sse.ts';
import { checkGemini, checkKey, isGemini3 } from './check-gemini.ts';
import { signatureOf } from './signature.ts';

const STEP_TOKENS = 64;

/** Gemini's `:generateContent` and `:streamGenerateContent`. */
export async function answerGemini(incoming: Incoming, state: ProviderState): Promise<Exchange> {
  const { route, headers, query } = incoming;
  const model = route.model ?? '';
  checkKey(headers, query);
  const body = toCamel(incoming.body);
  checkGemini(body, model, state.secret);
  const prompt = measure(model, promptBlocks(body));
  const limit = state.contextTokens ?? defaultContextWindow(model);
  if (prompt.tokens > limit)
    throw new Rejection(
      `The input token count (${prompt.tokens}) exceeds the maximum number of tokens allowed (${limit}).`,
    );
  const ask = askOf(body, model);
  const reply = await replyTo(state.script, ask);
  const parts = partsOf(reply, ask, { body, secret: state.secret });
  const { leastTokens, lifeMs } = priceLists.gemini;
  const split = state.automatic.take(prompt, {
    now: state.now(),
    rules: { leastTokens, lifeMs, stepTokens: STEP_TOKENS },
  });
  const completion = countTokens(JSON.stringify(parts.map(({ thoughtSignature: _signature, ...part }) => part)));
  // Thoughts are billed as output, whether they are shown or not.
  const thoughts = reply.thinking === undefined ? 0 : countTokens(reply.thinking);
  const billed = completion + thoughts;
  const charge: Charge = { model, prompt: prompt.tokens, split, completion: billed, prices: priceLists.gemini };
  const rest = { usageMetadata: usageOf(charge, thoughts), modelVersion: model, responseId: idOf('', ask) };
  return {
    streams: route.streams === true,
    json: { candidates: [candidate(parts, 'STOP')], ...rest },
    events: streamParts(parts, rest),
    charge,
  };
}

/** Both spellings of the first level are taken, as protocol buffers do. */
function toCamel(body: Fields): Fields {
  const camel = (key: string): string => key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [camel(key), value]));
}

function askOf(body: Fields, model: string): Ask {
  const contents = fieldsOf(body.contents);
  return {
    api: 'gemini',
    model,
    turn: contents.filter(({ role }) => role === 'model').length,
    task: asText(fieldsOf(contents[0]?.parts)[0]?.text),
    body,
  };
}

function promptBlocks(body: Fields): PromptBlock[] {
  const system = isFields(body.systemInstruction) ? fieldsOf(body.systemInstruction.parts) : [];
  return [
    ...fieldsOf(body.tools).map((tool) => ({ text: `tool ${JSON.stringify(tool)}` })),
    ...system.map((part) => toBlock('system', part)),
    ...fieldsOf(body.contents).flatMap(({ role, parts }) => fieldsOf(parts).map((part) => toBlock(asText(role), part))),
  ];
}

function toBlock(role: string, part: Fields): PromptBlock {
  const { thoughtSignature: _signature, ...rest } = part;
  if (typeof part.text === 'string') return { text: `${role} ${part.text}` };
  const media = [part, ...answerParts(part)].flatMap((holder) =>
    isFields(holder.inlineData) ? [holder.inlineData] : [],
  );
  const mediaTokens = media.reduce(
    (sum, { mimeType, data }) => sum + sizeMedia('gemini', asText(mimeType), data).tokens,
    0,
  );
  const text = JSON.stringify(rest, (key, value) => (key === 'data' ? asText(value).slice(-16) : value));
  return { text: `${role} ${text}`, ...(mediaTokens > 0 ? { mediaTokens } : {}) };
}

const answerParts = ({ functionResponse: answer }: Fields): readonly Fields[] =>
  isFields(answer) ? fieldsOf(answer.parts) : [];

interface PartContext {
  readonly body: Fields;
  readonly secret: string;
}

/** A thought is shown only to who asks for it; its signature stands on the first call, else on the text. */
function partsOf({ thinking, text, calls = [] }: Reply, ask: Ask, { body, secret }: PartContext): Fields[] {
  // Gemini 3 thinks always, whether or not it shows it.
  const thinks = thinking !== undefined || isGemini3(ask.model);
  const signed = (part: Fields, isFirst: boolean): Fields =>
    thinks && isFirst ? { ...part, thoughtSignature: signatureOf(part, secret) } : part;
  const parts: Fields[] = [];
  if (thinking !== undefined && showsThoughts(body)) parts.push({ text: thinking, thought: true });
  if (text !== undefined) parts.push(signed({ text }, calls.length === 0));
  for (const [i, { name, input }] of calls.entries())
    parts.push(signed({ functionCall: { id: idOf('', ask, i), name, args: input } }, i === 0));
  return parts;
}

function showsThoughts({ generationConfig: config }: Fields): boolean {
  const thinking = isFields(config) && isFields(config.thinkingConfig) ? config.thinkingConfig : {};
  return thinking.includeThoughts === true;
}

function usageOf({ prompt, split, completion }: Charge, thoughts: number): Fields {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: completion - thoughts,
    totalTokenCount: prompt + completion,
    ...(split.read > 0 ? { cachedContentTokenCount: split.read } : {}),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  };
}

const candidate = (parts: readonly Fields[], finishReason?: string): Fields => ({
  content: { parts, role: 'model' },
  ...(finishReason === undefined ? {} : { finishReason }),
  index: 0,
});

/** Text in pieces; a call comes whole. Every chunk has the usage so far. */
function streamParts(parts: readonly Fields[], rest: object): StreamEvent[] {
  const chunks = parts.flatMap((part): Fields[] => {
    if (typeof part.text !== 'string') return [part];
    const { text, thoughtSignature, ...others } = part;
    const cut = pieces(text).map((piece): Fields => ({ text: piece, ...others }));
    // The signature of a text comes last, on a part without any.
    return thoughtSignature === undefined ? cut : [...cut, { text: '', thoughtSignature }];
  });
  return chunks.map((part, i) => ({
    data: { candidates: [candidate([part], i === chunks.length - 1 ? 'STOP' : undefined)], ...rest },
  }));
}
