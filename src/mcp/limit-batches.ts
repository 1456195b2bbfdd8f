import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { recallLimits } from '../limits.ts';

/** The same handler, but a batch of too many messages, or of calls with one id, is refused before any of them is answered. */
export function limitBatches(handler: Pick<McpHttpHandler, 'fetch'>): Pick<McpHttpHandler, 'fetch'> {
  return {
    fetch: async (request, options) => {
      const message = request.method === 'POST' ? mistakeIn(batchIn(await request.clone().text())) : undefined;
      if (message === undefined) return handler.fetch(request, options);
      return Response.json({ jsonrpc: '2.0', error: { code: -32_600, message }, id: null }, { status: 400 });
    },
  };
}

/** The SDK knows calls by their ids. Of two with one id it could stop only one when their client is gone. */
function mistakeIn(batch: readonly unknown[]): string | undefined {
  const most = recallLimits.batchMessages;
  if (batch.length > most)
    return `Expected a batch of at most ${most} messages but found ${batch.length}; send several`;
  const ids = batch.flatMap((message) => (message as { id?: unknown } | null)?.id ?? []);
  if (new Set(ids).size < ids.length)
    return 'Expected calls with different ids but found an id twice; number the calls';
  return undefined;
}

/** Empty for a single message. A body that is not JSON is refused by the handler. */
function batchIn(body: string): readonly unknown[] {
  if (!body.trimStart().startsWith('[')) return [];
  try {
    return JSON.parse(body);
  } catch {
    return [];
  }
}
