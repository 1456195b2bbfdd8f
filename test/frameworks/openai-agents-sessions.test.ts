import { Agent, type AgentInputItem, MemorySession, type Session, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { palimpsest } from '../../src/adapters/openai-agents/index.ts';
import { openaiAgents } from '../../src/formats/openai-agents.ts';
import { isPlaceholder } from '../../src/laws/idempotent.ts';
import { never } from '../../src/plan/policies/never.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { SentRequest } from '../../src/testing/index.ts';
import { runner, scriptedModel } from './openai-agents-driver.ts';

const maxTurns = 200;
const fileText = (path: string): string => `a line of ${path}\n`.repeat(60);
let calls = 0;

/** An agent that reads so many files in each run. `requests` are those that its model got. */
function createReader(files: number, { needsApproval = false } = {}) {
  const requests: SentRequest[] = [];
  let left = files;
  const model = scriptedModel((request) => {
    requests.push(request);
    left = left === 0 ? files : left - 1;
    calls += 1;
    const read = { id: `call_${calls}`, tool: 'read', input: { path: `file-${calls}` } };
    return left === files ? { text: `Done with ${calls}.` } : { calls: [read] };
  });
  const read = tool({
    name: 'read',
    description: 'Reads a file.',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    },
    execute: async (input) => fileText((input as { path: string }).path),
    needsApproval,
  });
  return { agent: new Agent({ name: 'Reader', model, tools: [read] }), requests };
}

/** The history of a run without a session, and a second prompt of two messages. */
async function longInput(files: number): Promise<AgentInputItem[]> {
  const { history } = await runner.run(createReader(files).agent, 'Read.', { maxTurns });
  return [...history, { role: 'user', content: 'Read more.' }, { role: 'user', content: 'And then more.' }];
}

/** What items say, without the ids that the runner leaves out of sessions. */
const textsOf = (items: readonly unknown[]): string[] =>
  openaiAgents.view(items as never[]).map(({ kind, callId, text }) => `${kind} ${callId} ${text}`);

const masksIn = (items: readonly unknown[] = []): number =>
  openaiAgents.view(items as never[]).filter(({ text }) => isPlaceholder(text)).length;

const runs = {
  async run(agent: Agent, input: string | AgentInputItem[], options: object) {
    await runner.run(agent, input, { maxTurns, ...options });
  },
  async stream(agent: Agent, input: string | AgentInputItem[], options: object) {
    const result = await runner.run(agent, input, { maxTurns, ...options, stream: true });
    for await (const _event of result);
    await result.completed;
  },
};

describe.each(['run', 'stream'] as const)('a session, with %s', (how) => {
  it('keeps the originals of a list that is the input', async () => {
    const { agent, requests } = createReader(3);
    const session = new MemorySession();
    const context = palimpsest({ store: createMemoryStore(), policy: slidingWindow({ turns: 2 }) });
    const input = await longInput(8);
    await runs[how](agent, input, context.withSession(session));
    expect(masksIn(requests[0]?.messages)).toBeGreaterThan(5);
    const items = await session.getItems();
    expect(textsOf(items).slice(0, textsOf(input).length)).toEqual(textsOf(input));
    expect(masksIn(items)).toBe(0);
  });

  it('keeps a list that is the input whole and in order, where a budget drops turns of it', async () => {
    const { agent, requests } = createReader(20);
    const session = new MemorySession();
    const policy = slidingWindow({ turns: 2 });
    const context = palimpsest({ store: createMemoryStore(), policy, maxTokens: 1500 });
    await runs[how](agent, 'Read.', context.withSession(session));
    const before = await session.getItems();
    const input = await longInput(30);
    await runs[how](agent, input, context.withSession(session));
    const items = await session.getItems();
    expect(requests[21]?.messages.length).toBeLessThan(input.length);
    expect(textsOf(items).slice(0, textsOf(before).length)).toEqual(textsOf(before));
    expect(textsOf(items).slice(textsOf(before).length, textsOf([...before, ...input]).length)).toEqual(textsOf(input));
    expect(items.length).toBe(before.length + input.length + 2 * 20 + 1);
    expect(openaiAgents.check(items as never[])).toEqual([]);
  });

  it('has each prompt once, where a budget drops the turns behind it', async () => {
    const { agent, requests } = createReader(30);
    const session = new MemorySession();
    const context = palimpsest({ store: createMemoryStore(), policy: never(), maxTokens: 1500 });
    for (const prompt of ['One.', 'Two.', 'Three.']) await runs[how](agent, prompt, context.withSession(session));
    const items = await session.getItems();
    expect(openaiAgents.view(items as never[]).flatMap(({ kind, text }) => (kind === 'user' ? [text] : []))).toEqual([
      ...['One.', 'Two.', 'Three.'],
    ]);
    expect(requests.at(-1)?.messages.length).toBeLessThan(items.length / 2);
    expect(items.length).toBe(3 * (1 + 2 * 30 + 1));
    expect(masksIn(items)).toBe(0);
  });

  it('keeps what an aborted run had, and the next run is masked alike', async () => {
    const { agent, requests } = createReader(10);
    const session = new MemorySession();
    const context = palimpsest({ store: createMemoryStore(), policy: slidingWindow({ turns: 2 }) });
    await runs[how](agent, 'One.', context.withSession(session));
    const before = await session.getItems();
    const controller = new AbortController();
    const aborting = createReader(10);
    const stop = aborting.agent.clone({
      model: scriptedModel((request) => {
        if (aborting.requests.push(request) === 3) controller.abort();
        calls += 1;
        return { calls: [{ id: `call_${calls}`, tool: 'read', input: { path: 'x' } }] };
      }),
    });
    const aborted = { ...context.withSession(session), signal: controller.signal };
    await runs[how](stop, 'Two.', aborted).catch(() => undefined);
    const kept = await session.getItems();
    expect(textsOf(kept).slice(0, textsOf(before).length)).toEqual(textsOf(before));
    expect([masksIn(kept), openaiAgents.check(kept as never[])]).toEqual([0, []]);
    const last = textsOf(aborting.requests.at(-1)?.messages ?? []);
    requests.length = 0;
    await runs[how](agent, 'Three.', context.withSession(session));
    const shared = textsOf(before).length;
    expect(textsOf(requests[0]?.messages ?? []).slice(0, shared - 6)).toEqual(last.slice(0, shared - 6));
    expect(masksIn(requests[0]?.messages)).toBeGreaterThan(5);
  });
});

