import { anthropic } from './anthropic.ts';
import type { Wire } from './wire.ts';

/** Anthropic's Messages API on Vertex AI: the same body without the model, which is in the path. */
export const anthropicVertex = {
  ...anthropic,
  home: {
    name: 'vertex',
    telemetryName: 'gcp.vertex_ai',
    // The global endpoint. Each region has an address of its own, which `--upstream vertex=…` names.
    address: 'https://aiplatform.googleapis.com',
    speaks: ['gemini'],
    signs: { isOwn: ({ url }) => /^\/v1(?:beta1)?\/projects\//.test(url) },
  },
  routes: [
    { path: /\/publishers\/anthropic\/models\/count-tokens:rawPredict$/, isCountTokens: true },
    { path: /\/publishers\/anthropic\/models\/[^/]+:(?:rawPredict|streamRawPredict)$/ },
  ],
  modelInPath: /\/publishers\/anthropic\/models\/(?!count-tokens:)([^/:]+)/,
} as const satisfies Wire;
