import { BasePlugin, FunctionTool, InMemorySessionService, LlmAgent, Runner, StreamingMode } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { palimpsest } from '../../src/adapters/google/index.ts';
import { isPlaceholder } from '../../src/laws/idempotent.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createJob } from '../../src/testing/adapter-job.ts';
import type { ScriptedReply } from '../../src/testing/index.ts';
import { LocalGemini, toTool } from './google-adk-driver.ts';
import { type Received, withGemini } from './google-server.ts';

type AgentConfig = Partial<ConstructorParameters<typeof LlmAgent>[0]>;
interface Settings extends AgentConfig {
  readonly plugins?: BasePlugin[];
  readonly streamingMode?: StreamingMode;
}

const job = createJob('job');
const tools = job.tools.map(toTool);
const userId = 'user';

/** Runs an agent by a script, which ends with "Done.". */
async function runAgent(replies: readonly ScriptedReply[], settings: Settings) {
  const { plugins = [], streamingMode = StreamingMode.NONE, ...config } = settings;
  const requests: Received[] = [];
  const errors: string[] = [];
  const answer = (request: Received) => replies[requests.push(request) - 1] ?? { text: 'Done.' };
  await withGemini(answer, async (baseUrl) => {
    const agent = new LlmAgent({ name: 'agent', model: new LocalGemini(baseUrl), tools, ...config });
    const sessionService = new InMemorySessionService();
    const { id: sessionId } = await sessionService.createSession({ appName: 'job', userId });
    const runner = new Runner({ appName: 'job', agent, sessionService, plugins });
    const newMessage = { role: 'user', parts: [{ text: 'Go.' }] };
    for await (const { errorMessage } of runner.runAsync({
      userId,
      sessionId,
      newMessage,
      runConfig: { streamingMode },
    }))
      if (errorMessage) errors.push(errorMessage);
  });
  return { requests, errors };
}

const responsesIn = (request: Received | undefined) =>
  (request?.body.contents ?? []).flatMap(({ parts = [] }) =>
    parts.flatMap(({ functionResponse: answer }) => (answer ? [answer.response ?? {}] : [])),
  );

const maskedIn = (request: Received | undefined): number =>
  responsesIn(request).filter((response) => isPlaceholder(String(Object.values(response)[0]))).length;

const policy = slidingWindow({ turns: 2 });
const replies = Array.from({ length: 10 }, (_, turn) => job.reply(turn));

describe('an agent of ADK', () => {
  it('masks while it streams', async () => {
    const { requests } = await runAgent(replies, {
      streamingMode: StreamingMode.SSE,
      beforeModelCallback: palimpsest.callback({ policy }),
    });
    expect([requests.length, maskedIn(requests[10])]).toEqual([11, 8]);
    expect(requests[10]?.url).toContain(':streamGenerateContent');
  });

  it('can be given the callback by a plugin, which is for all agents of a runner', async () => {
    const fit = palimpsest.callback({ policy });
    class Palimpsest extends BasePlugin {
      override beforeModelCallback(step: Parameters<BasePlugin['beforeModelCallback']>[0]) {
        return fit({ context: step.callbackContext, request: step.llmRequest });
      }
    }
    const { requests } = await runAgent(replies, { plugins: [new Palimpsest('palimpsest')] });
    expect(maskedIn(requests[10])).toBe(8);
  });

  it('counts its instruction', async () => {
    const sizeWith = async (instruction: string): Promise<number> => {
      const reports: Report[] = [];
      const onReport = (report: Report) => void reports.push(report);
      await runAgent([], { instruction, beforeModelCallback: palimpsest.callback({ onReport }) });
      return reports[0]?.tokens.before ?? 0;
    };
    expect((await sizeWith('word '.repeat(1001))) - (await sizeWith('word'))).toBeGreaterThan(900);
  });

  it('knows its session, and a function can choose another', async () => {
    const sessions: (string | undefined)[] = [];
    const onReport = (_report: Report, { session }: { session?: string }) => void sessions.push(session);
    const session = ({ context }: { context?: { userId: string; agentName: string } }) =>
      `${context?.userId}-${context?.agentName}`;
    await runAgent([], { beforeModelCallback: palimpsest.callback({ onReport }) });
    await runAgent([], { beforeModelCallback: palimpsest.callback({ onReport, session }) });
    expect(sessions).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), 'user-agent']);
  });

  it('offers recall with its whole JSON schema', async () => {
    const recall = new FunctionTool(palimpsest.recall({ store: createMemoryStore() }));
    const { requests } = await runAgent([], { tools: [recall] });
    expect(requests[0]?.body.tools).toMatchObject([
      { functionDeclarations: [{ name: 'recall', parametersJsonSchema: { required: ['handle'] } }] },
    ]);
  });

  it('tells the model of a wrong argument of recall', async () => {
    const recall = new FunctionTool(palimpsest.recall({ store: createMemoryStore() }));
    const calls = [{ id: 'call_1', tool: 'recall', input: { handel: 1 } }];
    const { requests } = await runAgent([{ calls }], { tools: [recall] });
    expect(responsesIn(requests[1])).toEqual([{ error: expect.stringContaining('did you mean handle?') }]);
  });

  it('ends with an error of the store, and sends nothing', async () => {
    const putMany = () => Promise.reject(new Error('disk full'));
    const store = Object.assign(createMemoryStore(), { putMany });
    const beforeModelCallback = palimpsest.callback({ store, policy });
    const { requests, errors } = await runAgent(replies, { beforeModelCallback });
    expect([requests.length, errors]).toEqual([3, [expect.stringContaining('disk full')]]);
  });

  it('sends its contents untouched where the Interactions API has the history', async () => {
    const contents = [{ role: 'user', parts: [{ text: 'And now?' }] }];
    const request = { contents, previousInteractionId: 'interaction-1' };
    const context = { sessionId: 's', userId, agentName: 'agent', invocationContext: {} };
    const reports: Report[] = [];
    await palimpsest.callback({ onReport: (report) => void reports.push(report) })({ context, request });
    expect([request.contents, reports]).toEqual([contents, []]);
  });
});
