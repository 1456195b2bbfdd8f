export { createMcpServer, type McpOptions } from './create-mcp-server.ts';
export { type HttpOptions, type HttpServer, serveHttp } from './serve-http.ts';
export { type StdioServer, type Streams, serveStdio } from './serve-stdio.ts';
