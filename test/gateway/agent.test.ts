import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENT_TURNS, agentScript, installAgent, mayMiss, runAgent } from './agent-run.ts';
import { startProvider } from './provider/start-provider.ts';

describe('a real terminal agent', () => {
  it('does a job of 40 turns', { timeout: 600_000 }, async ({ skip }) => {
    const agent = await installAgent();
    if ('reason' in agent) {
      skip(mayMiss, agent.reason);
      throw new Error(agent.reason);
    }
    const provider = await startProvider({ script: agentScript });
    const { code, output, folder } = await runAgent(agent, provider.url).finally(() => provider.close());
    expect(code, output).toBe(0);
    expect(output).toContain(`The job is done after ${AGENT_TURNS} turns.`);
    expect(provider.requests.filter(({ status }) => status !== 200).map(({ refused }) => refused)).toEqual([]);
    expect(provider.bill.requests).toBe(AGENT_TURNS + 1);
    expect(readFileSync(join(folder, 'numbers.txt'), 'utf8')).toMatch(/^the end\n2\n6\n/);
    rmSync(dirname(folder), { recursive: true });
  });
});
