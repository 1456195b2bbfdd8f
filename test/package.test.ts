import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
// @ts-expect-error: a script has no types.
import { packedIn, packLinks } from '../scripts/packed-links.js';
// @ts-expect-error: a script has no types.
import { reasonsAgainst } from '../scripts/release.js';
import { ensureBuilt, ROOT, readManifest, typeCheck } from './support/modules.ts';

/** A user's machine: an empty folder in which only our tarball was installed. */
let home: string;
let tarball: string;
const installed = (): string => join(home, 'node_modules/palimpsest');

beforeAll(async () => {
  await ensureBuilt();
  home = realpathSync(mkdtempSync(join(tmpdir(), 'palimpsest-package-')));
  const staged = stage();
  // Without its scripts: `prepare` would delete dist/. `prepack` was run by hand.
  const pack = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', home], { cwd: staged });
  tarball = join(home, JSON.parse(pack.stdout)[0].filename);
  writeLock();
  run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund']);
}, 120_000);

/** A copy of what is packed, with the links of the package: tests that run beside this one read the originals. */
function stage(): string {
  const staged = join(home, 'staged');
  const list = run('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: ROOT });
  const { files } = JSON.parse(list.stdout)[0] as { files: { path: string }[] };
  for (const { path } of files) cpSync(join(ROOT, path), join(staged, path), { recursive: true });
  run(process.execPath, [join(ROOT, 'scripts/packed-links.js')], { cwd: staged });
  return staged;
}

/** What an install without a lock would choose, from our own lock: so it is found in npm's cache. */
function writeLock(): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const needed = Object.entries<Locked>(packages).filter(
    ([path, { dev, devOptional, optional, peer }]) => path !== '' && !dev && !devOptional && !optional && !peer,
  );
  const { version, dependencies, bin } = packages[''];
  const spec = `file:${basename(tarball)}`;
  const root = { name: 'home', dependencies: { palimpsest: spec } };
  const palimpsest = { version, resolved: spec, dependencies, bin };
  const all = { '': root, 'node_modules/palimpsest': palimpsest, ...Object.fromEntries(needed) };
  writeFileSync(join(home, 'package.json'), JSON.stringify(root));
  writeFileSync(join(home, 'package-lock.json'), JSON.stringify({ name: 'home', lockfileVersion: 3, packages: all }));
}

interface Locked {
  readonly dev?: true;
  readonly devOptional?: true;
  readonly optional?: true;
  readonly peer?: true;
}

afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Without what `npm test` tells its children: an npm below it would take the repository for its own. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || /^npm_config_cache$/i.test(name)),
);

interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
}

