import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agents } from '../../src/cli/agents/agents.ts';
import { addressFor } from '../../src/cli/serve/serve-greeting.ts';
import { ROOT } from '../support/modules.ts';

const gateway = addressFor({ url: 'http://127.0.0.1:8787', isPublic: false, token: 'TOKEN' });
const folder = join(ROOT, 'docs/agents');

/** The blocks of code on a page. The place of the extension depends on where the package is installed. */
function blocksOf(name: string): string[] {
  const text = readFileSync(join(folder, `${name}.md`), 'utf8');
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)\n```$/gm)].map(([, block]) => block as string);
  return blocks.map((block) => block.replace('$(npm root -g)/palimpsest/dist/cli', join(ROOT, 'src/cli')));
}

describe('docs/agents', () => {
  it('has a page for each agent, and no other', () => {
    const names = readdirSync(folder).filter((name) => name !== 'README.md');
    expect(names.sort()).toEqual(agents.map(({ name }) => `${name}.md`).sort());
  });

  it.each(agents.map((agent) => [agent.name, agent] as const))(
    '%s shows the lines that serve --for prints',
    (name, agent) => {
      const blocks = blocksOf(name);
      expect(blocks[0]).toBe(`npx palimpsest run -- ${agent.command}`);
      for (const { lines } of agent.steps(gateway)) expect(blocks).toContain(lines);
    },
  );

  it('names the versions that npm run agents runs', () => {
    const text = readFileSync(join(ROOT, 'docs/agents/README.md'), 'utf8');
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'test/agents/package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    for (const [name, version] of Object.entries(dependencies))
      if (name !== 'node') expect(text).toContain(` ${version}`);
  });

  it('shows the lines that a run of Gemini CLI asks for', () => {
    const { userFile } = agents.find(({ name }) => name === 'gemini-cli')?.setup(gateway, {}) ?? {};
    const missing = userFile?.missing({}).map(({ lines }) => JSON.parse(lines)) ?? [];
    expect(missing).toHaveLength(2);
    expect(JSON.parse(blocksOf('gemini-cli')[1] ?? '')).toEqual(Object.assign({}, ...missing));
  });
});
