import { anthropic } from './anthropic.ts';
import { anthropicVertex } from './anthropic-vertex.ts';
import { azure } from './azure.ts';
import { chatgpt } from './chatgpt.ts';
import { codeassist } from './codeassist.ts';
import { gemini } from './gemini.ts';
import { ollama } from './ollama.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import type { Wire, WireRoute } from './wire.ts';

/** Every API that the gateway understands. To add one: its file, and a line here. */
export const wires = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
  ollama,
  'anthropic-vertex': anthropicVertex,
  ...azure,
  chatgpt,
  codeassist,
} as const satisfies Readonly<Record<string, Wire>>;

/** The API that a request speaks. */
export type Api = keyof typeof wires;

/** A route of an API. */
export interface ApiRoute extends WireRoute {
  readonly api: Api;
}

export const apis = Object.keys(wires) as readonly Api[];

const routes: readonly ApiRoute[] = apis.flatMap((api) =>
  wires[api].routes.map((route: WireRoute) => ({ ...route, api })),
);

/** The APIs that have this path. */
export function routesOf(path: string): readonly ApiRoute[] {
  return routes.filter((route) => route.path.test(path));
}
