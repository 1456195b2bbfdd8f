import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formats } from '../../src/formats/detect-format.ts';
import type { Model, ModelRequest } from '../../src/manager/agent/model.ts';
import { resumeAgent, runAgent } from '../../src/manager/agent/run-agent.ts';
import type { Tool } from '../../src/manager/agent/tools.ts';
import { messageWriter } from '../../src/manager/message-writer.ts';
import { createMemorySession } from '../../src/manager/session/memory-session.ts';
import { openSession } from '../../src/manager/session/open-session.ts';
import type { Session } from '../../src/manager/session/session.ts';
import type { ToolCall } from '../../src/manager/tool-call.ts';
import type { ChatMessage, FormatName } from '../../src/message.ts';
import { replyIn } from '../support/manager/reply-in.ts';
import { call, say, scripted, usage } from '../support/manager/scripted-model.ts';
import { eventsOf, temporaryFolders } from '../support/manager/sessions.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

const directory = temporaryFolders()();
const schema = `palimpsest_loop_${process.pid}_${Date.now().toString(36)}`;
let server: PostgresServer;
let pool: Pool;

beforeAll(async () => {
  await ensureBuilt();
  server = await startPostgres();
  pool = new Pool({ connectionString: server.url, max: 4 });
}, 240_000);

afterAll(async () => {
  await pool?.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await pool?.end();
  await server?.stop();
}, 60_000);

const PLACES = {
  'on disk': () => ({ directory }),
  'in PostgreSQL': () => ({ database: { pool, schema } }),
};

let opened = 0;
const newId = (): string => `s${++opened}`;

const long: Tool = { name: 'long', run: () => 'a line of output\n'.repeat(5000) };
const remove: Tool = { name: 'remove', needsApproval: true, run: () => 'removed' };

