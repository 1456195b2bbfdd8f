// An agent with tools against an OpenAI-compatible server on this machine; a scripted one is started here in its place.
// For a real one, such as Ollama: fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3' }).
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openaiChat } from 'palimpsest';
import { defineTool, openSession, runAgent } from 'palimpsest/manager';
import { fromUrl } from 'palimpsest/models';

const folder = await mkdtemp(join(tmpdir(), 'local-agent-'));
await writeFile(join(folder, 'pool.ts'), 'export const take = () => pool.pop();\n'.repeat(400));
await writeFile(join(folder, 'query.ts'), 'const connection = take(); // never given back\n');

const tools = [
  defineTool({ name: 'list_files', description: 'Lists the files there are.', run: () => readdir(folder) }),
  defineTool<{ name: string }>({
    name: 'read_file',
    description: 'Reads a file.',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    run: ({ name }, { signal }) => readFile(join(folder, name), { encoding: 'utf8', signal }),
  }),
  defineTool<{ name: string }>({
    name: 'delete_file',
    description: 'Deletes a file.',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    needsApproval: true,
    run: ({ name }) => rm(join(folder, name)),
  }),
];

const server = await startServer();
const session = await openSession({ directory: join(folder, 'sessions'), id: 'leak', format: openaiChat });
const { status, text, iterations } = await runAgent({
  model: fromUrl({ baseURL: server.url, model: 'scripted' }),
  context: session,
  tools,
  system: 'You find leaks.',
  task: 'Which file leaks connections?',
  approve: ({ name }) => ({ approved: false, reason: `${name} is not for you` }),
  onEvent: (event) => {
    if (event.type === 'result') console.log(`${event.result.call.name}: ${event.result.text.slice(0, 60).trim()}`);
  },
});
console.log(`\n${status} after ${iterations} requests: ${text}`);

assert.equal(status, 'complete');
assert.equal(text, 'query.ts takes a connection and never gives it back.');
assert.deepEqual((await readdir(folder)).sort(), ['pool.ts', 'query.ts', 'sessions'], 'nothing was deleted');
assert.equal(session.format.check(session.messages()).length, 0);
await session.close();
await server.close();
await rm(folder, { recursive: true });

/** Speaks Chat Completions, and always says the same. */
async function startServer(): Promise<{ url: string; close(): Promise<void> }> {
  const call = (id: string, name: string, args: object) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  });
  const replies: object[] = [
    { content: 'I will look.', tool_calls: [call('c1', 'list_files', {})] },
    {
      content: null,
      tool_calls: [call('c2', 'read_file', { name: 'pool.ts' }), call('c3', 'read_file', { name: 'query.ts' })],
    },
    { content: 'I will delete it.', tool_calls: [call('c4', 'delete_file', { name: 'query.ts' })] },
    { content: 'query.ts takes a connection and never gives it back.' },
  ];
  const http = createServer((request, response) => {
    request.resume().on('end', () => {
      const message = { role: 'assistant', ...replies.shift() };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
