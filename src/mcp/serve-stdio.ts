import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { checkMcpOptions, createMcpServer, type McpOptions } from './create-mcp-server.ts';

/** The two ends that a client holds: standard input and output, as a rule. */
export interface Streams {
  /** Requests of the client. */
  readonly input: Readable;
  /** Answers to the client. */
  readonly output: Writable;
}

/** An MCP server on a pair of streams. */
export interface StdioServer {
  /** Resolves when the client closes its end. */
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
  const closed = finished(input, { writable: false }).catch(() => {});
  const server = serve(() => createMcpServer(options), { transport: new StdioServerTransport(input, output) });
  return {
    closed,
    close: async () => {
      await server.close();
      // An open input would keep the process alive.
      input.destroy();
    },
  };
}
