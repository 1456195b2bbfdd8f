import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fromUrl } from '../../src/adapters/models/index.ts';
import { type OpenAIChatMessage, openaiChat } from '../../src/formats/openai-chat.ts';
import { type AgentResult, runAgent } from '../../src/manager/agent/run-agent.ts';
import { defineTool } from '../../src/manager/agent/tools.ts';
import { sizeOfMessages } from '../../src/manager/budget/sizes.ts';
import { openSession } from '../../src/manager/session/open-session.ts';
import { sizeOfValue } from '../../src/plan/fit.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { countTokens } from '../../src/tokens/count-tokens.ts';
import {
  type Received,
  type ScriptedProvider,
  type ScriptedReply,
  startProvider,
} from '../support/manager/scripted-provider.ts';

const ITERATIONS = 200;
const CONTEXT_LIMIT = 16_000;
const MAX_OUTPUT_TOKENS = 1000;
const BUDGET = CONTEXT_LIMIT - MAX_OUTPUT_TOKENS - CONTEXT_LIMIT / 10;
const TASK = 'Work through the folder, step by step, until nothing is left to do.';
const SYSTEM = 'You work in a folder. Save what you must not forget to notes.txt.';

const run = promisify(execFile);
const root = mkdtempSync(join(tmpdir(), 'palimpsest-loop-'));
const workspace = mkdtempSync(join(root, 'work-'));

/** What each tool answered, or why it failed, whole, by the id of its call. */
const answered = new Map<string, string>();

const keep = async (callId: string, work: () => Promise<string> | string): Promise<string> => {
  try {
    const text = await work();
    answered.set(callId, text);
    return text;
  } catch (error) {
    answered.set(callId, `Error: ${(error as Error).message}`);
    throw error;
  }
};

const tools = [
  defineTool({
    name: 'write_file',
    description: 'Writes a file.',
    parameters: z.object({ path: z.string(), text: z.string() }),
    run: ({ path, text }, { callId }) =>
      keep(callId, () => {
        writeFileSync(join(workspace, path), text);
        return `wrote ${text.length} characters to ${path}`;
      }),
  }),
  defineTool({
    name: 'read_file',
    description: 'Reads a file.',
    parameters: z.object({ path: z.string() }),
    run: ({ path }, { callId }) => keep(callId, () => readFileSync(join(workspace, path), 'utf8')),
  }),
  defineTool({
    name: 'shell',
    description: 'Runs a command in the folder.',
    parameters: z.object({ command: z.string() }),
    run: ({ command }, { callId, signal }) =>
      keep(callId, async () => {
        const { stdout } = await run('sh', ['-c', command], { cwd: workspace, signal, maxBuffer: 1 << 24 });
        return stdout;
      }),
  }),
];

/** What the model does next: it counts its own steps, for its context will not hold them all. */
function step(number: number): ScriptedReply['calls'] {
  const call = (name: string, args: object, part = '') => ({ id: `call_${number}${part}`, name, arguments: args });
  const file = `part-${number - (number % 5)}.txt`;
  if (number % 5 === 0) {
    const text = `part ${number}\n${`line of part ${number}: the quick brown fox jumps over it\n`.repeat(25)}`;
    return [call('write_file', { path: file, text })];
  }
  if (number % 5 === 1 && number > 5)
    return [call('read_file', { path: file }, 'a'), call('shell', { command: 'ls -l' }, 'b')];
  if (number % 25 === 2) return [call('shell', { command: `seq ${number} 30000` })];
  if (number % 5 === 3) return [call('shell', { command: 'cat no-such-file.txt' })];
  return [call('shell', { command: `seq 1 ${400 + number}` })];
}

const reasoning = (number: number): string =>
  `Step ${number}. I have looked at what came before and I think that this is what to do next. `.repeat(12);

interface Sent {
  readonly messages: readonly OpenAIChatMessage[];
  readonly tokens: number;
}

const sent: Sent[] = [];

function readSent({ body }: Received): Sent {
  const all = body.messages as OpenAIChatMessage[];
  const [system, ...messages] = all;
  const beside = sizeOfValue('system', system?.content, countTokens) + sizeOfValue('tools', body.tools, countTokens);
  return { messages, tokens: beside + sizeOfMessages(messages, openaiChat, countTokens) };
}

