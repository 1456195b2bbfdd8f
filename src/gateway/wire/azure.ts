import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import type { Home, Wire } from './wire.ts';

const home = {
  name: 'azure',
  telemetryName: 'azure.ai.openai',
  // Every resource has its own address. This reserved name, which never exists, says what to set.
  address: 'https://set-upstream-azure.invalid',
  speaks: ['anthropic'],
  signs: {
    // Its paths begin with `/openai`, the prefix of OpenAI, which has no deployments, no api-version and no header api-key.
    isOwn: ({ url, headers }) =>
      /^\/openai\/(?:deployments\/|[^?]*\?(?:.*&)?api-version=)/.test(url) ||
      (headers['api-key'] !== undefined && /^\/(?:openai|v1)\//.test(url)),
  },
} as const satisfies Home;

const modelInPath = /\/deployments\/([^/]+)/;

/** OpenAI's APIs as Azure serves them: with a deployment in the path, or like OpenAI below `/openai/v1`. */
export const azure = {
  'azure-chat': {
    ...openaiChat,
    home,
    routes: [{ path: /^\/openai\/(?:v1|deployments\/[^/]+)\/chat\/completions$/ }],
    modelInPath,
    modelPrefix: 'azure/',
  },
  'azure-responses': {
    ...openaiResponses,
    home,
    routes: [{ path: /^\/openai\/(?:v1\/|deployments\/[^/]+\/)?responses(?:\/compact)?$/ }],
    modelInPath,
    modelPrefix: 'azure/',
  },
} as const satisfies Readonly<Record<string, Wire>>;