describe('a session', () => {
  it('without withSession gets a list as it was sent, and a string as it was given', async () => {
    const session = new MemorySession();
    const callModelInputFilter = palimpsest({ store: createMemoryStore(), policy: slidingWindow({ turns: 2 }) });
    const { agent, requests } = createReader(8);
    await runs.run(agent, 'One.', { session, callModelInputFilter });
    await runs.run(agent, 'Two.', { session, callModelInputFilter });
    expect([masksIn(requests.at(-1)?.messages), masksIn(await session.getItems())]).toEqual([14, 0]);
    await runs.run(agent, await longInput(8), { session, callModelInputFilter });
    expect(masksIn(await session.getItems())).toBeGreaterThan(5);
  });

  it('gives its id to the conversation', async () => {
    const sessions: (string | undefined)[] = [];
    const store = createMemoryStore();
    const onReport = (_report: unknown, { session }: { session?: string }) => void sessions.push(session);
    const context = palimpsest({ store, policy: slidingWindow({ turns: 1 }), onReport });
    const run = (sessionId: string) =>
      runs.run(createReader(3).agent, 'Go.', context.withSession(new MemorySession({ sessionId })));
    await Promise.all([run('chat-1'), run('chat-2')]);
    expect(sessions.toSorted()).toEqual([...Array(4).fill('chat-1'), ...Array(4).fill('chat-2')]);
    for (const id of ['chat-1', 'chat-2']) {
      const texts: string[] = [];
      for await (const { text } of store.list(id)) texts.push(text);
      expect(texts.length).toBeGreaterThan(1);
    }
  });

  it('that holds a run up for an approval keeps the originals too', async () => {
    const { agent, requests } = createReader(4, { needsApproval: true });
    const session = new MemorySession();
    const context = palimpsest({ store: createMemoryStore(), policy: slidingWindow({ turns: 2 }) });
    const input = await longInput(8);
    const options = { maxTurns, ...context.withSession(session) };
    let result = await runner.run(agent, input, options);
    for (let i = 0; i < 10 && result.interruptions.length > 0; i++) {
      for (const interruption of result.interruptions) result.state.approve(interruption);
      result = await runner.run(agent, result.state, options);
    }
    const items = await session.getItems();
    expect(requests).toHaveLength(5);
    expect(masksIn(requests.at(-1)?.messages)).toBeGreaterThan(8);
    expect(masksIn(items)).toBe(0);
    expect(items.length).toBe(input.length + 2 * 4 + 1);
    expect(openaiAgents.check(items as never[])).toEqual([]);
  });

  it('may be of any class, and strip what it sends', async () => {
    const { agent, requests } = createReader(20);
    const session = new StrippingSession();
    const context = palimpsest({ store: createMemoryStore(), policy: never(), maxTokens: 1500 });
    const input: AgentInputItem[] = [
      { role: 'user', content: 'Read more.' },
      { role: 'user', content: 'And then more.' },
    ];
    for (let run = 0; run < 3; run++) await runs.run(agent, input, context.withSession(session));
    const items = await session.getItems();
    expect(requests.at(-1)?.messages.length).toBeLessThan(items.length / 2);
    expect(items.length).toBe(3 * (2 + 2 * 20 + 1));
    expect(textsOf(items).filter((text) => text.startsWith('user'))).toEqual(
      [1, 2, 3].flatMap(() => ['user undefined Read more.', 'user undefined And then more.']),
    );
    expect(context.withSession(session).session).toBeInstanceOf(StrippingSession);
    expect(context.withSession(session).session).toBe(context.withSession(session).session);
  });

  it('that is none is refused', () => {
    expect(() => palimpsest().withSession({} as MemorySession)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('new MemorySession()') }),
    );
  });
});

/** A session with private fields, which sends messages without their ids, as remote ones do. */
class StrippingSession implements Session {
  readonly #items: AgentInputItem[] = [];

  async getSessionId() {
    return 'stripping';
  }

  async getItems() {
    return structuredClone(this.#items);
  }

  async addItems(items: AgentInputItem[]) {
    this.#items.push(...structuredClone(items));
  }

  async popItem() {
    return this.#items.pop();
  }

  async clearSession() {
    this.#items.length = 0;
  }

  prepareHistoryItemForModelInput(item: AgentInputItem): AgentInputItem {
    const { id: _, ...rest } = item;
    return rest as AgentInputItem;
  }
}
