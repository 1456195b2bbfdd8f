import type { IncomingHttpHeaders } from 'node:http';
import type { Charge } from './bill.ts';
import type { Fields } from './json.ts';
import type { AutomaticCache, MarkedCache } from './prompt-cache.ts';
import type { Route } from './route.ts';
import type { Script } from './script.ts';
import type { StreamEvent } from './sse.ts';

/** A request that could be read. */
export interface Incoming {
  readonly route: Route;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly body: Fields;
}

/** What the provider remembers between requests, and how it is set up. */
export interface ProviderState {
  readonly script: Script;
  readonly now: () => number;
  /** Signs thinking. */
  readonly secret: string;
  readonly contextTokens: number | undefined;
  readonly marked: MarkedCache;
  readonly automatic: AutomaticCache;
  /** Responses that were stored, with all that was said before them. */
  readonly responses: Map<string, readonly Fields[]>;
  /** Every item of a stored response, by its id. */
  readonly items: Map<string, Fields>;
  /** The reasoning item that each function call of the Responses API needs before it. */
  readonly needs: Map<string, string>;
}

/** An answer, whole and as a stream. */
export interface Exchange {
  readonly streams: boolean;
  readonly json: object;
  readonly events: readonly StreamEvent[];
  /** Nothing for an answer that costs nothing. */
  readonly charge?: Charge;
  readonly headers?: Readonly<Record<string, string>>;
}
