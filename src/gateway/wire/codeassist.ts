import { gemini } from './gemini.ts';
import type { Wire } from './wire.ts';

/** Gemini's API as Gemini CLI uses it with a Google login: the usual request is in `request`, next to the model. */
export const codeassist = {
  ...gemini,
  home: {
    name: 'codeassist',
    telemetryName: 'gcp.gen_ai',
    address: 'https://cloudcode-pa.googleapis.com',
    signs: { isOwn: ({ url }) => url.startsWith('/v1internal:') },
  },
  routes: [
    { path: /^\/v1internal:(?:generateContent|streamGenerateContent)$/ },
    { path: /^\/v1internal:countTokens$/, isCountTokens: true },
  ],
  envelope: 'request',
  sessionIn: (field) => field('session_id'),
} as const satisfies Wire;
