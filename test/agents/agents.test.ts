import { beforeAll, describe, expect, it } from 'vitest';
import { breaksIn, historyIn } from '../support/gateway/held.ts';
import { ensureBuilt } from '../support/modules.ts';
import type { Fields } from '../support/provider/json.ts';
import type { SeenRequest } from '../support/provider/start-provider.ts';
import { type Agent, agents } from './agents.ts';
import { isOfJob, JOB_CALLS, LAST_TEXT, RECALL_TEXT } from './job.ts';
import { type AgentRun, paidRequests, runAgent } from './run-agent.ts';

beforeAll(ensureBuilt);

describe.concurrent.each(agents)('$name does a job of 80 tool calls', (agent) => {
  it('under a sliding window, though its gateway is killed in the middle', async () => {
    const run = await runAgent(agent, { policy: 'sliding-window:turns=5', isKilled: true });
    expectDone(agent, run);
    expectNoChangeByKill(agent, run);
  });

  it('under the default policy', async () => {
    expectDone(agent, await runAgent(agent, {}));
  });
});

function expectDone(agent: Agent, run: AgentRun): void {
  const { code, output, provider } = run;
  // Gemini CLI asks whether it is in a loop with a history that begins with a call: Gemini refuses that from anyone.
  const refused = requestsOfJob(agent, provider.requests).filter(({ status }) => status !== 200);
  expect(refused.map((request) => request.refused)).toEqual([]);
  expect(output).toContain(LAST_TEXT);
  expect(code, output).toBe(0);
  expectReceiptsToEqualBill(run);
  expect(run.receipts.filter(({ streamed }) => streamed).length).toBeGreaterThanOrEqual(JOB_CALLS);
  expectStablePrefix(agent, run);
  if (agent.mcp) expectRecalled(run);
}

/** To the token, request by request. */
function expectReceiptsToEqualBill({ provider, receipts }: AgentRun): void {
  const answered = receipts.filter(({ status }) => status === 200);
  const received = answered.map(({ sent, completionTokens: written }) => [sent.tokens, sent.cached, written].join(' '));
  const billed = paidRequests(provider).map(({ charge }) =>
    [charge?.prompt, charge?.split.read, charge?.completion].join(' '),
  );
  expect(received.toSorted()).toEqual(billed.toSorted());
  expect(answered.filter(({ estimated }) => estimated)).toEqual([]);
}

/** Requests that do not begin with the whole of the one before are those of a new epoch. */
function expectStablePrefix(agent: Agent, { provider, receipts }: AgentRun): void {
  const masking = receipts.filter(({ newMasks }) => newMasks.length > 0);
  expect(breaksIn(requestsOfJob(agent, provider.requests))).toBe(masking.length);
  expect(masking.at(-1)?.masked).toBeGreaterThan(20);
}

const requestsOfJob = (agent: Agent, requests: readonly SeenRequest[]): SeenRequest[] =>
  requests.filter((request) => request.method === 'POST' && isOfJob(agent, { body: bodyOf(request) }));

const bodyOf = ({ bytes }: SeenRequest): Fields => JSON.parse(bytes.toString()) as Fields;

/** The whole of the masked text is in what the agent sends after the call. */
function expectRecalled({ provider, recalled = '' }: AgentRun): void {
  expect(recalled.length).toBeGreaterThan(2000);
  const request = provider.requests.map(({ bytes }) => bytes.toString()).find((text) => text.includes(RECALL_TEXT));
  expect(request?.slice(request.lastIndexOf(RECALL_TEXT))).toContain(JSON.stringify(recalled).slice(1, -1));
}

/** The request that was cut off is sent again, with the same masks. */
function expectNoChangeByKill(agent: Agent, { provider }: AgentRun): void {
  const requests = requestsOfJob(agent, provider.requests);
  const cut = requests.findIndex(({ aborted }) => aborted);
  const [before, after] = requests.slice(cut, cut + 2).map(historyIn);
  expect(before?.join('\n')).toContain(' masked · ');
  expect(after).toEqual(before);
}
