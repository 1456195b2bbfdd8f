/**
 * An extension for pi: `pi -e pi-extension.js`. It sends requests to the gateway at $PALIMPSEST_URL and adds the tools of the
 * gateway's MCP server, since pi takes no MCP servers. It is loaded by pi, so it imports nothing.
 */
export default async function palimpsest(pi: Pi): Promise<void> {
  const { PALIMPSEST_URL: base, PALIMPSEST_TOKEN: token } = process.env;
  if (!base || !token) throw new Error('palimpsest: expected $PALIMPSEST_URL and $PALIMPSEST_TOKEN to be set');
  for (const [provider, path] of Object.entries(PATHS)) pi.registerProvider(provider, { baseUrl: base + path });
  const ask = createAsk(new URL('/_palimpsest/mcp', base), token);
  const { tools } = await ask<{ tools: readonly McpTool[] }>('tools/list', {});
  for (const { name, title, description, inputSchema } of tools)
    pi.registerTool({
      ...{ name, label: title, description, parameters: inputSchema },
      execute: async (_id, args, signal) => {
        const { content, isError } = await ask<McpResult>('tools/call', { name, arguments: args }, signal);
        if (isError) throw new Error(content[0]?.text ?? 'The tool failed');
        return { content, details: {} };
      },
    });
}

/** The path after the gateway's address. */
const PATHS = { anthropic: '', openai: '/v1', google: '/v1beta' };

/** The part of pi's interface for extensions that is used here. */
interface Pi {
  registerProvider(name: string, options: { readonly baseUrl: string }): void;
  registerTool(tool: {
    readonly name: string;
    readonly label: string;
    readonly description: string;
    readonly parameters: object;
    execute(id: string, args: object, signal?: AbortSignal): Promise<object>;
  }): void;
}

interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: object;
}

interface McpResult {
  readonly content: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

type Ask = <T>(method: string, params: object, signal?: AbortSignal) => Promise<T>;

/** One question to an MCP server. The answer is a stream of one event. */
function createAsk(url: URL, token: string): Ask {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return async (method, params, signal) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(url, { method: 'POST', headers, body, ...(signal ? { signal } : {}) });
    const text = await response.text();
    if (!response.ok) throw new Error(`palimpsest: the gateway answered ${response.status}: ${text}`);
    const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    if (error) throw new Error(`palimpsest: ${error.message}`);
    return result;
  };
}