function run(command: string, args: readonly string[], { cwd = home, input = '' }: RunOptions = {}) {
  const found = spawnSync(command, args, { cwd, input, env, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (found.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${found.stdout}${found.stderr}`);
  return found;
}

/** A run of `turns` turns whose results have 2,000 characters each. */
const history = (turns: number) => [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: 'Fix the test.' },
  ...Array.from({ length: turns }, (_, i) => [
    { role: 'assistant', content: null, tool_calls: [call(`call_${i}`)] },
    { role: 'tool', tool_call_id: `call_${i}`, content: `line ${i}\n`.repeat(250).slice(0, 2000) },
  ]).flat(),
];
const call = (id: string) => ({ id, type: 'function', function: { name: 'bash', arguments: '{"command":"make"}' } });

describe('the tarball', () => {
  const files = (): string[] =>
    readdirSync(installed(), { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(installed(), name)).isFile(),
    );

  it('is below 1.35 MB, its docs included', () => {
    expect(statSync(tarball).size).toBeLessThan(1_350_000);
  });

  it('holds no sources and no tests, but examples', () => {
    const strangers = files()
      .filter((name) => !/^examples\/[\w/-]+\.ts$/.test(name))
      .filter((name) => /(?<!\.d)\.ts$|\.map$|\.test[.-]|^(?:src|test|bench|scripts|web)\b/.test(name));
    expect(strangers).toEqual([]);
  });

  it('has no link that leads nowhere', () => {
    const pages = files().filter((name) => name.endsWith('.md'));
    const links = pages.flatMap((page) => linksIn(page));
    expect(links.length).toBeGreaterThan(500);
    expect(links.filter(({ page, target }) => !existsSync(join(installed(), dirname(page), target)))).toEqual([]);
  });

  const linksIn = (page: string) =>
    Array.from(
      readFileSync(join(installed(), page), 'utf8')
        .replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '')
        .matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g),
      ([, target = '']) => ({ page, target }),
    );

  it('is right by the rules of publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed(), pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('has types that resolve as its modules do, wherever modules of this kind can be imported', async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
    if (!result.types) throw new Error('Expected types');
    // Not node10, which knows no `exports`, and not `require` from CommonJS: the package has modules only.
    const isOurs = ({ resolutionKind }: { resolutionKind?: string }): boolean =>
      resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs';
    expect(result.problems.filter((problem) => isOurs(problem as { resolutionKind?: string }))).toEqual([]);
  });

  it('could be published: npm has no complaint', () => {
    const dryRun = spawnSync('npm', ['publish', '--dry-run', '--ignore-scripts', '--json', '--offline'], {
      cwd: join(home, 'staged'),
      env,
      encoding: 'utf8',
    });
    const complaints = dryRun.stderr.split('\n').filter((line) => /^npm (?:warn publish|error)/.test(line));
    // npm once took back the command of the package here, as its path began with `./`.
    expect(complaints.filter((line) => !line.includes('requires you to be logged in'))).toEqual([]);
    expect(dryRun.status).toBe(0);
  });

  it('prints its sizes beside their budgets', () => {
    const unpacked = files().reduce((sum, name) => sum + statSync(join(installed(), name)).size, 0);
    const kB = (bytes: number): string => `${Math.round(bytes / 1000).toLocaleString('en-US')} kB`;
    console.log(
      `tarball ${kB(statSync(tarball).size)} of 1,350 kB; unpacked ${kB(unpacked)} in ${files().length} files`,
    );
    expect(unpacked).toBeLessThan(4_500_000);
  });

  it('holds no types that no door leads to', () => {
    expect(files().filter((name) => /^dist\/cli\/.*\.d\.ts$/.test(name))).toEqual([]);
  });

  it('holds the licence', () => {
    expect(files()).toContain('LICENSE');
  });

  it('names no place on the machine on which it was made', () => {
    const places = [ROOT.replace(/\/$/, ''), homedir(), tmpdir()].filter((place) => place.length > 1);
    // Not the end of another path: `~/.gemini/tmp/` is none of ours.
    const patterns = places.map((place) => new RegExp(`(?<![\\w.~-])${place}/`));
    const naming = files().filter((name) => {
      const text = readFileSync(join(installed(), name), 'utf8');
      return patterns.some((pattern) => pattern.test(text));
    });
    expect(naming).toEqual([]);
  });

  it('brings along what gateway, MCP server, sessions and configuration need, and nothing else', () => {
    // Each has a line in docs/decisions.
    const needed = ['@modelcontextprotocol/node', '@modelcontextprotocol/server', 'undici', 'yaml', 'zod'];
    expect(Object.keys(readManifest().dependencies ?? {}).sort()).toEqual(needed);
  });
});

describe('links of the package', () => {
  const isPacked = packedIn(['docs/a.md', 'docs/b.md', 'dist/plan/fit.js', 'README.md']);

  it('lead to the compiled file in place of the source, and to nothing where the target is not packed', () => {
    const text = [
      '[`fit.ts`](../src/plan/fit.ts#L3), [plan](../src/plan/), [b](b.md#x), [up](../README.md), [out](https://x.y/src/a.ts)',
      '[a test](../test/a.test.ts) and ![a picture](picture.png)',
      '```md',
      '[in a block](../src/plan/fit.ts)',
      '```',
      '[last](../src/plan/fit.ts)',
    ].join('\n');
    expect(packLinks(text, 'docs/a.md', isPacked).split('\n')).toEqual([
      '[`fit.ts`](../dist/plan/fit.js#L3), [plan](../dist/plan), [b](b.md#x), [up](../README.md), [out](https://x.y/src/a.ts)',
      'a test and a picture',
      '```md',
      '[in a block](../src/plan/fit.ts)',
      '```',
      '[last](../dist/plan/fit.js)',
    ]);
  });
});

