export type { ChatParameters } from './chat-completions.ts';
export { type AiSdkModel, type AiSdkSettings, fromAiSdk } from './from-ai-sdk.ts';
export { type AnthropicClient, type AnthropicParameters, fromAnthropic } from './from-anthropic.ts';
export { fromConfig } from './from-config.ts';
export { fromOpenAI, type OpenAIClient } from './from-openai.ts';
export { type FromUrlOptions, fromUrl } from './from-url.ts';
