import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { recallLimits } from '../limits.ts';

/** The same handler, but a batch of too many messages is refused before any of them is answered. */
export function limitBatches(handler: Pick<McpHttpHandler, 'fetch'>): Pick<McpHttpHandler, 'fetch'> {
  return {
    fetch: async (request, options) => {
      const found = request.method === 'POST' ? messagesIn(await request.clone().text()) : 1;
      if (found <= recallLimits.batchMessages) return handler.fetch(request, options);
      const message = `Expected a batch of at most ${recallLimits.batchMessages} messages but found ${found}; send several`;
      return Response.json({ jsonrpc: '2.0', error: { code: -32_600, message }, id: null }, { status: 400 });
    },
  };
}

/** A body that is not JSON counts as one message: the handler refuses it. */
function messagesIn(body: string): number {
  if (!body.trimStart().startsWith('[')) return 1;
  try {
    return JSON.parse(body).length;
  } catch {
    return 1;
  }
}
