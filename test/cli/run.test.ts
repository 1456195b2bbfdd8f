import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { drawArm } from '../../src/gateway/conversation/arm.ts';
import { sessionNames } from '../../src/gateway/conversation/prefix-hash.ts';
import { openStore } from '../../src/store/open-store.ts';
import { startUpstream } from '../support/gateway/upstream.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-run-test-'));
const main = join(ROOT, 'dist/cli/main.js');
const closers: (() => Promise<void>)[] = [];

beforeAll(ensureBuilt, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A small agent: it asks for a shell 8 times, as Claude Code would, and prints how it was started. */
const AGENT = `
const { ANTHROPIC_BASE_URL: base, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL, PALIMPSEST_TOKEN } = process.env;
const config = process.argv.find((arg) => arg.startsWith('--mcp-config='))?.slice(13);
const fs = require('node:fs');
const servers = config && JSON.parse(fs.readFileSync(config, 'utf8'));
console.log(JSON.stringify({ base, openai: OPENAI_BASE_URL, gemini: GOOGLE_GEMINI_BASE_URL, args: process.argv.slice(2), servers, config, isTerminal: process.stdout.isTTY === true }));
const ask = async (body) => (await fetch(base + '/v1/messages', { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }, body: JSON.stringify(body) })).json();
(async () => {
  const messages = [{ role: 'user', content: 'Fix it.' }];
  for (let i = 0; i < Number(process.env.TURNS ?? 0); i++) {
    await ask({ model: 'claude-sonnet-4-5', max_tokens: 10, messages });
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id: 'c' + i, name: 'bash', input: { command: 'run ' + i } }] });
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' + i, content: ('line of turn ' + i + '\\n').repeat(300) }] });
  }
  if (process.env.THEN === 'wait') { console.log('waiting'); setInterval(() => {}, 1000); }
  else process.exit(Number(process.env.CODE ?? 0));
})();
`;

/** Sends requests of 20 sessions, or of forks of them, with as many tool results as it is told. */
const TWENTY_SESSIONS = `
const [name, turns, fork = ''] = process.argv.slice(process.argv[2].startsWith('--mcp') ? 3 : 2);
(async () => {
  for (let n = 0; n < 80; n++) {
    const i = n % 20;
    const messages = [{ role: 'user', content: 'Fix it.' }];
    for (let k = 0; k < Number(turns); k++) {
      const id = 'toolu_' + name + i + '_' + k;
      messages.push({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command: 'run ' + k } }] });
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: ('line of turn ' + k + '\\n').repeat(100) }] });
    }
    const headers = { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'x-claude-code-session-id': fork + name + i };
    const body = JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 10, messages });
    await (await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', headers, body })).text();
  }
})();
`;

/** Arms and shares of the requests of each session, with its forks, that a tenant has records of. */
async function armsIn(path: string, tenant: string): Promise<Map<string, string[]>> {
  const store = await openStore({ path, tenant, mode: 'read' });
  const arms = new Map<string, string[]>();
  for await (const { session, root = session, arm, holdoutShare } of store.records?.() ?? []) {
    const name = root.split('-')[0] ?? '';
    arms.set(name, [...(arms.get(name) ?? []), `${arm} ${holdoutShare}`]);
  }
  await store.close();
  return arms;
}

const NOT_COMPARED = 'treated undefined';

/** A home folder, and a folder of commands in which agents of every name are this one. */
function prepare(): { home: string; env: NodeJS.ProcessEnv } {
  const home = mkdtempSync(join(folder, 'home-'));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  for (const name of ['claude', 'codex', 'gemini', 'qwen', 'opencode', 'pi', 'my-agent']) {
    writeFileSync(join(bin, name), `#!${process.execPath}\n${AGENT}`);
    chmodSync(join(bin, name), 0o755);
  }
  return { home, env: { HOME: home, PATH: `${bin}:/usr/bin:/bin`, TMPDIR: home } };
}

async function upstream(): Promise<string> {
  const usage = { input_tokens: 1000, cache_read_input_tokens: 500, cache_creation_input_tokens: 0, output_tokens: 7 };
  const started = await startUpstream((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'message', usage })),
  );
  closers.push(started.close);
  return started.url;
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[], { home, env }: ReturnType<typeof prepare>, more = {}): Promise<Ran> {
  const child = spawn(process.execPath, [main, 'run', ...args], { env: { ...env, ...more }, cwd: home });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}

function collect(stream: ChildProcess['stdout']): () => string {
  let text = '';
  stream?.on('data', (chunk) => {
    text += chunk;
  });
  return () => text;
}

/** The files below a home that a run may not touch: all but the store, the token and the commands. */
function filesIn(home: string): string[] {
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => !/^(?:bin|\.palimpsest)(?:\/|$)/.test(name)).sort();
}

