import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from 'ai';
import { PNG } from '../../provider/requests.ts';
import { type Client, type Job, runTool, type Seen, SYSTEM, TOOL_SCHEMAS, taskOf } from './job.ts';

/** The AI SDK with `@ai-sdk/anthropic`, in its own loop. */
export const aiSdkAnthropic: Client = {
  name: 'ai + @ai-sdk/anthropic',
  api: 'anthropic',
  converse: (url, job) =>
    converse(createAnthropic({ apiKey: 'sk-ant-test', baseURL: `${url}/v1` })(job.model ?? 'claude-sonnet-5'), job),
};

/** The AI SDK with `@ai-sdk/openai`, which speaks Responses. */
export const aiSdkResponses: Client = {
  name: 'ai + @ai-sdk/openai (responses)',
  api: 'openai-responses',
  converse: (url, job) =>
    converse(createOpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1` })(job.model ?? 'gpt-5'), job),
};

/** The AI SDK with `@ai-sdk/openai`, told to speak Chat Completions. */
export const aiSdkChat: Client = {
  name: 'ai + @ai-sdk/openai (chat)',
  api: 'openai-chat',
  converse: (url, job) =>
    converse(createOpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1` }).chat(job.model ?? 'gpt-5'), job),
};

async function converse(model: LanguageModel, job: Job): Promise<Seen> {
  const settings = {
    model,
    tools: toolsOf(job),
    messages: messagesOf(job),
    stopWhen: stepCountIs(job.turns + 2),
    maxRetries: 0,
    allowSystemInMessages: true,
    providerOptions: optionsOf(job),
  };
  const steps = job.streams ? await streamedSteps(settings) : (await generateText(settings)).steps;
  return {
    texts: steps.flatMap(({ text }) => (text === '' ? [] : [text])),
    thoughts: steps.flatMap(({ reasoningText }) => (reasoningText ? [reasoningText] : [])),
    calls: steps.flatMap(({ toolCalls }) =>
      toolCalls.map(({ toolCallId: id, toolName: name, input }) => ({ id, name, input })),
    ),
  };
}

async function streamedSteps(settings: Parameters<typeof streamText>[0]) {
  let failure: unknown;
  const result = streamText({
    ...settings,
    onError({ error }) {
      failure = error;
    },
  });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  return await result.steps;
}

function messagesOf(job: Job): ModelMessage[] {
  const marker = { anthropic: { cacheControl: { type: 'ephemeral' } } };
  const image = { type: 'image' as const, image: PNG, mediaType: 'image/png' };
  return [
    { role: 'system', content: SYSTEM, providerOptions: marker },
    { role: 'user', content: [{ type: 'text', text: taskOf(job) }, ...(job.hasImages ? [image] : [])] },
  ];
}

function optionsOf({ thinks }: Job) {
  return {
    anthropic: {
      cacheControl: { type: 'ephemeral' as const },
      ...(thinks ? { thinking: { type: 'adaptive' as const } } : {}),
    },
    openai: { store: false, include: ['reasoning.encrypted_content'] },
  };
}

function toolsOf(job: Job): ToolSet {
  const entries = TOOL_SCHEMAS.map(({ name, description, schema }) => {
    const execute = (input: unknown): string => {
      const { text, isError } = runTool(name, input, job);
      if (isError) throw new Error(text);
      return text;
    };
    return [name, tool({ description, inputSchema: jsonSchema(schema as never), execute })] as const;
  });
  return Object.fromEntries(entries) as ToolSet;
}
