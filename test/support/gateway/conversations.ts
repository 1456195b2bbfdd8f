import { aiSdkAnthropic, aiSdkChat, aiSdkResponses } from './clients/ai-sdk.ts';
import { anthropicSdk } from './clients/anthropic-sdk.ts';
import { googleGenai } from './clients/google-genai.ts';
import type { Client } from './clients/job.ts';
import { langchainAnthropic, langchainChat, langchainResponses } from './clients/langchain.ts';
import { openaiChatSdk, openaiResponsesSdk } from './clients/openai-sdk.ts';

export { corpusRuns, type ReplayedBill, type ReplayOptions, replayRun } from './clients/corpus-run.ts';
export { type Client, type Job, jobScript, runTool, type Seen } from './clients/job.ts';

/** Every real client from npm, ready to hold a long conversation with a base URL. */
export const clients: readonly Client[] = [
  anthropicSdk,
  openaiChatSdk,
  openaiResponsesSdk,
  googleGenai,
  aiSdkAnthropic,
  aiSdkChat,
  aiSdkResponses,
  langchainAnthropic,
  langchainChat,
  langchainResponses,
];
