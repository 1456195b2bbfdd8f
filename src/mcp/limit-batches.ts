import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { recallLimits } from '../limits.ts';

/** The same handler. It refuses a batch with too many messages, or with two calls of one id, before it answers any of them. */
export function limitBatches(handler: Pick<McpHttpHandler, 'fetch'>): Pick<McpHttpHandler, 'fetch'> {
  return {
    fetch: async (request, options) => {
      const parsedBody = request.method === 'POST' ? parse(await request.clone().text()) : undefined;
      const message = mistakeIn(parsedBody);
      // Without a parsed body the SDK works on a clone of the request. Node may never abort the signal of a clone.
      if (message === undefined) return handler.fetch(request, { ...options, parsedBody });
      return Response.json({ jsonrpc: '2.0', error: { code: -32_600, message }, id: null }, { status: 400 });
    },
  };
}

/** The SDK identifies calls by their ids. If two have the same id, it can stop only one when their client is gone. */
function mistakeIn(batch: unknown): string | undefined {
  if (!Array.isArray(batch)) return undefined;
  const most = recallLimits.batchMessages;
  if (batch.length > most)
    return `Expected a batch of at most ${most} messages but found ${batch.length}; send several`;
  const ids = batch.flatMap((message) => message?.id ?? []);
  if (new Set(ids).size < ids.length)
    return 'Expected calls with different ids but found an id twice; number the calls';
  return undefined;
}

/** Undefined for a body that is not JSON: the handler refuses it. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