describe('a release', () => {
  const ready = {
    manifest: { version: '1.0.0', repository: { url: 'git+https://host.example/me/palimpsest.git' } },
    security: 'Contact: mailto:security@host.example',
    changelog: '## 1.0.0\n\n- All.',
    isClean: true,
  };

  it('is refused without an address of the repository, a contact for security, a section of the changelog, or with changes', () => {
    expect(reasonsAgainst(ready)).toEqual([]);
    const nothing = { manifest: { version: '1.0.0' }, security: '', changelog: '## Unreleased', isClean: false };
    expect(reasonsAgainst(nothing)).toEqual([
      expect.stringContaining('no repository address'),
      expect.stringContaining('no contact'),
      'CHANGELOG.md has no section "## 1.0.0"',
      'there are changes that are not committed',
    ]);
  });

  it('is refused as things are: no address is known yet', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/release.js', '--dry-run'], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining('no repository address')]);
    expect(stderr).toContain('no contact');
  });
});

describe('from JavaScript', () => {
  it('a gateway works without OpenTelemetry, and says nothing about it', () => {
    expect(readdirSync(join(home, 'node_modules'))).not.toContain('@opentelemetry');
    const program =
      "import { createGateway } from 'palimpsest/gateway'; await createGateway({ log: console.log }).close(); console.log('done');";
    expect(run('node', ['--input-type=module', '--eval', program]).stdout).toBe('done\n');
  });

  it('every door opens', () => {
    const script = `
      import assert from 'node:assert/strict';
      import { fit, PalimpsestError, slidingWindow } from 'palimpsest';
      import { fit as fitCore } from 'palimpsest/core';
      import { anthropic, chat, detectFormat, openaiChat } from 'palimpsest/formats';
      import { countTokens, estimateTokens, o200k } from 'palimpsest/tokens';
      import { createMemoryStore, recall } from 'palimpsest/store';
      import { createPostgresStore } from 'palimpsest/store/postgres';
      import { adapterConformance, storeConformance } from 'palimpsest/testing';
      import { ContextManager, openSession } from 'palimpsest/manager';
      import { fromUrl } from 'palimpsest/models';
      import { palimpsest } from 'palimpsest/ai-sdk';
      import { palimpsest as anthropicSdk } from 'palimpsest/anthropic';
      import { palimpsest as openai } from 'palimpsest/openai';
      import { palimpsest as forAgents } from 'palimpsest/openai-agents';
      import { palimpsest as pi } from 'palimpsest/pi';
      import { palimpsest as mastra } from 'palimpsest/mastra';
      import { palimpsest as google } from 'palimpsest/google';
      import { palimpsest as strands } from 'palimpsest/strands';
      import { createGateway } from 'palimpsest/gateway';
      import { createMcpServer } from 'palimpsest/mcp';
      import { replay } from 'palimpsest/lab';
      import schema from 'palimpsest/palimpsest.schema.json' with { type: 'json' };
      import manifest from 'palimpsest/package.json' with { type: 'json' };

      const history = ${JSON.stringify(history(12))};
      const { messages, report, hidden } = fit(history, { policy: slidingWindow({ turns: 2 }), recall: true });
      assert.equal(messages.length, history.length);
      assert.equal(report.maskedCount, 10);
      assert.equal(hidden[0].text, history[3].content);
      assert.ok(messages[3].content.includes(hidden[0].handle));
      assert.ok(report.tokens.after < report.tokens.before / 2);

      const small = fitCore(history, { format: openaiChat, policy: slidingWindow({ turns: 2 }), recall: true });
      assert.deepEqual(small.messages, messages);
      assert.throws(() => fitCore(history, { format: 'chat' }), (error) => error.code === 'BAD_OPTION');

      assert.equal(detectFormat(history), 'openai-chat');
      assert.equal(anthropic.name, 'anthropic');
      assert.equal(estimateTokens('x'.repeat(400)), 100);
      assert.ok(countTokens('to be or not to be') > 3);
      assert.throws(() => o200k('x'), (error) => error instanceof PalimpsestError && error.code === 'MISSING_PEER');

      const store = createMemoryStore();
      const handle = await store.put(hidden[0].text, { session: 's' });
      assert.equal(handle, hidden[0].handle);
      assert.equal((await recall(store, handle, { grep: '^LINE', ignoreCase: true, head: 1 })).text, '1:line 0');
      assert.throws(() => createPostgresStore({}), (error) => error.code === 'BAD_OPTION');
      const suites = [];
      const describe = (name) => suites.push(name);
      storeConformance({ describe, it() {}, expect() {} }, { name: 'mine', open: async () => store });
      assert.ok(suites.length > 5);
      adapterConformance({ describe, it() {}, expect() {} }, { name: 'adapter', format: chat });
      assert.ok(suites.at(-1).startsWith('adapter: '));
      // No framework is installed here.
      assert.deepEqual([typeof pi({ store }), pi.tools({ store })[0].name], ['function', 'recall']);
      assert.deepEqual([mastra({ store }).id, mastra.tools({ store }).recall.id], ['palimpsest', 'recall']);
      // LangChain's tools have to be instances of its own classes.
      await assert.rejects(import('palimpsest/langchain'), /Cannot find package '@langchain.core'/);
      const { transformParams } = palimpsest.middleware({ store, policy: slidingWindow({ turns: 0 }) });
      const call = { toolCallId: 'c', toolName: 'read' };
      const prompt = [
        { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
        { role: 'assistant', content: [{ type: 'tool-call', ...call, input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value: 'line '.repeat(500) } }] },
      ];
      const params = await transformParams({ params: { prompt }, model: { modelId: 'gpt-5' } });
      assert.match(params.prompt[2].content[0].output.value, /p_[a-z2-7]{26}/);
      // Nor are the SDKs of the providers.
      let body;
      const keepBody = async (_url, init) => ((body = init.body), new Response());
      const chat12 = { method: 'POST', body: JSON.stringify({ messages: history }) };
      await openai.fetch({ store, policy: slidingWindow({ turns: 2 }), fetch: keepBody })('https://x/chat/completions', chat12);
      assert.equal(JSON.parse(body).messages[3].content.includes(handle), true);
      const ask = { url: 'https://x/v1/messages', headers: new Headers(), body: JSON.stringify({ messages: [prompt[0]] }) };
      await anthropicSdk({ store })(ask, (request) => keepBody('', request), { logger: console });
      assert.equal(body, ask.body);
      const input = [
        { role: 'user', content: 'Go.' },
        { type: 'function_call', callId: 'c', name: 'read', arguments: '{}', status: 'completed' },
        { type: 'function_call_result', callId: 'c', name: 'read', status: 'completed', output: 'line '.repeat(500) },
      ];
      const filter = forAgents({ store, policy: slidingWindow({ turns: 0 }) });
      const modelData = await filter({ modelData: { input }, agent: { name: 'A' }, context: undefined });
      assert.match(modelData.input[2].output, /p_[a-z2-7]{26}/);
      const contents = [
        { role: 'user', parts: [{ text: 'Go.' }] },
        { role: 'model', parts: [{ functionCall: { name: 'read' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: 'line '.repeat(500) } } }] },
      ];
      const generate = { method: 'POST', body: JSON.stringify({ contents }) };
      const fetchFitted = google.fetch({ store, policy: slidingWindow({ turns: 0 }), fetch: keepBody });
      await fetchFitted('https://x/models/gemini-3-pro:generateContent', generate);
      assert.match(body, /p_[a-z2-7]{26}/);
      assert.deepEqual([typeof strands({ store }), strands.recall({ store }).name], ['function', 'recall']);
      const manager = new ContextManager({ contextLimit: 1000 });
      manager.recordUsage({ prompt_tokens: 750, completion_tokens: 10 });
      assert.equal(manager.evaluate().type, 'mask');
      const session = await openSession({ directory: 'sessions', id: 'one' });
      await session.add({ role: 'user', content: 'Fix the test.' });
      await session.close();
      const gateway = createGateway({ store });
      await gateway.close();
      await createMcpServer({ store }).close();
      assert.deepEqual([typeof fromUrl, typeof replay, typeof schema.properties.session], ['function', 'function', 'object']);
      assert.equal(manifest.name, 'palimpsest');
      console.log(Object.keys(manifest.exports).join(' '));
    `;
    writeFileSync(join(home, 'doors.mjs'), script);
    const { stdout, stderr } = run(process.execPath, ['--disable-warning=ExperimentalWarning', 'doors.mjs']);
    expect(stderr).toBe('');
    const pure = ['.', './core', './formats', './tokens', './lab', './store', './store/postgres', './testing'];
    const adapters = [
      './ai-sdk',
      './anthropic',
      './openai',
      './openai-agents',
      './pi',
      './mastra',
      './google',
      './strands',
      './langchain',
    ];
    const running = ['./manager', './models', ...adapters, './gateway', './mcp'];
    const data = ['./palimpsest.schema.json', './package.json'];
    expect(stdout.trim().split(' ')).toEqual([...pure, ...running, ...data]);
  });

  it('what is no door stays shut', () => {
    const script = "import('palimpsest/dist/plan/fit.js').catch((error) => console.log(error.code))";
    const { stdout } = run(process.execPath, ['--input-type=module', '-e', script]);
    expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n');
  });

  it('a CommonJS program can require it', ({ skip }) => {
    skip(!process.features.require_module, 'this Node cannot require ES modules');
    const { stdout } = run(process.execPath, ['-e', "console.log(typeof require('palimpsest').fit)"]);
    expect(stdout).toBe('function\n');
  });
});

