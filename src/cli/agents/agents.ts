import { fileURLToPath } from 'node:url';
import { type Fields, isRecord } from '../../formats/lens.ts';
import type { Provider } from '../../gateway/index.ts';

/** A gateway as an agent reaches it. */
export interface GatewayAddress {
  /** The address of all APIs: `http://127.0.0.1:8787`. It contains the token if every request needs one. */
  readonly base: string;
  /** The gateway's MCP server. */
  readonly mcp: string;
  /** The bearer token of the MCP server. */
  readonly token: string;
}

/** Lines to type, or to add to a file. */
export interface Step {
  readonly about: string;
  readonly lines: string;
}

/** The way to start an agent for one run. */
export interface Setup {
  readonly env: Readonly<Record<string, string>>;
  /** Put before the arguments of the user. */
  readonly args?: readonly string[];
  /** The configuration of MCP servers, in a temporary file. Its path follows this flag. */
  readonly mcpConfig?: { readonly flag: string; readonly content: object };
  /** Lines that only a file of the user can hold, and whether its content has them. */
  readonly userFile?: UserFile;
}

/** A JSON file that an agent reads from its home folder, and from the working folder. */
export interface UserFile {
  readonly path: string;
  /** Names another home folder. */
  readonly homeVariable: string;
  missing(settings: AgentSettings): readonly Step[];
}

/** The part of an agent's settings that matters here. */
export interface AgentSettings {
  readonly security?: { readonly auth?: { readonly selectedType?: string } };
  readonly mcpServers?: Readonly<Record<string, unknown>>;
}

/** A variable of the environment with the address of an API. */
export interface AddressVariable {
  readonly provider: Provider;
  readonly name: string;
  /** The path at the end of the address: `/v1`, or nothing. */
  readonly path: string;
}

