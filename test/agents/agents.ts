import { join } from 'node:path';
import { ROOT } from '../support/modules.ts';
import type { Call } from '../support/provider/script.ts';
import { TASK } from './job.ts';

/** Where an agent is set up. */
export interface Place {
  /** The gateway. */
  readonly url: string;
  /** The command that starts an MCP server on the gateway's store. */
  readonly mcp: readonly [string, ...string[]];
}

/** An agent from npm: how it starts, and how the model calls its tools. */
export interface Agent {
  readonly name: string;
  /** A program of `node_modules/.bin`, and its arguments. */
  command(place: Place): readonly string[];
  env?(place: Place): Readonly<Record<string, string>>;
  /** Files to write before it starts, by their path below its home. */
  files?(place: Place): Readonly<Record<string, string>>;
  shell(command: string): Call;
  /** Undefined: it reads with its shell. */
  read?(path: string): Call;
  /** Where it takes MCP servers: how the model recalls, and the call that finds `recall` where tools are deferred. */
  readonly mcp?: { recall(handle: string): Call; readonly lookUp?: Call };
}

const claudeCode: Agent = {
  name: 'Claude Code',
  command: ({ mcp: [command, ...args] }) => [
    'claude',
    '-p',
    '--dangerously-skip-permissions',
    '--strict-mcp-config',
    '--mcp-config',
    JSON.stringify({ mcpServers: { palimpsest: { command, args } } }),
    '--model',
    'claude-sonnet-5',
    TASK,
  ],
  env: ({ url }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-fake',
    // It refuses to go without questions as root, unless this says that it is safe.
    IS_SANDBOX: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  }),
  shell: (command) => ({ name: 'Bash', input: { command, description: 'Print a log' } }),
  read: (path) => ({ name: 'Read', input: { file_path: path } }),
  mcp: {
    recall: (handle) => ({ name: 'mcp__palimpsest__recall', input: { handle, all: true } }),
    lookUp: { name: 'ToolSearch', input: { query: 'select:mcp__palimpsest__recall' } },
  },
};

const codex: Agent = {
  name: 'Codex',
  command: () => ['codex', 'exec', '--skip-git-repo-check', '--model', 'gpt-5.5', TASK],
  env: () => ({ CODEX_API_KEY: 'sk-fake' }),
  files: ({ url, mcp: [command, ...args] }) => ({
    '.codex/config.toml': [
      `openai_base_url = "${url}/v1"`,
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[mcp_servers.palimpsest]',
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
    ].join('\n'),
  }),
  shell: (command) => ({ name: 'exec_command', input: { cmd: command } }),
  mcp: {
    recall: (handle) => ({ name: 'recall', input: { handle, all: true } }),
    lookUp: { name: 'tool_search', input: { query: 'recall masked result' } },
  },
};

/** Its newest models have one tool that runs JavaScript, in which all other tools are functions. */
const codexCodeMode: Agent = {
  ...codex,
  name: 'Codex in code mode',
  command: () => ['codex', 'exec', '--skip-git-repo-check', '--model', 'gpt-6.1-sol', TASK],
  shell: (command) => runs(`text((await tools.exec_command(${JSON.stringify({ cmd: command })})).output)`),
  mcp: {
    recall: (handle) =>
      runs(`text((await tools.mcp__palimpsest__recall({ handle: '${handle}', all: true })).content[0].text)`),
  },
};

const runs = (code: string): Call => ({ name: 'exec', input: { input: code } });

const geminiCli: Agent = {
  name: 'Gemini CLI',
  command: () => ['gemini', '-m', 'gemini-3-pro-preview', '--approval-mode', 'yolo', '-p', TASK],
  env: ({ url }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'fake', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  files: ({ mcp: [command, ...args] }) => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      mcpServers: { palimpsest: { command, args, trust: true } },
    }),
  }),
  shell: (command) => ({ name: 'run_shell_command', input: { command } }),
  read: (path) => ({ name: 'read_file', input: { file_path: path } }),
  mcp: { recall: (handle) => ({ name: 'mcp_palimpsest_recall', input: { handle, all: true } }) },
};

const qwenCode: Agent = {
  name: 'Qwen Code',
  command: () => ['qwen', '--auth-type', 'openai', '--approval-mode', 'yolo', '-p', TASK],
  env: ({ url }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'sk-fake', OPENAI_MODEL: 'gpt-5' }),
  files: ({ mcp: [command, ...args] }) => ({
    '.qwen/settings.json': JSON.stringify({
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      mcpServers: { palimpsest: { command, args, trust: true } },
    }),
  }),
  shell: (command) => ({ name: 'run_shell_command', input: { command, is_background: false } }),
  read: (path) => ({ name: 'read_file', input: { file_path: path } }),
  mcp: {
    recall: (handle) => ({ name: 'mcp__palimpsest__recall', input: { handle, all: true } }),
    lookUp: { name: 'tool_search', input: { query: 'recall' } },
  },
};

const pi: Agent = {
  name: 'pi',
  command: () => ['pi', '-p', '--offline', '--provider', 'local', '--model', 'claude-sonnet-5', TASK],
  env: () => ({ PI_OFFLINE: '1' }),
  files: ({ url }) => ({
    '.pi/agent/models.json': JSON.stringify({
      providers: {
        local: {
          baseUrl: url,
          api: 'anthropic-messages',
          apiKey: 'sk-ant-fake',
          models: [
            {
              id: 'claude-sonnet-5',
              name: 'scripted',
              reasoning: true,
              input: ['text'],
              cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
              contextWindow: 200_000,
              maxTokens: 4096,
            },
          ],
        },
      },
    }),
  }),
  shell: (command) => ({ name: 'bash', input: { command } }),
  read: (path) => ({ name: 'read', input: { path } }),
};

const openCode: Agent = {
  name: 'OpenCode',
  command: () => ['opencode', 'run', TASK],
  env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  files: ({ url, mcp }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      permission: 'allow',
      autoupdate: false,
      share: 'disabled',
      model: 'local/claude-sonnet-5',
      small_model: 'local/claude-sonnet-5',
      provider: {
        local: {
          npm: '@ai-sdk/anthropic',
          options: { baseURL: `${url}/v1`, apiKey: 'sk-ant-fake' },
          models: { 'claude-sonnet-5': { name: 'scripted', limit: { context: 200_000, output: 8000 } } },
        },
      },
      mcp: { palimpsest: { type: 'local', command: mcp, enabled: true } },
    }),
  }),
  shell: (command) => ({ name: 'bash', input: { command, description: 'Print a log' } }),
  read: (path) => ({ name: 'read', input: { filePath: path } }),
  mcp: { recall: (handle) => ({ name: 'palimpsest_recall', input: { handle, all: true } }) },
};

export const agents: readonly Agent[] = [claudeCode, codex, codexCodeMode, geminiCli, qwenCode, pi, openCode];

/** `palimpsest mcp` on a store. */
export const mcpCommand = (store: string): Place['mcp'] => [
  process.execPath,
  join(ROOT, 'dist/cli/main.js'),
  'mcp',
  '--whole-store',
  '--store',
  store,
];
