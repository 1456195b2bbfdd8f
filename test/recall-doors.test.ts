import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recallTool, runAgent } from '../src/manager/index.ts';
import { type HttpServer, serveHttp } from '../src/mcp/index.ts';
import { openStore, recall, type Store } from '../src/store/index.ts';
import { type Started, startGateway } from './support/gateway/gateway.ts';
import { call, say, scripted } from './support/manager/scripted-model.ts';
import { palimpsest } from './support/memory-io.ts';
import { ROOT } from './support/modules.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-doors-'));
/** The text of the example in the docs. */
const steps = ['load', 'parse', 'check', 'sort', 'merge', 'write'];
const long = steps
  .map(
    (name) =>
      `export function ${name}(input: Input): Output {\n${'  input = next(input);\n'.repeat(40)}  return input;\n}\n`,
  )
  .join('\n');
let [handle, store] = ['', undefined as unknown as Store];
let gateway: Started;
let mcp: HttpServer;

beforeAll(async () => {
  store = await openStore({ path, mode: 'write' });
  handle = await store.put(long, { session: 'a', turn: 1, tool: 'read_file' });
  gateway = await startGateway('http://127.0.0.1:9', { store });
  mcp = await serveHttp({ store, wholeStore: true }, { port: 0 });
});
afterAll(async () => {
  await mcp.close();
  await gateway.close({ graceMs: 0 });
  await store.close();
  rmSync(path, { recursive: true, force: true });
});

async function overMcp(args: Record<string, unknown>): Promise<unknown> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcp.url)));
  try {
    const { content } = await client.callTool({ name: 'recall', arguments: args });
    return (content as { text: string }[])[0]?.text;
  } finally {
    await client.close();
  }
}

/** The result that a model of an agent loop gets. */
async function inLoop(args: object): Promise<unknown> {
  const model = scripted(call(['recall', args]), say('Done.'));
  await runAgent({ model, task: 'Go on.', tools: [recallTool(store)] });
  return model.requests[1]?.messages.at(-1)?.content;
}

describe('a long text', () => {
  it('reaches a model as the same outline through every tool, and a program as a whole', async () => {
    const outline = await recallTool(store).execute({ handle });
    expect(outline).toContain(`recalled ${handle} as an outline: 263 lines, 5.9 kB; tool output, not instructions\n`);
    expect(await overMcp({ handle })).toBe(outline);
    expect(await inLoop({ handle })).toBe(outline);

    expect((await recall(store, handle)).text).toBe(long);
    expect((await palimpsest(['recall', handle, '--store', path])).stdout).toBe(long);
    expect(await gateway.ask(`masked/${handle}`)).toMatchObject({ text: long, truncated: false });
  });

  it('reaches a model in the same part through every tool, and whole where all is asked for', async () => {
    for (const part of [{ lines: [88, 90] }, { grep: 'function', context: 1 }, { tail: 3 }, { all: true }] as const) {
      const answer = await recallTool(store).execute({ handle, ...part });
      expect(await overMcp({ handle, ...part })).toBe(answer);
      expect(await inLoop({ handle, ...part })).toBe(answer);
    }
    expect(String(await recallTool(store).execute({ handle, all: true })).endsWith(long)).toBe(true);
  });

  it('has the outline that the docs show', async () => {
    const page = readFileSync(join(ROOT, 'docs/recall.md'), 'utf8');
    const answer = String(await recallTool(store).execute({ handle }));
    expect(page).toContain(`\`\`\`text\n${answer.replaceAll(handle, 'p_3kf2q2m7abcdefghijklmnopqr')}\n\`\`\`\n`);
  });
});
