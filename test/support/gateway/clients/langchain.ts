import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { PNG } from '../../provider/requests.ts';
import { type Client, type Job, runTool, type Seen, type SeenCall, SYSTEM, TOOL_SCHEMAS, taskOf } from './job.ts';

/** `@langchain/anthropic`. */
export const langchainAnthropic: Client = {
  name: '@langchain/anthropic',
  api: 'anthropic',
  converse(url, job) {
    const model = new ChatAnthropic({
      model: job.model ?? 'claude-sonnet-5',
      apiKey: 'sk-ant-test',
      anthropicApiUrl: url,
      maxTokens: 8192,
      maxRetries: 0,
      ...(job.thinks ? { thinking: { type: 'adaptive' } } : {}),
    });
    return converse(model, job);
  },
};

const openaiModel = (url: string, job: Job, useResponsesApi: boolean): ChatOpenAI =>
  new ChatOpenAI({
    model: job.model ?? 'gpt-5',
    apiKey: 'sk-test',
    configuration: { baseURL: `${url}/v1` },
    maxRetries: 0,
    useResponsesApi,
    ...(useResponsesApi ? { zdrEnabled: true } : {}),
  });

/** `@langchain/openai` with Chat Completions. */
export const langchainChat: Client = {
  name: '@langchain/openai (chat)',
  api: 'openai-chat',
  converse: (url, job) => converse(openaiModel(url, job, false), job),
};

/** `@langchain/openai` with Responses. */
export const langchainResponses: Client = {
  name: '@langchain/openai (responses)',
  api: 'openai-responses',
  converse: (url, job) => converse(openaiModel(url, job, true), job),
};

async function converse(model: BaseChatModel, job: Job): Promise<Seen> {
  const bound = model.bindTools?.(
    TOOL_SCHEMAS.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    })),
  );
  if (!bound) throw new Error('The model takes no tools');
  const messages: BaseMessage[] = [new SystemMessage(SYSTEM), new HumanMessage({ content: taskContent(job) })];
  const seen = { texts: [] as string[], thoughts: [] as string[], calls: [] as SeenCall[] };
  for (;;) {
    const reply = job.streams ? await collect(await bound.stream(messages)) : await bound.invoke(messages);
    messages.push(reply);
    if (reply.text !== '') seen.texts.push(reply.text);
    seen.thoughts.push(...thoughtsOf(reply));
    for (const { id = '', name, args } of reply.tool_calls ?? []) {
      seen.calls.push({ id, name, input: args });
      messages.push(new ToolMessage({ tool_call_id: id, name, content: runTool(name, args, job).text }));
    }
    if (!reply.tool_calls?.length) return seen;
  }
}

function taskContent(job: Job) {
  const text = { type: 'text', text: taskOf(job) };
  return job.hasImages ? [text, { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }] : [text];
}

async function collect(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of chunks) whole = whole ? whole.concat(chunk) : chunk;
  return whole ?? new AIMessageChunk('');
}

function thoughtsOf({ contentBlocks }: Pick<AIMessageChunk, 'contentBlocks'>): string[] {
  return contentBlocks.flatMap((block) => (block.type === 'reasoning' ? [String(block.reasoning)] : []));
}
