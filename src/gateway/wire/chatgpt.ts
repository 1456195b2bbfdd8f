import { openaiResponses } from './openai-responses.ts';
import type { Wire } from './wire.ts';

/** OpenAI's Responses as Codex uses them with a ChatGPT login. */
export const chatgpt = {
  ...openaiResponses,
  home: {
    name: 'chatgpt',
    telemetryName: 'openai',
    address: 'https://chatgpt.com',
    signs: { isOwn: ({ url }) => url.startsWith('/backend-api/') },
  },
  routes: [{ path: /^\/backend-api\/codex\/responses(?:\/compact)?$/ }],
} as const satisfies Wire;