describe.each(Object.entries(PLACES))('a run in a session %s', (_name, place) => {
  const open = (id: string): Promise<Session<ChatMessage>> => openSession({ ...place(), id });

  it('has its results in full in the log before anything is cut', async () => {
    const session = await open(newId());
    const model = scripted(call(['long']), say('Read.'));
    await runAgent({ model, context: session, tools: [long], task: 'Read.' });
    const [result] = (await eventsOf(session)).flatMap((event) =>
      event.type === 'message' && event.message.role === 'tool' ? [event.message] : [],
    );
    expect(result?.content).toHaveLength(17 * 5000);
    expect(JSON.stringify(model.requests[1]).length).toBeLessThan(17 * 5000);
    await session.close();
  });

  it('logs what the provider counted, not a sum', async () => {
    const session = await open(newId());
    const first = { ...call(['long']), usage: usage(900, 20) };
    await runAgent({
      model: scripted(first, say('Read.', { usage: usage(9000, 30) })),
      context: session,
      tools: [long],
      task: 'x',
    });
    const counted = (await eventsOf(session)).filter((event) => event.type === 'token_usage');
    expect(counted).toMatchObject([
      { prompt_tokens: 900, completion_tokens: 20 },
      { prompt_tokens: 9000, completion_tokens: 30 },
    ]);
    await session.close();
  });

  it('logs why it failed, and goes on from there when it is called again', async () => {
    const session = await open(newId());
    const model = scripted(call(['long']), new Error('connection reset'), say('Read.'));
    const options = { model, context: session, tools: [long] };
    await expect(runAgent({ ...options, task: 'Read.' })).rejects.toThrow('connection reset');
    expect(await eventsOf(session)).toContainEqual(
      expect.objectContaining({ type: 'error', message: 'connection reset' }),
    );
    expect(await runAgent(options)).toMatchObject({ status: 'complete', text: 'Read.' });
    await session.close();
  });

  it('waits for an approval across processes', async () => {
    const id = newId();
    const session = await open(id);
    const model = scripted(call(['remove']), say('It is gone.'));
    const { pending } = await runAgent({ model, context: session, tools: [remove], task: 'Remove it.' });
    expect(session.status).toBe('paused');
    await session.close();

    const again = await open(id);
    expect(again.pendingApprovals().map(({ tool }) => tool)).toEqual(['remove']);
    const decisions = { [pending[0]?.id ?? '']: true };
    const result = await resumeAgent({ model, context: again, tools: [remove], decisions });
    expect(result).toMatchObject({ status: 'complete', text: 'It is gone.' });
    expect(again.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(again.pendingApprovals()).toEqual([]);
    expect(again.status).toBe('active');
    expect(await eventsOf(again)).toContainEqual(
      expect.objectContaining({ type: 'approval_decision', decision: 'approved' }),
    );
    await again.close();
  });

  it('that was paused is taken up again', async () => {
    const controller = new AbortController();
    const leave: Tool = { name: 'leave', run: () => controller.abort() };
    const session = await open(newId());
    const model = scripted(call(['leave']), say('Done.'));
    const options = { model, context: session, tools: [leave] };
    expect((await runAgent({ ...options, task: 'Go.', disconnected: controller.signal })).status).toBe('paused');
    expect(session.status).toBe('paused');
    expect(await runAgent(options)).toMatchObject({ status: 'complete' });
    expect(session.status).toBe('active');
    await session.close();
  });

  it('that died in a tool finds its calls answered', async () => {
    const id = newId();
    const session = await open(id);
    await session.add({ role: 'user', content: 'Go.' }, ...call(['long']).messages);
    await session.close();
    const again = await open(id);
    const model = scripted(say('I see that it was interrupted.'));
    const result = await runAgent({ model, context: again, tools: [long] });
    expect(result.status).toBe('complete');
    expect(again.format.check(model.requests[0]?.messages ?? [])).toEqual([]);
    expect(model.requests[0]?.messages.at(-1)?.content).toMatch(/interrupted/);
    await again.close();
  });
});

describe('an agent that is killed in a tool on one machine', () => {
  it('goes on on another once its lease is over, with all that it had done', { timeout: 60_000 }, async () => {
    const program = join(ROOT, 'test/support/manager/stuck-agent.js');
    const args = [program, pathToFileURL(join(ROOT, 'dist')).href, server.url, schema, '1500'];
    const agent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    expect(String((await once(agent.stdout, 'data'))[0])).toBe('stuck\n');
    const elsewhere = `jsonb_set(holder::jsonb, '{host}', '"elsewhere"')::text`;
    await pool.query(`UPDATE "${schema}".sessions SET holder = ${elsewhere} WHERE id = 'agent'`);
    const gone = once(agent, 'exit');
    agent.kill('SIGKILL');
    await gone;

    let session: Session<ChatMessage> | undefined;
    while (!session) {
      session = await openSession({ database: { pool, schema }, id: 'agent' }).catch((error) => {
        expect(error).toMatchObject({ code: 'STORE_LOCKED', message: expect.stringContaining('on elsewhere') });
        return undefined;
      });
      await setTimeout(50);
    }
    const model = scripted(say('I have looked twice.'));
    expect(await runAgent({ model, context: session, tools: [long] })).toMatchObject({ status: 'complete' });
    const sent = model.requests[0]?.messages ?? [];
    expect(session.format.check(sent)).toEqual([]);
    expect(sent.flatMap(({ role, content }) => (role === 'tool' ? content : []))).toEqual([
      'seen',
      'seen',
      expect.stringContaining('interrupted'),
    ]);
    await session.close();
  });
});

describe.each(Object.keys(formats) as FormatName[])('a session in the format %s', (format) => {
  const writer = messageWriter<unknown>(format);
  const calls = [toCall('look', 'a'), toCall('look', 'b')];
  const model: Model<unknown> = Object.assign(
    async ({ messages }: ModelRequest<unknown>) => {
      const hasAsked = writer.format.view(messages).some(({ kind }) => kind === 'action');
      const said = { text: 'I look.', calls: hasAsked ? [] : calls };
      return { ...said, messages: replyIn(format, said) };
    },
    { format },
  );

  it('takes a message while tools run, and tells it behind their results', async () => {
    const context = createMemorySession<unknown>({ format });
    const look: Tool = {
      name: 'look',
      run: (_args, { callId }) => (callId === 'call_a' ? context.add(writer.user('hurry')) : 'seen'),
    };
    const { messages } = await runAgent({ model, context, tools: [look], task: 'Look.' });
    expect(kindsOf(messages)).toEqual(['user', 'reasoning', 'action', 'observation', 'user', 'reasoning']);
    expect(writer.format.check(messages)).toEqual([]);
  });

  it('takes a message while a person decides, and goes on without the calls', async () => {
    const context = createMemorySession<unknown>({ format });
    const look: Tool = { name: 'look', needsApproval: true, run: () => 'seen' };
    await runAgent({ model, context, tools: [look], task: 'Look.' });
    await context.add(writer.user('never mind'));
    const { status, messages } = await runAgent({ model, context, tools: [look] });
    expect(status).toBe('complete');
    expect(kindsOf(messages)).toEqual(['user', 'reasoning', 'action', 'observation', 'user', 'reasoning']);
    expect(writer.format.check(messages)).toEqual([]);
  });

  /** Of parallel calls and their results, one. */
  const kindsOf = (messages: readonly unknown[]): string[] => {
    const kinds = writer.format.view(messages).map(({ kind }) => kind);
    return kinds.filter((kind, i) => kind !== kinds[i - 1]);
  };
});

describe.each(Object.keys(formats) as FormatName[])('a run in the format %s', (format) => {
  it('sends what its provider takes, with parallel calls, failures, steering, notices and a restart', async () => {
    const requests: ModelRequest<unknown>[] = [];
    const writer = messageWriter<unknown>(format);
    const ask = async (request: ModelRequest<unknown>) => {
      requests.push(request);
      const number = requests.length;
      const calls: ToolCall[] = number > 8 ? [] : [toCall('long', `${number}a`), toCall('fail', `${number}b`)];
      const text = number > 8 ? 'Done.' : 'I go on.';
      return {
        messages: replyIn(format, { text, calls }),
        calls,
        text,
        usage: usage(number > 3 && number < 7 ? 9500 : 2000),
      };
    };
    const model: Model<unknown> = Object.assign(ask, { format });
    const fail: Tool = { name: 'fail', run: () => Promise.reject(new Error('no')) };
    const steering = { drain: () => (requests.length === 3 ? ['Hurry.'] : []) };
    const context = createMemorySession<unknown>({ format, contextLimit: 10_000, maxToolResultTokens: 400 });
    const result = await runAgent({ model, context, tools: [long, fail], task: 'Go.', steering, maxHistoryTokens: 0 });
    expect(result).toMatchObject({ status: 'complete', restarts: 1 });
    expect(requests.flatMap(({ messages }) => writer.format.check(messages))).toEqual([]);
    expect(requests).toHaveLength(9);
  });
});

const toCall = (name: string, id: string): ToolCall => ({ id: `call_${id}`, name, arguments: {} });
