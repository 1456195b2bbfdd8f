import { describe, expect, it } from 'vitest';
import { agents } from './agents.ts';

const GATEWAY = { base: 'http://127.0.0.1:1', mcp: 'http://127.0.0.1:1/_palimpsest/mcp', token: 'TOKEN' };

const setupOf = (name: string, env: Record<string, string> = {}) => {
  const agent = agents.find((one) => one.name === name);
  if (!agent) throw new Error(`Expected an agent named ${name}`);
  return agent.setup(GATEWAY, env);
};

describe('OpenCode behind a gateway', () => {
  const configOf = (own: string) =>
    JSON.parse(setupOf('opencode', { OPENCODE_CONFIG_CONTENT: own }).env?.OPENCODE_CONFIG_CONTENT ?? '');

  it('keeps the configuration that the user gives it in the same variable', () => {
    const own = { theme: 'dark', mcp: { own: { type: 'local' }, palimpsest: { enabled: false } } };
    expect(configOf(JSON.stringify(own))).toMatchObject({
      theme: 'dark',
      mcp: { own: { type: 'local' }, palimpsest: { url: GATEWAY.mcp } },
    });
  });

  it.each(['', 'no JSON', '[]', 'null'])('is set up though that holds %j', (own) => {
    expect(configOf(own)).toMatchObject({ mcp: { palimpsest: { url: GATEWAY.mcp } } });
  });
});

describe('Gemini CLI behind a gateway', () => {
  it('needs a server whose address comes with the run, not one at a port', () => {
    const { userFile } = setupOf('gemini-cli');
    const missing = (httpUrl: string) =>
      userFile?.missing({
        security: { auth: { selectedType: 'gemini-api-key' } },
        mcpServers: { palimpsest: { httpUrl } },
      }) ?? [];
    expect(missing(`\${PALIMPSEST_MCP_URL}`)).toEqual([]);
    expect(missing('http://127.0.0.1:8787/_palimpsest/mcp')).toHaveLength(1);
  });
});