const startOf = ({ stdout }: Ran) => JSON.parse(stdout.split('\n', 1)[0] ?? '');

describe('palimpsest run', () => {
  it('starts an agent with the address of a gateway and a recall server, and prints a receipt at the end', async () => {
    const place = prepare();
    const to = await upstream();
    const args = ['--upstream', `anthropic=${to}`, '--policy', 'sliding-window:turns=2', '--', 'claude', '-p', 'go on'];
    const ran = await run(args, place, { TURNS: '6' });
    const { base, servers, args: given, config } = startOf(ran);
    expect(base).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(given.slice(1)).toEqual(['-p', 'go on']);
    expect(servers.mcpServers.palimpsest).toMatchObject({ type: 'http', url: `${base}/_palimpsest/mcp` });
    const page = readFileSync(join(ROOT, 'docs/agents/README.md'), 'utf8');
    // A slow store delays masks, so only the lines that do not depend on them are compared.
    const shown = /^palimpsest: 6 requests in 1 conversation\n {2}sent .*\n {2}spent .*$/m.exec(page)?.[0];
    expect(ran.stderr).toContain(shown ?? 'a receipt on the page of agents');
    expect(ran.stderr).toMatch(/masked {4}\d tool results?, kept in .*\.palimpsest\/store\n {2}saved/);
    expect(ran.code).toBe(0);
    const report = spawnSync(process.execPath, [main, 'report'], { env: place.env, encoding: 'utf8' });
    expect(report.stdout).toContain('1 session began in the last hour');
    // Nothing is left behind but the store and the token.
    expect([existsSync(config), filesIn(place.home)]).toEqual([false, []]);
    await expect(fetch(`${base}/healthz`)).rejects.toThrow();
  });

  it('tells how much of the context window a subscription used, since its tokens have no price', async () => {
    const place = prepare();
    const to = await upstream();
    writeFileSync(join(place.home, 'prices.yaml'), 'claude-*: { subscription: true, window: 12000 }');
    const args = ['--upstream', `anthropic=${to}`, '--price-file', 'prices.yaml', '--', 'claude'];
    const { stderr } = await run(args, place, { TURNS: '2' });
    expect(stderr).toContain('  spent     2 requests are paid by subscription\n');
    expect(stderr).toContain('  window    the largest request took 13 % of the context window');
  });

  it('says in shadow that nothing was masked, and what masks would have left out', async () => {
    const args = ['--upstream', `anthropic=${await upstream()}`, '--policy', 'sliding-window:turns=2', '--shadow'];
    const { stderr } = await run([...args, '--', 'claude'], prepare(), { TURNS: '6' });
    expect(stderr).toContain('  masked    nothing; 6 requests sent unchanged, held out or in shadow\n');
    expect(stderr).toMatch(/ {2}saved {5}nothing: masks would have left out \d[\d,]+ input tokens \(estimate\)\n/);
  });

  it('gives a recall server that answers while the agent runs', async () => {
    const place = prepare();
    const script = join(place.home, 'bin', 'claude');
    const asked = `
      const { mcpServers: { palimpsest: { url, headers } } } = JSON.parse(require('node:fs').readFileSync(process.argv[2].slice(13)));
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const all = { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      fetch(url, { method: 'POST', headers: all, body }).then(async (got) => console.log(got.status, await got.text()));`;
    writeFileSync(script, `#!${process.execPath}\n${asked}`);
    const { stdout } = await run(['--', 'claude'], place);
    expect(stdout).toMatch(/^200 [\s\S]*"name":"recall"/);
  });

  it.each([
    ['codex', /^-c openai_base_url="BASE\/v1" -c mcp_servers\.palimpsest\.url="BASE\/_palimpsest\/mcp" -c .* exec it$/],
    ['qwen', /^--mcp-config=\S+ exec it$/],
    ['opencode', /^exec it$/],
    ['pi', /^-e \S+pi-extension\.js exec it$/],
    ['gemini', /^exec it$/],
  ])('puts the set-up of %s before its own arguments', async (command, expected) => {
    const place = prepare();
    const ran = await run(['--port', '0', '--', command, 'exec', 'it'], place);
    const args = startOf(ran)
      .args.join(' ')
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'BASE');
    expect(args).toMatch(expected);
    expect(filesIn(place.home)).toEqual([]);
    expect(ran.stderr).toContain('no request came through the gateway');
  });

  it('tells the lines that only a file of the user can hold, and leaves the file alone', async () => {
    const place = prepare();
    mkdirSync(join(place.home, '.gemini'));
    const settings = join(place.home, '.gemini/settings.json');
    writeFileSync(settings, '{"ui":{"theme":"Default"}}');
    const ran = await run(['--', 'gemini'], place);
    expect(ran.stderr).toContain(`Add them to ${settings} once`);
    expect(ran.stderr).toContain('"selectedType": "gemini-api-key"');
    expect(ran.stderr).toContain(`"httpUrl": "\${PALIMPSEST_MCP_URL}"`);
    expect(readFileSync(settings, 'utf8')).toBe('{"ui":{"theme":"Default"}}');
    const mcpServers = { palimpsest: { httpUrl: `\${PALIMPSEST_MCP_URL}` } };
    writeFileSync(settings, JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, mcpServers }));
    expect((await run(['--', 'gemini'], place)).stderr).not.toContain('needs lines');
  });

  it('gives any other command all addresses, and says so', async () => {
    const ran = await run(['--', 'my-agent', '--help'], prepare());
    const { base, openai, gemini, args } = startOf(ran);
    expect([openai, gemini, args]).toEqual([`${base}/v1`, base, ['--help']]);
    expect(ran.stderr).toContain("'my-agent' is not an agent that palimpsest can set up");
  });

  it('sends requests on to the address that the environment has', async () => {
    const to = await upstream();
    const ran = await run(['--', 'claude'], prepare(), { TURNS: '1', ANTHROPIC_BASE_URL: `${to}/` });
    expect(startOf(ran).base).not.toContain(to);
    expect(ran.stderr).toContain('palimpsest: 1 request in 1 conversation');
    const odd = await run(['--', 'qwen'], prepare(), { OPENAI_BASE_URL: 'https://api.example/v4' });
    expect([odd.code, odd.stdout]).toEqual([2, '']);
    expect(odd.stderr).toContain("expected $OPENAI_BASE_URL to end in /v1 but found 'https://api.example/v4'");
  });

  it('answers the exit code of the command, and 128 and the number of a signal', async () => {
    const place = prepare();
    expect((await run(['--', 'claude'], place, { CODE: '41' })).code).toBe(41);
    expect((await run(['--', 'sh', '-c', 'kill -9 $$'], place)).code).toBe(137);
    const missing = await run(['--', 'no-such-agent'], place);
    expect([missing.code, missing.stderr]).toEqual([127, expect.stringContaining('there is no such command')]);
    // No request came through, and the reason is not the address in some settings.
    expect(missing.stderr).not.toContain('no request came');
  });

  it('runs beside another one on the same store, and says whose texts it keeps', async () => {
    const place = prepare();
    const to = await upstream();
    const args = ['--upstream', `anthropic=${to}`, '--policy', 'sliding-window:turns=2', '--'];
    const nested = [process.execPath, main, 'run', ...args, 'claude'];
    const ran = await run([...args, ...nested], place, { TURNS: '6' });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(
      'later     npx palimpsest recall <handle> --tenant run-2, npx palimpsest report --tenant run-2',
    );
    expect(readdirSync(join(place.home, '.palimpsest/store')).sort()).toEqual(['default', 'run-2']);
  });

  it('draws sessions like a run beside it, and keeps the arms of sessions that began there', async () => {
    const place = prepare();
    writeFileSync(join(place.home, 'bin', 'claude'), `#!${process.execPath}\n${TWENTY_SESSIONS}`);
    const to = await upstream();
    const own = [
      'run',
      '--holdout',
      '50%',
      '--upstream',
      `anthropic=${to}`,
      '--policy',
      'sliding-window:turns=1',
      '--',
    ];
    const again = [process.execPath, main, ...own].join(' ');
    // The inner runs are beside the outer one: sessions that begin in either go on in the other.
    const script = `claude a 0 && ${again} claude a 4 && ${again} claude b 0 && claude b 4 && ${again} claude b 5 fork && ${again} claude c 0`;
    expect((await run([...own.slice(1), 'sh', '-c', script], place)).code).toBe(0);
    const path = join(place.home, '.palimpsest/store');
    const [first, second] = [await armsIn(path, 'default'), await armsIn(path, 'run-2')];
    const key = readFileSync(join(path, 'default/secret'), 'utf8').slice(0, 64);
    const drawn = (name: string): (readonly [string, string])[] =>
      Array.from({ length: 20 }, (_, i) => sessionNames(`${name}${i}`, '').session).map(
        (session) => [session, `${drawArm(key, session, 0.5).arm} 0.5`] as const,
      );
    const report = spawnSync(process.execPath, [main, 'report', '--json'], { env: place.env, encoding: 'utf8' });
    const { justBegan, severalArms } = JSON.parse(report.stdout).leftOut;
    expect(justBegan + severalArms).toBe(60);
    for (const [name, began, wentOn] of [
      ['a', first, second],
      ['b', second, first],
    ] as const) {
      // Where the store was slow, a session is not drawn, and a request may be in no comparison.
      const compared = drawn(name).filter(([session]) => began.get(session)?.some((arm) => arm !== NOT_COMPARED));
      expect(new Set(compared.map(([, arm]) => arm))).toEqual(new Set(['held-out 0.5', 'treated 0.5']));
      for (const [session, arm] of compared)
        for (const arms of [began, wentOn])
          expect(new Set(arms.get(session)?.filter((one) => one !== NOT_COMPARED))).toEqual(new Set([arm]));
    }
  }, 60_000);

  it('does not start the command where the gateway cannot start', async () => {
    const place = prepare();
    const taken = await upstream();
    const ran = await run(['--port', new URL(taken).port, '--', 'claude'], place);
    expect([ran.code, ran.stdout]).toEqual([1, '']);
    const store = await run(['--store', join(place.home, 'bin/claude'), '--', 'claude'], place);
    expect([store.code, store.stdout]).toEqual([1, '']);
  });

  it.each([[[]], [['claude']], [['--']], [['--quiet']]])('refuses %j', async (args) => {
    const ran = await run(args, prepare());
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain('palimpsest run -- claude');
  });

  it('suggests the right name of an agent', async () => {
    const ran = await run(['--for', 'claud-code', '--', 'x'], prepare());
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('did you mean claude-code?')]);
    expect((await run(['--for', 'gemini', '--', 'x'], prepare())).stderr).toContain('did you mean gemini-cli?');
  });

  it('does not start the command after a signal, and leaves nothing behind', async () => {
    const place = prepare();
    const early = join(folder, 'signal-early.cjs');
    writeFileSync(
      early,
      `const fs = require('node:fs');
      const { mkdtempSync } = fs;
      fs.mkdtempSync = (prefix) => { process.kill(process.pid, 'SIGTERM'); return mkdtempSync(prefix); };
      require('node:module').syncBuiltinESMExports();`,
    );
    const ran = await run(['--', 'claude'], place, { NODE_OPTIONS: `--require ${early}` });
    expect([ran.code, filesIn(place.home)]).toEqual([143, []]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('hands %s on to the command, and ends with it', async (signal) => {
    const { home, env } = prepare();
    const child = spawn(process.execPath, [main, 'run', '--', 'claude'], { env: { ...env, THEN: 'wait' }, cwd: home });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const closed = once(child, 'close');
    await untilSaid(stdout, 'waiting');
    const { base } = JSON.parse(stdout().split('\n', 1)[0] ?? '');
    child.kill(signal);
    const [code] = await closed;
    expect(code).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[signal]);
    expect(stderr()).toContain('no request came through');
    await expect(fetch(`${base}/healthz`)).rejects.toThrow();
    expect(filesIn(home)).toEqual([]);
  });

  it.skipIf(!hasPython())(
    'gives the command the terminal; Ctrl-C reaches it once and ends all (needs python3)',
    async () => {
      const { home, env } = prepare();
      const counting = `
      let count = 0;
      process.on('SIGINT', () => { count += 1; setTimeout(() => { console.log('interrupted ' + count); process.exit(3); }, 300); });
      console.log('terminal ' + process.stdin.isTTY + ' ' + process.stdout.columns);
      setInterval(() => {}, 1000);`;
      writeFileSync(join(home, 'bin/claude'), `#!${process.execPath}\n${counting}`);
      const { status, stdout } = spawnSync(
        'python3',
        ['-c', IN_TERMINAL, process.execPath, main, 'run', '--', 'claude'],
        {
          env,
          cwd: home,
          encoding: 'utf8',
        },
      );
      expect(stdout).toContain('terminal true 97');
      expect(stdout).toContain('interrupted 1');
      expect(stdout).toContain('palimpsest: no request came through');
      expect(stdout).toMatch(/exit 3\nleft \[\]\n$/);
      expect(status).toBe(0);
    },
  );
});

/** Runs a command in a terminal of its own, types Ctrl-C, and tells which of its processes are left. */
const IN_TERMINAL = `
import fcntl, os, pty, select, struct, subprocess, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 97, 0, 0))
said, typed = b'', False
while True:
    try:
        chunk = os.read(fd, 4096)
    except OSError:
        break
    if not chunk:
        break
    said += chunk
    if b'terminal' in said and not typed:
        typed = True
        os.write(fd, b'\\x03')
_, status = os.waitpid(pid, 0)
print(said.decode().replace('\\r\\n', '\\n'))
print('exit', os.WEXITSTATUS(status))
left = subprocess.run(['ps', '-eo', 'sid=,pid='], capture_output=True, text=True).stdout.split('\\n')
print('left', [line for line in left if line.split()[:1] == [str(pid)]])
`;

function hasPython(): boolean {
  return spawnSync('python3', ['-c', 'import pty']).status === 0 && spawnSync('ps', ['--version']).status === 0;
}

async function untilSaid(said: () => string, word: string): Promise<void> {
  while (!said().includes(word)) await new Promise((resolve) => setTimeout(resolve, 20));
}
