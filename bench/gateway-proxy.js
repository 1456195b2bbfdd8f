// One proxy, or the upstream behind them, in a process of its own: node bench/gateway-proxy.js bare 8080
import { Agent, createServer, request as send } from 'node:http';

const [, , kind, port] = process.argv;
const kinds = { upstream: startUpstream, bare: startBare, rewrite: startRewrite, palimpsest: startPalimpsest };
const server = await kinds[kind]();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send({ rss: process.memoryUsage.rss() / 1e6, cpuMs: (user + system) / 1000 });
});
process.send({ port: server.address().port });

function listen(listener) {
  return new Promise((resolve) => {
    const listening = createServer(listener).listen(0, '127.0.0.1', () => resolve(listening));
  });
}

/** Answers what a provider answers, as soon as it has the whole request. */
function startUpstream() {
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 100,
    output_tokens: 20,
  };
  const answer = Buffer.from(JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'ok' }], usage }));
  return listen((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
      response.end(answer);
    });
  });
}

const agent = new Agent({ keepAlive: true });

/** The floor: node:http on both sides, and nothing else. */
function startBare() {
  return listen((request, response) => {
    const { method, url: path, headers } = request;
    const outgoing = send({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(outgoing);
  });
}

/** What most proxies do: parse, mask all but the last ten results, count, write anew. */
function startRewrite() {
  return listen((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.from(JSON.stringify(masked(JSON.parse(Buffer.concat(chunks).toString()))));
      const { method, url: path } = request;
      const headers = { ...request.headers, 'content-length': body.length };
      const outgoing = send({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      outgoing.end(body);
    });
  });
}

function masked(body) {
  const results = body.messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === 'tool_result') : [],
  );
  let tokens = 0;
  for (const result of results) tokens += result.content.length / 4;
  for (const result of results.slice(0, -10)) result.content = `[masked: ${result.content.length} of ${tokens}]`;
  return body;
}

async function startPalimpsest() {
  const { createGateway } = await import('../dist/gateway/index.js');
  const url = `http://127.0.0.1:${port}`;
  return listen(createGateway({ upstreams: { anthropic: url, openai: url, gemini: url } }));
}
