import type { Readable, Writable } from 'node:stream';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { checkMcpOptions, createMcpServer, type McpOptions } from './create-mcp-server.ts';
import { StdioTransport } from './stdio-transport.ts';

/** The two ends that a client holds: standard input and output, as a rule. */
export interface Streams {
  /** Requests of the client. */
  readonly input: Readable;
  /** Answers to the client. */
  readonly output: Writable;
}

/** An MCP server on a pair of streams. */
export interface StdioServer {
  /** Resolves when the client has closed its end and all its requests are answered. */
  readonly closed: Promise<void>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/**
 * Serves one client that started this process.
 *
 * @example
 * ```ts
 * import { serveStdio } from 'palimpsest/mcp';
 *
 * const { closed } = serveStdio({ store, wholeStore: true }, { input: process.stdin, output: process.stdout });
 * await closed;
 * ```
 */
export function serveStdio(options: McpOptions, { input, output }: Streams): StdioServer {
  checkMcpOptions(options);
  const transport = new StdioTransport(input, output);
  const server = serve(() => createMcpServer(options), { transport });
  return {
    closed: transport.closed,
    close: async () => {
      await server.close();
      // An open input would keep the process alive.
      input.destroy();
    },
  };
}
