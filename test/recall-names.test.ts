import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fit, slidingWindow } from '../src/index.ts';
import { openSession } from '../src/manager/index.ts';
import type { ChatMessage } from '../src/message.ts';
import { createMemoryStore, fitAndStore, recallTool } from '../src/store/index.ts';
import { history } from './support/chat.ts';

const directory = mkdtempSync(join(tmpdir(), 'palimpsest-names-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const policy = slidingWindow({ turns: 2 });
const messages: ChatMessage[] = history(6);
const { description } = recallTool(createMemoryStore());

/** Tools as requests and frameworks declare them. */
const ours: readonly (readonly [string, unknown])[] = [
  ['in a list', [{ name: 'bash' }, { name: 'recall' }]],
  ['by the name that an MCP client gives it', [{ name: 'mcp__palimpsest__recall' }]],
  ['by such a name, as a function', [{ type: 'function', function: { name: 'palimpsest_recall' } }]],
  ['by such a name, of Gemini', [{ functionDeclarations: [{ name: 'mcp_palimpsest_recall' }] }]],
  ['in a namespace', [{ type: 'namespace', name: 'mcp__palimpsest', tools: [{ name: 'recall' }] }]],
  ['of a server with another name', [{ name: 'mcp__memory__recall', description }]],
  ['in an object', { bash: {}, recall: {} }],
  ['in an object, by the name that an MCP client gives it', { mcp__palimpsest__recall: { description: 'Reads' } }],
];
const others: readonly (readonly [string, unknown])[] = [
  ['of a shop', [{ name: 'product_recall', description: 'Lists products that were called back.' }]],
  ['of a shop, in an object', { product_recall: {} }],
  ['that do not recall', [{ name: 'bash' }]],
];

describe('a placeholder', () => {
  it.each(ours)('names recall where the tool is %s, in fit and a session', async (_how, tools) => {
    for (const sent of await everyDoor(tools)) expect(sent).toContain('masked · recall p_');
  });

  it.each(others)('does not name recall for tools %s', async (_how, tools) => {
    for (const sent of await everyDoor(tools)) {
      expect(sent).toContain('masked · p_');
      expect(sent).not.toContain('masked · recall');
    }
  });

  it('does not name recall for tools that are a text, which a session refuses', async () => {
    const { messages: sent } = fit(messages, { policy, recall: true, tools: 'recall' });
    expect(JSON.stringify(sent)).toContain('masked · p_');
    await expect(openSession({ directory, id: 'text', format: 'chat', tools: 'recall' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });
});

let sessions = 0;

/** The messages as `fit`, `fitAndStore` and a session send them. */
async function everyDoor(tools: unknown): Promise<string[]> {
  const store = createMemoryStore();
  const fitted = fit(messages, { policy, recall: true, tools });
  const stored = await fitAndStore(messages, { policy, store, session: 's', tools });
  const session = await openSession({ directory, id: `s${++sessions}`, format: 'chat', store, policy, tools });
  await session.add(...messages);
  const sent = await session.render();
  await session.close();
  return [fitted, stored, sent].map((one) => JSON.stringify(one.messages));
}