/** An agent that can be set up by hand, or for one run. */
export interface Agent {
  readonly name: string;
  readonly title: string;
  readonly command: string;
  /** The variables with its addresses, even if it is not set up by them. */
  readonly variables: readonly AddressVariable[];
  steps(gateway: GatewayAddress): readonly Step[];
  setup(gateway: GatewayAddress, env: Environment): Setup;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const ANTHROPIC: AddressVariable = { provider: 'anthropic', name: 'ANTHROPIC_BASE_URL', path: '' };
const OPENAI: AddressVariable = { provider: 'openai', name: 'OPENAI_BASE_URL', path: '/v1' };
const GEMINI: AddressVariable = { provider: 'gemini', name: 'GOOGLE_GEMINI_BASE_URL', path: '' };

/** For a command that starts none of these agents. */
export const allVariables: readonly AddressVariable[] = [ANTHROPIC, OPENAI, GEMINI];

/** The variables, with the addresses of a gateway. */
export function addressesOf(variables: readonly AddressVariable[], { base }: GatewayAddress): Record<string, string> {
  return Object.fromEntries(variables.map(({ name, path }) => [name, base + path]));
}

const claudeCode: Agent = {
  name: 'claude-code',
  title: 'Claude Code',
  command: 'claude',
  variables: [ANTHROPIC],
  steps: (gateway) => [
    inTerminal(gateway, addressesOf(claudeCode.variables, gateway)),
    {
      about: 'Once, for recall',
      lines: `claude mcp add --scope user --transport http palimpsest ${gateway.mcp} --header 'Authorization: ${BEARER}'`,
    },
  ],
  setup: (gateway) => ({
    env: addressesOf(claudeCode.variables, gateway),
    mcpConfig: { flag: '--mcp-config', content: mcpServers({ type: 'http', url: gateway.mcp }, gateway.token) },
  }),
};

const codex: Agent = {
  name: 'codex',
  title: 'Codex',
  command: 'codex',
  // Codex does not read OPENAI_BASE_URL.
  variables: [],
  steps: (gateway) => [
    inTerminal(gateway, {}),
    {
      about: 'In ~/.codex/config.toml, the first line above all sections',
      lines: [
        `openai_base_url = "${gateway.base}/v1"`,
        '',
        '[mcp_servers.palimpsest]',
        `url = "${gateway.mcp}"`,
        'bearer_token_env_var = "PALIMPSEST_TOKEN"',
      ].join('\n'),
    },
  ],
  setup: ({ base, mcp }) => ({
    env: {},
    args: [
      `openai_base_url="${base}/v1"`,
      `mcp_servers.palimpsest.url="${mcp}"`,
      'mcp_servers.palimpsest.bearer_token_env_var="PALIMPSEST_TOKEN"',
    ].flatMap((value) => ['-c', value]),
  }),
};

/** The endpoint of requests with a Google login. */
const CODE_ASSIST: AddressVariable = { provider: 'codeassist', name: 'CODE_ASSIST_ENDPOINT', path: '' };
const GEMINI_KEY = { security: { auth: { selectedType: 'gemini-api-key' } } };

const geminiCli: Agent = {
  name: 'gemini-cli',
  title: 'Gemini CLI',
  command: 'gemini',
  variables: [GEMINI, CODE_ASSIST],
  steps: (gateway) => [
    inTerminal(gateway, addressesOf(geminiCli.variables, gateway)),
    {
      about: 'In ~/.gemini/settings.json',
      lines: toJson({ ...GEMINI_KEY, ...mcpServers({ httpUrl: gateway.mcp }) }),
    },
  ],
  setup: (gateway) => ({
    env: { ...addressesOf(geminiCli.variables, gateway), PALIMPSEST_MCP_URL: gateway.mcp },
    userFile: {
      path: '.gemini/settings.json',
      homeVariable: 'GEMINI_CLI_HOME',
      missing: ({ security, mcpServers: servers }) => [
        ...(security?.auth?.selectedType === undefined
          ? [
              {
                about: 'Gemini CLI starts with a base URL only if its settings choose the key',
                lines: toJson(GEMINI_KEY),
              },
            ]
          : []),
        // The block that `serve --for` prints names the port of that gateway.
        ...(!JSON.stringify(servers?.palimpsest ?? {}).includes('PALIMPSEST_MCP_URL')
          ? [{ about: 'Gemini CLI takes MCP servers only from its settings', lines: toJson(mcpServers(FROM_ENV)) }]
          : []),
      ],
    },
  }),
};

/** For every run: the port differs each time. */
const FROM_ENV = { httpUrl: `\${PALIMPSEST_MCP_URL}` };

const qwenCode: Agent = {
  name: 'qwen-code',
  title: 'Qwen Code',
  command: 'qwen',
  variables: [OPENAI],
  steps: (gateway) => [
    inTerminal(gateway, addressesOf(qwenCode.variables, gateway)),
    { about: 'In ~/.qwen/settings.json, for recall', lines: toJson(mcpServers({ httpUrl: gateway.mcp })) },
  ],
  setup: (gateway) => ({
    env: addressesOf(qwenCode.variables, gateway),
    // Variables are not replaced in this file.
    mcpConfig: { flag: '--mcp-config', content: mcpServers({ httpUrl: gateway.mcp }, gateway.token) },
  }),
};

const openCode: Agent = {
  name: 'opencode',
  title: 'OpenCode',
  command: 'opencode',
  variables: [{ ...ANTHROPIC, path: '/v1' }, OPENAI],
  steps: (gateway) => [
    inTerminal(gateway, addressesOf(openCode.variables, gateway)),
    { about: 'In ~/.config/opencode/opencode.json, for recall', lines: toJson(openCodeMcp(gateway)) },
    { about: 'There too, if you use Gemini', lines: toJson(openCodeGoogle(gateway)) },
  ],
  setup: (gateway, env) => {
    const hasGoogle = GOOGLE_KEYS.some((name) => env[name]);
    // OpenCode offers every provider that is named there, with or without a key.
    const config = { ...openCodeMcp(gateway), ...(hasGoogle ? openCodeGoogle(gateway) : {}) };
    const merged = withDefaults(config, ownConfig(env.OPENCODE_CONFIG_CONTENT));
    return {
      env: { ...addressesOf(openCode.variables, gateway), OPENCODE_CONFIG_CONTENT: JSON.stringify(merged) },
    };
  },
};

/** The configuration that the user gives OpenCode in the same variable. OpenCode itself reports invalid JSON. */
function ownConfig(text = '{}'): Fields {
  try {
    const own: unknown = JSON.parse(text);
    return isRecord(own) ? own : {};
  } catch {
    return {};
  }
}

/** Our configuration, and all settings of the user that it does not set. */
function withDefaults(ours: Fields, own: Fields): Fields {
  const merged: Record<string, unknown> = { ...own };
  for (const [name, value] of Object.entries(ours)) {
    const users = own[name];
    merged[name] = isRecord(value) && isRecord(users) ? withDefaults(value, users) : value;
  }
  return merged;
}

const GOOGLE_KEYS = ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'];

const openCodeMcp = ({ mcp }: GatewayAddress): Fields => ({
  mcp: {
    palimpsest: { type: 'remote', url: mcp, headers: { Authorization: 'Bearer {env:PALIMPSEST_TOKEN}' } },
  },
});

const openCodeGoogle = ({ base }: GatewayAddress): Fields => ({
  provider: { google: { options: { baseURL: `${base}/v1beta` } } },
});

const pi: Agent = {
  name: 'pi',
  title: 'pi',
  command: 'pi',
  variables: [],
  steps: (gateway) => [
    {
      about: TERMINAL,
      lines: [inTerminal(gateway, { PALIMPSEST_URL: gateway.base }).lines, `pi -e "${PI_EXTENSION}"`].join('\n'),
    },
  ],
  setup: ({ base }) => ({ env: { PALIMPSEST_URL: base }, args: ['-e', PI_EXTENSION] }),
};

/** Sets addresses and adds recall: pi takes no MCP servers. */
const PI_EXTENSION = fileURLToPath(new URL('./pi-extension.js', import.meta.url));

export const agents: readonly Agent[] = [claudeCode, codex, geminiCli, qwenCode, openCode, pi];

const TERMINAL = 'In the terminal of the agent';
const BEARER = `Bearer \${PALIMPSEST_TOKEN}`;

function inTerminal({ token }: GatewayAddress, variables: Readonly<Record<string, string>>): Step {
  const lines = Object.entries({ ...variables, PALIMPSEST_TOKEN: token });
  return { about: TERMINAL, lines: lines.map(([name, value]) => `export ${name}=${value}`).join('\n') };
}

function mcpServers(server: object, token?: string): object {
  const Authorization = token === undefined ? BEARER : `Bearer ${token}`;
  return { mcpServers: { palimpsest: { ...server, headers: { Authorization } } } };
}

const toJson = (value: object): string => JSON.stringify(value, null, 2);
