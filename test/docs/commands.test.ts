import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';

/** A block of commands in a page. */
interface Block {
  readonly page: string;
  readonly line: number;
  readonly commands: readonly string[];
  /** Why it cannot be run here: `<!-- not run here: … -->` above the block. */
  readonly reason: string | undefined;
}

const pages = ['README.md', 'examples/README.md', ...markdownIn('docs')];
const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8')));

function markdownIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
}

function blocksOf(page: string, text: string): Block[] {
  return Array.from(text.matchAll(/^(?:<!-- (not run here: [^\n]+?) -->\n\n?)?```sh\n([\s\S]*?)^```$/gm), (found) => {
    const [, reason, body = ''] = found;
    return { page, line: text.slice(0, found.index).split('\n').length, reason, commands: commandsIn(body) };
  });
}

/** One command a line; a line that ends with a backslash goes on in the next. */
function commandsIn(body: string): string[] {
  return body
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#\s.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

describe('commands in the docs', () => {
  let home: string;
  const servers: ChildProcess[] = [];

  beforeAll(async () => {
    await ensureBuilt();
    home = mkdtempSync(join(tmpdir(), 'palimpsest-commands-'));
    prepare(home);
  }, 240_000);

  afterAll(() => {
    for (const server of servers) server.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  });

  it('are found', () => {
    expect(blocks.filter(({ reason }) => reason === undefined).length).toBeGreaterThan(15);
  });

  it('each have a reason where they are not run', () => {
    const reasons = blocks.flatMap(({ reason }) => reason ?? []);
    for (const reason of reasons) expect(reason.length).toBeGreaterThan('not run here: '.length + 10);
  });

  const run = blocks.filter(({ reason }) => reason === undefined);
  it.each(run.map((block) => [`${block.page}:${block.line}`, block] as const))(
    'of %s work',
    async (_place, { commands }) => {
      const env: Record<string, string | undefined> = { ...process.env, ...environment(home) };
      for (const command of commands) {
        const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
        if (name !== undefined) env[name] = value;
        else if (isServer(command)) expect(await serve(command, env), command).toBe(0);
        else expect(runIn(home, command, env), command).toEqual({ status: 0, stderr: expect.any(String) });
      }
    },
    240_000,
  );

  /** It runs until it is stopped. The test takes a free port, so that it meets no other gateway. */
  const isServer = (command: string): boolean => /^(?:npm start|npx palimpsest serve)\b/.test(command);

  async function serve(command: string, env: NodeJS.ProcessEnv): Promise<number | null> {
    const separator = command === 'npm start' ? ' --' : '';
    const cwd = command.startsWith('npm') && !command.startsWith('npx') ? ROOT : home;
    const child = spawn('sh', ['-c', `exec ${command}${separator} --port 0`], { cwd, env, detached: true });
    servers.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk));
    while (!/http:\/\/127\.0\.0\.1:\d+/.test(said) && child.exitCode === null)
      await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${said}`);
    const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    expect((await fetch(`${address}/_palimpsest/`)).status, said).toBe(200);
    // The whole group: npm starts a shell, which starts the gateway.
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    const [code] = await once(child, 'exit');
    // npm ends with its own code where a signal ended it.
    return command.startsWith('npm start') ? 0 : code;
  }
});

function runIn(home: string, command: string, env: NodeJS.ProcessEnv): { status: number | null; stderr: string } {
  const isOfRepository = /^(?:node|npm)\b/.test(command);
  const filled = command.replaceAll('<folder>', join(home, 'logs')).replace('~', home);
  const options = { cwd: isOfRepository ? ROOT : home, env, encoding: 'utf8', timeout: 200_000 } as const;
  const { status, stderr, stdout } = spawnSync('sh', ['-c', `${filled} </dev/null`], options);
  return { status, stderr: status === 0 ? stderr : `${stdout}${stderr}` };
}

/** The folder of a user: logs of an agent, a request, a trajectory, and the command as `npx` finds it after an install. */
function prepare(home: string): void {
  const run = JSON.stringify(messages(40));
  for (const folder of ['logs', '.claude/projects', 'bin', 'examples'])
    mkdirSync(join(home, folder), { recursive: true });
  for (const file of ['logs/run.json', '.claude/projects/run.json']) writeFileSync(join(home, file), run);
  writeFileSync(join(home, 'request.json'), JSON.stringify({ model: 'gpt-4o', messages: messages(40) }));
  if (existsSync(join(ROOT, 'examples/sample-history.json')))
    cpSync(join(ROOT, 'examples/sample-history.json'), join(home, 'examples/sample-history.json'));
  const program = `"${process.execPath}" "${join(ROOT, 'dist/cli/main.js')}"`;
  writeFileSync(join(home, 'bin/npx'), `#!/bin/sh\n[ "$1" = palimpsest ] || exit 127\nshift\nexec ${program} "$@"\n`);
  chmodSync(join(home, 'bin/npx'), 0o755);
}

const environment = (home: string) => ({
  HOME: home,
  XDG_CONFIG_HOME: join(home, '.config'),
  PATH: join(home, 'bin') + delimiter + process.env.PATH,
  NO_COLOR: '1',
});

/** A run of so many turns whose results have 6,000 characters each. */
function messages(turns: number): object[] {
  const call = (id: string) => ({
    id,
    type: 'function',
    function: { name: 'read_file', arguments: `{"path":"${id}.ts"}` },
  });
  return [
    { role: 'system', content: 'You are an agent.' },
    { role: 'user', content: 'Fix the failing test.' },
    ...Array.from({ length: turns }, (_, i) => [
      { role: 'assistant', content: `Step ${i}.`, tool_calls: [call(`call_${i}`)] },
      { role: 'tool', tool_call_id: `call_${i}`, content: `line ${i} of a file\n`.repeat(350).slice(0, 6000) },
    ]).flat(),
  ];
}
