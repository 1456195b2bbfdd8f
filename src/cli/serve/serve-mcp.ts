import type { IncomingMessage, ServerResponse } from 'node:http';
import { recallLimits } from '../../limits.ts';
import type { McpOptions } from '../../mcp/create-mcp-server.ts';
import type { Store } from '../../store/store.ts';

/** The MCP server of a gateway, and the tenants that have used it. */
export interface McpMount {
  readonly answer: (request: IncomingMessage, response: ServerResponse, tenant: string) => Promise<void>;
  hasClient(tenant: string): boolean;
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** MCP over HTTP on the gateway's port, with the gateway's rules: each tenant recalls from its own store. */
export function createMcpMount(
  open: (tenant: string) => Promise<Store>,
  { wholeStore }: Pick<McpOptions, 'wholeStore'> = {},
): McpMount {
  const handles = new Map<string, Promise<Handle>>();
  return {
    hasClient: (tenant) => handles.has(tenant),
    answer: (request, response, tenant) => {
      const handle = handles.get(tenant) ?? createHandle({ store: () => open(tenant), wholeStore });
      handles.set(tenant, handle);
      return handle.then((answer) => answer(request, response));
    },
  };
}

/** Loaded at the first use, because the SDK would slow down the start. */
async function createHandle(options: McpOptions): Promise<Handle> {
  const [{ toNodeHandler }, { createMcpHandler }, { serverFor }, { limitBatches }] = await Promise.all([
    import('@modelcontextprotocol/node'),
    import('@modelcontextprotocol/server'),
    import('../../mcp/serve-http.ts'),
    import('../../mcp/limit-batches.ts'),
  ]);
  // The authorization header carries the gateway's own token.
  const handler = limitBatches(createMcpHandler(serverFor(options, { hasAuthorization: false })));
  return toNodeHandler(handler, { maxRequestBodySize: recallLimits.bodyBytes }) as Handle;
}