describe(`a loop of ${ITERATIONS} iterations with real tools and a model behind HTTP`, () => {
  let provider: ScriptedProvider;
  const results: AgentResult<OpenAIChatMessage>[] = [];
  const store = createMemoryStore();
  const logged: OpenAIChatMessage[] = [];
  const events: string[] = [];
  let numbers: number[] = [];

  beforeAll(async () => {
    provider = await startProvider((received) => {
      const request = readSent(received);
      sent.push(request);
      const number = sent.length;
      const usage = { prompt: Math.round(request.tokens * 1.04), completion: 120 };
      if (number > ITERATIONS) return { text: 'Nothing is left to do.', usage };
      return { text: reasoning(number), calls: step(number) ?? [], usage };
    });
    const model = fromUrl({ baseURL: `${provider.url}/v1`, model: 'scripted' });
    const common = { model, tools, system: SYSTEM, maxOutputTokens: MAX_OUTPUT_TOKENS };
    const open = () =>
      openSession<OpenAIChatMessage>({
        directory: join(root, 'sessions'),
        id: 'long-run',
        format: 'openai-chat',
        store,
        contextLimit: CONTEXT_LIMIT,
        carryoverTurns: 3,
        compactAfterBytes: 200_000,
      });
    // The session is closed in the middle, as at the end of a process, and opened again from what is on disk.
    const first = await open();
    results.push(await runAgent({ ...common, context: first, task: TASK, maxToolIterations: ITERATIONS / 2 }));
    await first.close();
    const second = await open();
    results.push(await runAgent({ ...common, context: second, maxToolIterations: ITERATIONS }));
    for await (const event of second.events()) {
      events.push(event.type);
      if (event.type === 'message') logged.push(event.message);
      if (event.type === 'session_restart') numbers = [...numbers, event.session_number];
    }
    await second.close();
  }, 120_000);

  afterAll(async () => {
    await provider.close();
    rmSync(root, { recursive: true, force: true });
  });

  it('comes to its end', () => {
    expect(results.map(({ status }) => status)).toEqual(['max-iterations', 'complete']);
    expect(results.at(-1)?.text).toBe('Nothing is left to do.');
    expect(sent).toHaveLength(ITERATIONS + 1);
  });

  it('goes on across restarts', () => {
    expect(numbers.length).toBeGreaterThanOrEqual(2);
    expect(numbers).toEqual(numbers.map((_, i) => i + 2));
  });

  it('sends no request above the budget', () => {
    expect(Math.max(...sent.map(({ tokens }) => tokens))).toBeLessThanOrEqual(BUDGET);
  });

  it('sends no request that the provider would refuse', () => {
    expect(sent.flatMap(({ messages }) => openaiChat.check(messages))).toEqual([]);
  });

  it('sends the task with every request', () => {
    expect(sent.filter(({ messages }) => !messages.some(({ content }) => content === TASK))).toEqual([]);
  });

  it('has every result in full in the log, once, in order', () => {
    const results = logged.filter(({ role }) => role === 'tool') as (OpenAIChatMessage & { tool_call_id: string })[];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual([...answered.keys()].sort(byStep));
    expect(results.filter(({ tool_call_id, content }) => content !== answered.get(tool_call_id))).toEqual([]);
    expect(Math.max(...results.map(({ content }) => String(content).length))).toBeGreaterThan(100_000);
  });

  it('hides nothing that cannot be recalled', async () => {
    const handles = new Set(sent.flatMap(({ messages }) => JSON.stringify(messages).match(/p_[a-z2-7]{26}/g) ?? []));
    expect(handles.size).toBeGreaterThan(50);
    const found = await store.getMany([...handles]);
    expect(found.filter((text) => text === undefined)).toEqual([]);
    const originals = new Set(answered.values());
    const recalled = found.filter((stored) => originals.has(stored?.text ?? ''));
    expect(recalled.length).toBeGreaterThan(50);
  });

  it('masks between iterations, and tells what it did', () => {
    expect(events).toContain('context_mask');
    const notices = sent.flatMap(({ messages }) => messages.map(({ content }) => String(content)));
    expect(notices.some((text) => text.startsWith('[Context compressed: '))).toBe(true);
    expect(notices.some((text) => text.startsWith('[Context window '))).toBe(true);
    expect(notices.some((text) => text.startsWith('[Session restarted. '))).toBe(true);
  });

  it('keeps the cache: most requests begin with the whole of the one before', () => {
    const extended = sent.filter(({ messages }, i) => {
      const before = sent[i - 1]?.messages ?? [];
      return before.every((message, at) => JSON.stringify(message) === JSON.stringify(messages[at]));
    });
    expect(extended.length / sent.length).toBeGreaterThan(0.5);
  });
});

const byStep = (a: string, b: string): number =>
  Number.parseInt(a.slice(5), 10) - Number.parseInt(b.slice(5), 10) || (a < b ? -1 : 1);