describe.each([
  ['nodenext', { module: 'nodenext', moduleResolution: 'nodenext' }],
  ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
])('from TypeScript, as %s resolves modules', (name, resolution) => {
  const folder = (): string => join(home, name);

  beforeAll(() => {
    mkdirSync(folder());
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    const others = { noEmit: true, skipLibCheck: false, target: 'es2022', lib: ['es2022'], types: [] };
    const compilerOptions = { ...resolution, ...strict, ...others };
    // What serves and keeps sessions speaks of sockets and signals, and the MCP SDK has types of its own.
    const onNode = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')], skipLibCheck: true };
    for (const [file, text] of [
      ['package.json', JSON.stringify({ type: 'module' })],
      ['consumer.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] })],
      ['mistakes.json', JSON.stringify({ compilerOptions, files: ['mistakes.ts'] })],
      ['server.json', JSON.stringify({ compilerOptions: { ...compilerOptions, ...onNode }, files: ['server.ts'] })],
      ['consumer.ts', CONSUMER],
      ['server.ts', SERVER],
      ['mistakes.ts', MISTAKES.map(([line]) => line).join('\n')],
    ] as const)
      writeFileSync(join(folder(), file), text);
  });

  it('a program that uses the API compiles', () => {
    expect(typeCheck(folder(), 'consumer.json')).toEqual({ status: 0, output: '' });
  });

  it('a program that serves and keeps sessions compiles', () => {
    expect(typeCheck(folder(), 'server.json')).toEqual({ status: 0, output: '' });
  });

  it('a program with mistakes does not, and each is reported', () => {
    const { status, output } = typeCheck(folder(), 'mistakes.json');
    expect(status).not.toBe(0);
    const reported = [...output.matchAll(/^mistakes\.ts\((\d+),\d+\): error (TS\d+)/gm)].map(([, line, code]) => [
      line,
      code,
    ]);
    const expected = MISTAKES.flatMap(([, code], index) => (code ? [[String(index + 1), code]] : []));
    expect(reported).toEqual(expected);
  });
});

const SERVER = `
import { createServer } from 'node:http';
import { type AnthropicMessage, anthropic, type ChatMessage } from 'palimpsest';
import { createGateway, type Gateway, type Receipt } from 'palimpsest/gateway';
import { ContextManager, defineTool, openSession, type Reply, renderWithBudget, runAgent, type Session } from 'palimpsest/manager';
import { createMcpServer } from 'palimpsest/mcp';
import { fromUrl } from 'palimpsest/models';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const session: Session<ChatMessage> = await openSession({ directory: 'sessions', id: 'one', store });
const inFormat: Session<AnthropicMessage> = await openSession({ directory: 'sessions', id: 'two', format: anthropic });
const named: Session<ChatMessage> = await openSession({ directory: 'sessions', id: 'three', format: 'chat' });
const action = new ContextManager<ChatMessage>({ session, softThreshold: 0.7 }).evaluate();
if (action.type === 'wind-down') console.log(action.notice);
const rendered = renderWithBudget(session.messages(), { model: 'gpt-5', maxHistoryTokens: 0 });
const count: number = rendered.omitted + rendered.messages.length;
const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  run: async () => 'text',
});
const model = async (): Promise<Reply<ChatMessage>> => ({ messages: [], calls: [], text: String(count) });
const result = await runAgent({ model, tools: [read], task: 'Fix the test.' });
const status: string = result.status;
const local = fromUrl({ baseURL: 'http://127.0.0.1:11434/v1', model: 'llama3.2' });
const gateway: Gateway = createGateway({ store });
createServer(gateway);
const cost = (receipt: Receipt): number => receipt.cost.without - receipt.cost.sent;
export { cost, createMcpServer, inFormat, local, named, status };
`;

const CONSUMER = `
import {
  anthropic, type ChatMessage, clearToolUses, countTokens, createPlanner, type Counter, firstAndLast, fit, type FitOptions,
  type FitResult, graduated, HistoryReducer, type HistoryReductionResult, hybrid, never, oldestBatch, openaiChat,
  PalimpsestError, type Placeholder, type Plan, type Planner, type Policy, polling, protectTokens, type Report,
  slidingWindow, stateless,
} from 'palimpsest';
import { aiSdk, chat, detectFormat, gemini, langchain, openaiAgents, openaiResponses } from 'palimpsest/formats';
import { estimateTokens, o200k } from 'palimpsest/tokens';
import {
  createMemoryStore, type Match, openStore, type Recalled, type RecallInput, recall, recallTool, type Store, type Stored,
} from 'palimpsest/store';
import { createPostgresStore, type PostgresPool } from 'palimpsest/store/postgres';
import { storeConformance, type TestFunctions } from 'palimpsest/testing';

// Each provider's messages as its users write them: unions of interfaces, with optional and unknown fields.
interface OpenAISystem { role: 'system' | 'developer'; content: string }
interface OpenAIUser { role: 'user'; content: string | { type: 'text'; text: string }[] }
interface OpenAICall { id: string; type: 'function'; function: { name: string; arguments: string } }
interface OpenAIAssistant { role: 'assistant'; content?: string | null; tool_calls?: OpenAICall[]; refusal?: string | null }
interface OpenAITool { role: 'tool'; tool_call_id: string; content: string | { type: 'text'; text: string }[] }
type OpenAIMessage = OpenAISystem | OpenAIUser | OpenAIAssistant | OpenAITool;

type AnthropicBlock =
  | { type: 'text'; text: string; cache_control?: { type: 'ephemeral'; ttl?: '5m' | '1h' } | null }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'tool_result'; tool_use_id: string; content?: string | { type: 'text'; text: string }[]; is_error?: boolean };
interface AnthropicParam { role: 'user' | 'assistant'; content: string | AnthropicBlock[] }

interface ResponseItem { type: 'message'; role: 'user' | 'assistant'; content: string }
interface ResponseCall { type: 'function_call'; call_id: string; name: string; arguments: string; id?: string }
interface ResponseOutput { type: 'function_call_output'; call_id: string; output: string }
type ResponseInput = ResponseItem | ResponseCall | ResponseOutput;

interface GeminiPart {
  text?: string;
  functionCall?: { name?: string; args?: Record<string, unknown> };
  functionResponse?: { name?: string; response?: Record<string, unknown> };
  thoughtSignature?: string;
}
interface GeminiContentParam { role?: string; parts?: GeminiPart[] }

type AiSdkParam =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string | ({ type: 'text'; text: string } | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown })[] }
  | { role: 'tool'; content: { type: 'tool-result'; toolCallId: string; toolName: string; output: { type: 'text'; value: string } }[] };

declare class BaseMessage { content: string; getType(): string }
type AgentItem =
  | { type: 'function_call'; callId: string; name: string; arguments: string; status: 'completed' }
  | { type: 'function_call_result'; callId: string; name: string; status: 'completed'; output: { type: 'text'; text: string } };

declare const given: {
  readonly openai: OpenAIMessage[];
  readonly anthropic: readonly AnthropicParam[];
  readonly responses: ResponseInput[];
  readonly gemini: GeminiContentParam[];
  readonly aiSdk: AiSdkParam[];
  readonly langchain: BaseMessage[];
  readonly agents: AgentItem[];
  readonly chat: ChatMessage[];
};

// The same kind comes out as went in.
const openai: OpenAIMessage[] = fit(given.openai, { maxTokens: 150_000 }).messages;
const claude: AnthropicParam[] = fit(given.anthropic, { format: anthropic, system: 'Be brief.', tools: [{ name: 'bash' }], model: 'claude-sonnet-5' }).messages;
const responses: ResponseInput[] = fit(given.responses, { format: openaiResponses }).messages;
const contents: GeminiContentParam[] = fit(given.gemini, { format: gemini }).messages;
const prompt: AiSdkParam[] = fit(given.aiSdk, { format: aiSdk }).messages;
const chain: BaseMessage[] = fit(given.langchain, { format: langchain }).messages;
const agents: AgentItem[] = fit(given.agents, { format: openaiAgents }).messages;
const neutral: ChatMessage[] = fit(given.chat, { format: 'chat' }).messages;
const lengths: number[] = [openai, claude, responses, contents, prompt, chain, agents, neutral].map((list) => list.length);

// Policies, with the options that all share and with their own.
const placeholder: Placeholder = ({ tool, text, turn }) => \`[\${tool ?? 'result'} of turn \${turn}: \${text.length} chars]\`;
const policies: Policy[] = [
  slidingWindow({ turns: 10, placeholder: '[gone]' }),
  polling({ turns: 10, every: 5, keepTools: ['read_file'] }),
  firstAndLast({ keepFirst: 2, keepLast: 5, keepErrors: true }),
  oldestBatch({ count: 3, window: 4, placeholder }),
  protectTokens({ protect: 40_000, atLeast: 20_000, minTokens: 200 }),
  clearToolUses({ trigger: 100_000, keep: 3, clearAtLeast: 5000, excludeTools: ['memory'] }),
  hybrid({ window: 10, summarizeEvery: 43 }),
  graduated({ maxInputChars: 40_000 }),
  never(),
];
const own: Policy = stateless(({ observations, turns, maskable }) =>
  observations.filter((result) => result.tokens > 500 && turns - result.turn >= 3 && maskable(result)),
);
const counting: Policy<number> = {
  init: () => 0,
  step: (seen, request) => ({
    state: Math.max(seen, request.turns),
    mask: request.observations.slice(0, -3).map((result) => result.segment),
    because: { act: 'mask', because: 'older than three results', seen },
  }),
};

const counter: Counter = (text) => Math.ceil(text.length / 4);
const options: FitOptions = { maxTokens: 1000, counter, recall: true, boundThinking: 'keep', contextWindows: { mine: 8000 } };
const result: FitResult<OpenAIMessage> = fit(given.openai, { ...options, policy: own });
const plan: Plan = result.plan;
for (const edit of plan.edits) if (edit.kind === 'replace') estimateTokens(edit.text);
const report: Report = result.report;
const stage: string | undefined = report.reductionStage;
const needs: string[] = report.requires.map((need) => \`\${need.header}: \${need.headerValue}\`);
const handles: string[] = fit(given.openai, { policy: counting as Policy }).hidden.map((hidden) => hidden.handle ?? '');

const planner: Planner<OpenAIMessage> = createPlanner({ format: openaiChat, policy: policies[0] ?? never() });
const { edits } = planner.add(...given.openai);
const sent: OpenAIMessage[] = planner.messages();
const byName: Planner<AnthropicParam> = createPlanner<AnthropicParam>({ format: 'anthropic' });

const reduced: HistoryReductionResult = new HistoryReducer().reduce(given.chat, { maxInputChars: 20_000, preserveRecentRawTurns: 4 });
const neutralAgain: ChatMessage[] = reduced.messages;

try {
  fit(given.openai, { maxTokens: 1 });
} catch (error) {
  if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') countTokens(error.message);
}
declare const pool: PostgresPool;
const stores: Store[] = [createMemoryStore(), createPostgresStore({ pool, tenant: 'me' }), await openStore({ path: 'x', mode: 'read' })];
const [handle = ''] = await createMemoryStore().putMany([{ text: 'x', about: { session: 's', turn: 1, tool: 'bash' } }]);
const recalled: Recalled = await recall(createMemoryStore(), handle, { lines: [1, 3], grep: 'x', context: 2 });
// As the tool types of frameworks ask for it.
interface FunctionTool {
  name: string;
  description: string;
  parameters: { type: 'object'; properties: Record<string, { type?: string | string[] }>; required: string[]; additionalProperties: false };
  execute: (input: RecallInput, options: { toolCallId: string }) => Promise<unknown>;
}
const tool: FunctionTool = recallTool(createMemoryStore());
const texts: Stored[] = [];
for (const store of stores) for await (const stored of store.list('s')) texts.push(stored);
const matches: Match[] = [];
for await (const match of createMemoryStore().search('x', { regex: true, limit: 3 })) matches.push(match);
declare const runner: TestFunctions;
storeConformance(runner, { name: 'mine', open: async (tenant) => createMemoryStore(tenant === undefined ? {} : { tenant }) });
const detected: 'anthropic' | string | undefined = detectFormat(given.openai);
const violations: string[] = chat.check(given.chat).map((violation) => violation.text);
export default [lengths, stage, needs, handles, edits, sent, byName, neutralAgain, detected, violations, o200k, recalled.text, matches, tool];
`;

/** Each line, with the error that it must give. */
const MISTAKES: readonly (readonly [line: string, code?: string])[] = [
  ["import { createPlanner, fit, HistoryReducer, type Policy, slidingWindow, stateless } from 'palimpsest';"],
  ["import { nothing } from 'palimpsest/formats';", 'TS2305'],
  ["import { houseStyle } from 'palimpsest/plan/placeholder.js';", 'TS2307'],
  ["const history = [{ role: 'user', content: 'x' }];"],
  ["fit(history, { policy: slidingWindow({ turns: 'ten' }) });", 'TS2322'],
  ['fit(history, { policy: slidingWindow({ window: 10 }) });', 'TS2353'],
  ["fit(history, { policy: 'sliding-window' });", 'TS2322'],
  ["fit(history, { format: 'openai-chats' });", 'TS2820'],
  ["fit(history, { maxTokens: '1000' });", 'TS2322'],
  ['fit(history, { maxTokens: undefined });', 'TS2379'],
  ["fit('a text');", 'TS2345'],
  ['fit(history).messages[0]?.content.toFixed();', 'TS2551'],
  ['createPlanner({ maxTokens: 1000 });', 'TS2741'],
  ['new HistoryReducer().reduce([], {});', 'TS2741'],
  ["new HistoryReducer().reduce(['a text'], { maxInputChars: 1 });", 'TS2322'],
  ['stateless(() => [1]);', 'TS2322'],
  ['export const policy: Policy = { init: () => 0 };', 'TS2741'],
  ['fit(history).report.tokens.before = 0;', 'TS2540'],
];

describe('the program', () => {
  const bin = (): string => join(home, 'node_modules/.bin/palimpsest');
  const shell = (command: string, input: string) =>
    spawnSync('sh', ['-c', command], { cwd: home, input, encoding: 'utf8' });

  it('tells how it is called', () => {
    expect(run(bin(), ['fit', '--help']).stdout).toContain('Usage: palimpsest fit [file] [options]');
    const { version } = JSON.parse(readFileSync(join(installed(), 'package.json'), 'utf8'));
    expect(run('npx', ['--no-install', 'palimpsest', '--version']).stdout).toBe(`${version}\n`);
  });

  it('fits a history from a pipe', () => {
    const { stdout, stderr } = run(bin(), ['fit', '--policy', 'sliding-window:turns=2', '--report'], {
      input: JSON.stringify(history(12)),
    });
    const messages: { content: string }[] = JSON.parse(stdout);
    expect(messages).toHaveLength(26);
    expect(messages[3]?.content).toBe('[Observation omitted for brevity]');
    expect(messages[25]?.content).toHaveLength(2000);
    expect(stderr).toContain('10 results masked');
  });

  it('fits the sample that comes with it', () => {
    const sample = join(installed(), 'examples/sample-history.json');
    const { stdout } = run(bin(), ['fit', sample, '--policy', 'polling:turns=4,every=4', '--show']);
    expect(stdout).toContain('results masked');
  });

  it('says nothing when its reader has seen enough', () => {
    const { stdout, stderr } = shell(`"${bin()}" fit | head -c 10`, JSON.stringify(history(2000)));
    expect({ stdout: stdout.length, stderr }).toEqual({ stdout: 10, stderr: '' });
  });

  it('answers a user’s mistake with a sentence and an exit code, never a stack trace', () => {
    for (const [command, input, status] of [
      ['fit', 'not json', 1],
      ['fit', '{"no": "list"}', 1],
      ['fit nowhere.json', '', 1],
      ['fit --max-tokens 1', JSON.stringify(history(3)), 1],
      ['fit --max-tokens none', '[]', 2],
      ['fit --policy sliding', '[]', 2],
      ['fit --polisy never', '[]', 2],
      ['fits', '', 2],
      ['', '', 2],
    ] as const) {
      const found = shell(`"${bin()}" ${command}`, input);
      expect({ command, status: found.status, trace: /^\s+at /m.exec(found.stderr)?.[0] }).toEqual({ command, status });
      expect(found.stderr).toMatch(/^palimpsest/);
      expect(found.stdout).toBe('');
    }
  });
});
