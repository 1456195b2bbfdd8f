import { type OpenAIChatMessage, openaiChat } from '../../formats/openai-chat.ts';
import type { Model } from '../../manager/agent/model.ts';
import { given } from '../../options.ts';
import { type ChatParameters, chatBody, readChunks, readCompletion, STREAMED } from './chat-completions.ts';
import { createModel } from './create-model.ts';

/** The part of an `openai` client that is used. */
export interface OpenAIClient {
  /** The resource that sends Chat Completions requests. */
  readonly chat: {
    readonly completions: {
      create(body: object, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>;
    };
  };
}

/**
 * A model behind a client of the package `openai`: `fromOpenAI(new OpenAI(), { model: 'gpt-5' })`.
 *
 * @example
 * ```ts
 * import OpenAI from 'openai';
 * import { fromOpenAI } from 'palimpsest/models';
 *
 * const model = fromOpenAI(new OpenAI(), { model: 'gpt-5' });
 * ```
 */
export function fromOpenAI(client: OpenAIClient, parameters: ChatParameters): Model<OpenAIChatMessage> {
  given('fromOpenAI', parameters);
  return createModel(openaiChat, parameters.model, async (request, signal) => {
    const body = chatBody(request, { parameters, outputField: 'max_completion_tokens' });
    if (!request.onText) return readCompletion(await client.chat.completions.create(body, { signal }));
    const chunks = await client.chat.completions.create({ ...body, ...STREAMED }, { signal });
    return readChunks(chunks as AsyncIterable<unknown>, request.onText);
  });
}
