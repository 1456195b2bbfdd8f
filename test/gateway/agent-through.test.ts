import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConversationSummary, Receipt } from '../../src/gateway/index.ts';
import { slidingWindow } from '../../src/index.ts';
import { AGENT_TURNS, agentScript, installAgent, mayMiss, runAgent } from './agent-run.ts';
import { startGateway } from './gateway.ts';
import { startProvider } from './provider/start-provider.ts';

describe('a real terminal agent', () => {
  it('does a job of 40 turns through the gateway', { timeout: 600_000 }, async ({ skip }) => {
    const agent = await installAgent();
    if ('reason' in agent) {
      skip(mayMiss, agent.reason);
      throw new Error(agent.reason);
    }
    const provider = await startProvider({ script: agentScript });
    // The job is too short for masks to pay: these come whether they do or not.
    const gateway = await startGateway(provider.url, { policy: slidingWindow({ turns: 5 }) });
    const { code, output, folder } = await runAgent(agent, gateway.url);
    const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
    const { receipts } = await gateway.ask<{ receipts: Receipt[] }>(`conversations/${conversations[0]?.id}`);
    await gateway.close();
    await provider.close();
    rmSync(dirname(folder), { recursive: true });
    expect(code, output).toBe(0);
    expect(output).toContain(`The job is done after ${AGENT_TURNS} turns.`);
    expect(provider.requests.filter(({ status }) => status !== 200).map(({ refused }) => refused)).toEqual([]);
    expect(receipts.map(({ sent }) => sent.tokens)).toEqual(provider.bill.charges.map(({ prompt }) => prompt));
    expect(receipts.at(-1)?.masked).toBeGreaterThan(10);
  });
});
