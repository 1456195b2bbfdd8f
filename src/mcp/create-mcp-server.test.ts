import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../store/memory-store.ts';
import { createMcpServer, type McpOptions } from './create-mcp-server.ts';

async function connected(options: McpOptions): Promise<Client> {
  const [here, there] = InMemoryTransport.createLinkedPair();
  await createMcpServer(options).connect(there);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(here);
  return client;
}

const HANDLE = `p_${'a'.repeat(26)}`;

describe('createMcpServer', () => {
  it.each([
    [{ maxChars: 1999 }, 'maxChars'],
    [{ maxChars: Number.NaN }, 'maxChars'],
    [{ maxChars: 2500.5 }, 'maxChars'],
    [{ session: '' }, 'session'],
    [{ session: '../x' }, 'session'],
    [{ session: 'x', wholeStore: true }, 'wholeStore'],
    [{ credential: '' }, 'credential'],
  ])('refuses %j', (options, said) => {
    expect(() => createMcpServer({ store: createMemoryStore(), ...options })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(said) }),
    );
  });

  it('tells the model what its limit is', async () => {
    const client = await connected({ store: createMemoryStore(), maxChars: 4000 });
    expect((await client.listTools()).tools[0]?.description).toContain('at most 4000 characters');
  });

  it('makes a tool error of a store that fails, and goes on', async () => {
    const store = createMemoryStore();
    const failing = {
      ...store,
      get: () => Promise.reject(new Error('EIO: the disk is gone')),
    };
    const client = await connected({ store: failing });
    for (let i = 0; i < 2; i++)
      expect(await client.callTool({ name: 'recall', arguments: { handle: HANDLE } })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'The store failed: EIO: the disk is gone' }],
      });
  });

  it('asks for its store on every call where it is given a function', async () => {
    const store = createMemoryStore();
    const handle = await store.put('hidden', { session: 'a' });
    let calls = 0;
    const client = await connected({
      store: async () => {
        calls += 1;
        if (calls === 1) throw new Error('not yet');
        return store;
      },
    });
    const call = () => client.callTool({ name: 'recall', arguments: { handle } });
    expect((await call()).isError).toBe(true);
    expect((await call()).isError ?? false).toBe(false);
  });
});
