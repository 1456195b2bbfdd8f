import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { everyProvider } from '../support/gateway/gateway.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { startProvider } from '../support/provider/start-provider.ts';
import { type Agent, agents } from './agents.ts';
import { startGuarded } from './guarded.ts';
import { jobScript, LAST_TEXT, RECALL_TEXT, TASK, writeProject } from './job.ts';
import { environmentIn } from './run-agent.ts';

beforeAll(ensureBuilt);

/** An agent as a user starts it behind `palimpsest run`: neither the gateway nor recall are in its settings or its environment. */
interface Started {
  readonly agent: string;
  readonly command: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

const STARTED: readonly Started[] = [
  {
    agent: 'Claude Code',
    command: ['claude', '-p', '--dangerously-skip-permissions', '--model', 'claude-sonnet-5', TASK],
  },
  {
    agent: 'Codex',
    command: ['codex', 'exec', '--skip-git-repo-check', '--model', 'gpt-5.5', TASK],
    files: {
      '.codex/config.toml': [
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        'check_for_update_on_startup = false',
        '[analytics]',
        'enabled = false',
      ].join('\n'),
    },
  },
  {
    agent: 'Qwen Code',
    command: ['qwen', '--auth-type', 'openai', '--approval-mode', 'yolo', '-p', TASK],
  },
];

describe.concurrent.each(STARTED)('palimpsest run -- $command.0', ({ agent: name, command, files = {} }) => {
  it('sets up the agent and its recall, and prints a receipt', async () => {
    const agent = agents.find((one) => one.name === name) as Agent;
    const { ANTHROPIC_BASE_URL: _a, OPENAI_BASE_URL: _o, ...env } = agent.env?.({ url: '', mcp: [''] }) ?? {};
    const home = mkdtempSync(join(tmpdir(), 'palimpsest-agent-'));
    const work = join(home, 'work');
    writeProject(work);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const provider = await startProvider({ script: jobScript(agent, { work }) });
    const upstreams = Object.entries(everyProvider(provider.url)).flatMap(([to, url]) => [
      '--upstream',
      `${to}=${url}`,
    ]);
    const run = ['run', '--policy', 'sliding-window:turns=5', ...upstreams, '--', ...command];
    try {
      const started = startGuarded([process.execPath, join(ROOT, 'dist/cli/main.js'), ...run], {
        cwd: work,
        env: { ...environmentIn(home), ...env },
      });
      const code = await started.ended;
      const output = started.output();
      expect(output).toContain(LAST_TEXT);
      expect(output).toMatch(/ {2}masked {4}\d\d tool results, kept in /);
      expect(code, output).toBe(0);
      const recalled = provider.requests
        .map(({ bytes }) => bytes.toString())
        .find((text) => text.includes(RECALL_TEXT));
      // The text of the last masked file or log, after the call.
      expect(recalled?.slice(recalled.lastIndexOf(RECALL_TEXT))).toMatch(/part\d+_line69 = /);
    } finally {
      await provider.close();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
