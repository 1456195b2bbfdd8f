import type { IncomingMessage, ServerResponse } from 'node:http';
import { recallLimits } from '../limits.ts';
import type { Store } from '../store/store.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** MCP over HTTP beside the gateway's API, under its rules: each tenant recalls from its own store. */
export function createMcpMount(open: (tenant: string) => Promise<Store>) {
  const handles = new Map<string, Promise<Handle>>();
  return (request: IncomingMessage, response: ServerResponse, tenant: string): Promise<void> => {
    const handle = handles.get(tenant) ?? createHandle(() => open(tenant));
    handles.set(tenant, handle);
    return handle.then((answer) => answer(request, response));
  };
}

/** Only when it is asked for: the SDK would slow down the start. */
async function createHandle(store: () => Promise<Store>): Promise<Handle> {
  const [{ toNodeHandler }, { createMcpHandler }, { createMcpServer }, { limitBatches }] = await Promise.all([
    import('@modelcontextprotocol/node'),
    import('@modelcontextprotocol/server'),
    import('../mcp/create-mcp-server.ts'),
    import('../mcp/limit-batches.ts'),
  ]);
  const handler = limitBatches(createMcpHandler(() => createMcpServer({ store })));
  return toNodeHandler(handler, { maxRequestBodySize: recallLimits.bodyBytes }) as Handle;
}
