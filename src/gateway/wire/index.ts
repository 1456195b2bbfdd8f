import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import type { Provider } from './providers.ts';
import type { Wire, WireRoute } from './wire.ts';

/** Every API that the gateway understands. To add one: its file, and a line here. */
export const wires = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
} as const satisfies Readonly<Record<string, Wire & { readonly provider: Provider }>>;

/** The API that a request speaks. */
export type Api = keyof typeof wires;

/** A route of an API. */
export interface ApiRoute extends WireRoute {
  readonly api: Api;
}

const routes: readonly ApiRoute[] = (Object.keys(wires) as Api[]).flatMap((api) =>
  wires[api].routes.map((route: WireRoute) => ({ ...route, api })),
);

/** The APIs that have this path. */
export function routesOf(path: string): readonly ApiRoute[] {
  return routes.filter((route) => route.path.test(path));
}
