import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { history, prose } from '../../test/support/chat.ts';
import { fit, slidingWindow } from '../index.ts';
import { listMasked } from '../mcp/list-masked.ts';
import { handleOf } from '../store/handle.ts';
import { openStore } from '../store/open-store.ts';
import type { Io } from './io.ts';
import { run } from './run.ts';

interface Given {
  readonly stdin?: string | readonly (string | Uint8Array)[];
  readonly files?: Readonly<Record<string, string>>;
}

/** Runs `palimpsest fit` in memory. */
async function fitted(args: readonly string[], { stdin, files = {} }: Given = {}) {
  const written = { stdout: '', stderr: '' };
  const io: Io = {
    stdin: stdin === undefined ? undefined : streamOf(typeof stdin === 'string' ? [stdin] : stdin),
    stdout: (text) => {
      written.stdout += text;
    },
    stderr: (text) => {
      written.stderr += text;
    },
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error(), { code: 'ENOENT' });
      return text;
    },
    color: false,
    columns: 100,
    writeFile: async () => {},
    isTerminal: false,
  };
  return { code: await run(['fit', ...args], io), ...written };
}

async function* streamOf(chunks: readonly (string | Uint8Array)[]): AsyncIterable<string | Uint8Array> {
  yield* chunks;
}

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-fit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const messages = history(6);
const list = JSON.stringify(messages);
const expected = fit(messages, { policy: slidingWindow({ turns: 2 }) }).messages;
const POLICY = ['--policy', 'sliding-window:turns=2'];

describe('palimpsest fit', () => {
  it('reads a list on standard input and writes the fitted one', async () => {
    const { code, stdout, stderr } = await fitted(POLICY, { stdin: list });
    expect([code, stderr, JSON.parse(stdout)]).toEqual([0, '', expected]);
    expect(stdout.endsWith('\n')).toBe(true);
  });
  it('keeps long numbers, such as an id in a call, to the digit', async () => {
    const call = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 't', name: 'send', input: { channel: 'ID' } }],
    };
    const body = { seed: 'ID', messages: [{ role: 'user', content: 'x' }, call] };
    const stdin = JSON.stringify(body).replaceAll('"ID"', '1234567890123456789');
    expect((await fitted(POLICY, { stdin })).stdout.replace(/\s+/g, '')).toBe(stdin);
  });
  it('reads a file, and - is standard input', async () => {
    const file = await fitted(['history.json', ...POLICY], { files: { 'history.json': list } });
    const dash = await fitted([...POLICY, '-'], { stdin: list });
    expect([JSON.parse(file.stdout), JSON.parse(dash.stdout)]).toEqual([expected, expected]);
  });
  it('reads bytes that are cut anywhere, also through a character', async () => {
    const bytes = new TextEncoder().encode(JSON.stringify([{ role: 'user', content: 'naïve 漢字 😀' }]));
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    const { stdout } = await fitted([], { stdin: chunks });
    expect(JSON.parse(stdout)).toEqual([{ role: 'user', content: 'naïve 漢字 😀' }]);
  });
  it('writes a list that needs nothing as it came', async () => {
    const { code, stdout } = await fitted([], { stdin: list });
    expect([code, JSON.parse(stdout)]).toEqual([0, messages]);
  });
  it('takes a budget', async () => {
    const { stdout } = await fitted(['--max-tokens', '600'], { stdin: list });
    expect(JSON.parse(stdout)).toEqual(fit(messages, { maxTokens: 600 }).messages);
  });
  it('takes the window of a model for a budget', async () => {
    const huge = JSON.stringify(history(4, 300_000));
    const { code, stdout } = await fitted(['--model', 'gpt-4o'], { stdin: huge });
    expect([code, fit(JSON.parse(stdout)).report.tokens.before <= 128_000]).toEqual([0, true]);
  });
  it('shows handles with --recall', async () => {
    const { stdout } = await fitted([...POLICY, '--recall'], { stdin: list });
    expect(JSON.parse(stdout)[3].content).toContain(handleOf(messages[3]?.content as string));
  });
  it('--store keeps what it hides, so that the handles it writes can be recalled', async () => {
    const { code, stdout, stderr } = await fitted([...POLICY, '--store', join(folder, 'kept')], { stdin: list });
    expect([code, stderr]).toEqual([0, '']);
    const handles = stdout.match(/p_[a-z2-7]{26}/g) ?? [];
    expect(handles.length).toBeGreaterThan(0);
    const store = await openStore({ path: join(folder, 'kept'), mode: 'read' });
    for (const handle of handles) {
      const stored = await store.get(handle);
      expect(messages.map(({ content }) => content)).toContain(stored?.text);
    }
    await store.close();
  });
  it('--store keeps it under a session, so that an agent can list it by any of its handles', async () => {
    const path = join(folder, 'listed');
    const listed = async (args: readonly string[], stdin: string): Promise<string> => {
      const { stdout } = await fitted([...POLICY, '--store', path, ...args], { stdin });
      const [handle = ''] = stdout.match(/p_[a-z2-7]{26}/) ?? [];
      const store = await openStore({ path, mode: 'read' });
      const refs = (await store.get(handle))?.refs ?? [];
      const answer = await listMasked({ store, wholeStore: true, maxChars: 5000 }, { handle });
      await store.close();
      return `${refs.at(-1)?.session}\n${answer}`;
    };
    const [session, title] = (await listed([], list)).split('\n');
    expect(session).toMatch(/^fit-[a-z2-7]{16}$/);
    expect(title).toContain('masked texts 1–4 of 4');
    const longer = await listed([], JSON.stringify(history(8)));
    expect(longer.split('\n')[0]).toBe(session);
    expect(await listed(['--session', 'mine'], list)).toContain('mine\nmasked texts');
  });
  it('refuses --session without --store', async () => {
    const { code, stderr } = await fitted([...POLICY, '--session', 'mine'], { stdin: list });
    expect([code, stderr]).toEqual([2, expect.stringContaining('--session needs --store')]);
  });
  it('says that it assumes a window where it does not know the model', async () => {
    const { code, stderr } = await fitted(['--model', 'zork-1'], { stdin: list });
    expect([code, stderr]).toEqual([
      0,
      'palimpsest fit: the context window of zork-1 is not known, so 128,000 tokens are assumed; --max-tokens sets it\n',
    ]);
    for (const args of [
      ['--model', 'gpt-4o'],
      ['--model', 'zork-1', '--max-tokens', '9000'],
    ])
      expect((await fitted(args, { stdin: list })).stderr).toBe('');
  });
  it('writes nothing where --store cannot keep it', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { code, stdout, stderr } = await fitted([...POLICY, '--store', file], { stdin: list });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^palimpsest fit: .*found: a file; .*\n$/);
  });
  it('takes a format, and bound thinking', async () => {
    const { code, stdout } = await fitted(['--format', 'chat', '--bound-thinking', 'keep'], { stdin: list });
    expect([code, JSON.parse(stdout)]).toEqual([0, messages]);
  });
  it('refuses a format that reads no result where another one does', async () => {
    const { code, stdout, stderr } = await fitted(['--format', 'anthropic'], { stdin: list });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('found 6 results of tools that chat reads, and anthropic, which was named, reads none');
    expect((await fitted(['--format', 'chat'], { stdin: list })).stderr).toBe('');
  });
});

describe('a request', () => {
  const anthropicMessages = [
    { role: 'user', content: 'task' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'bash', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: prose(2000) }] },
    { role: 'assistant', content: 'done' },
  ];
  const contents = [
    { role: 'user', parts: [{ text: 'task' }] },
    { role: 'model', parts: [{ functionCall: { name: 'ls', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'ls', response: { output: prose(2000) } } }] },
    { role: 'model', parts: [{ text: 'done' }] },
  ];
  const input = [
    { role: 'user', content: 'task' },
    { type: 'function_call', call_id: 'a', name: 'ls', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: prose(2000) },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
  ];

  it.each([
    [
      'messages',
      {
        model: 'claude-sonnet-5',
        max_tokens: 9,
        system: 'S',
        tools: [{ name: 'recall' }],
        messages: anthropicMessages,
      },
    ],
    ['contents', { contents, systemInstruction: { parts: [{ text: 'S' }] }, generationConfig: { temperature: 0 } }],
    ['input', { input, instructions: 'S', model: 'gpt-5', store: false }],
  ])('keeps all but its %s', async (key, request) => {
    const { code, stdout } = await fitted(['--policy', 'sliding-window:turns=1'], { stdin: JSON.stringify(request) });
    expect(code).toBe(0);
    const after = JSON.parse(stdout);
    expect({ ...after, [key]: 0 }).toEqual({ ...request, [key]: 0 });
    expect(Object.keys(after)).toEqual(Object.keys(request));
    expect(stdout).toContain('[Observation omitted for brevity]');
    expect(stdout).not.toContain('lorem');
  });

  const sizeOf = async (request: object): Promise<number> => {
    const { stderr } = await fitted(['--report', '--json'], { stdin: JSON.stringify(request) });
    return JSON.parse(stderr).tokens.before;
  };
  it.each([
    ['system', { messages: anthropicMessages }, { system: prose(800) }],
    ['tools', { messages: anthropicMessages }, { tools: [{ name: 'bash', description: prose(800) }] }],
    ['instructions', { input }, { instructions: prose(800) }],
    ['systemInstruction', { contents }, { systemInstruction: { parts: [{ text: prose(800) }] } }],
    ['system_instruction', { contents }, { system_instruction: { parts: [{ text: prose(800) }] } }],
  ])('counts its %s', async (_, request, more) => {
    expect((await sizeOf({ ...request, ...more })) - (await sizeOf(request))).toBeGreaterThan(150);
  });
  it('writes recall where its tools have one of that name', async () => {
    const request = { messages: anthropicMessages, tools: [{ name: 'recall' }] };
    const { stdout } = await fitted(['--policy', 'sliding-window:turns=1', '--recall'], {
      stdin: JSON.stringify(request),
    });
    expect(stdout).toMatch(/chars masked · recall p_[a-z2-7]{26}\]/);
  });
  it('has its model for a budget, and --model and --max-tokens before that', async () => {
    const large = { model: 'gpt-4o', messages: history(4, 300_000) };
    const size = async (...args: string[]): Promise<number> => {
      const { stdout } = await fitted(args, { stdin: JSON.stringify(large) });
      return fit(JSON.parse(stdout).messages as object[]).report.tokens.before;
    };
    const whole = fit(large.messages).report.tokens.before;
    expect(await size()).toBeLessThanOrEqual(128_000);
    expect(await size('--model', 'gpt-4.1')).toBe(whole);
    expect(await size('--max-tokens', '5000')).toBeLessThanOrEqual(5000);
  });
});

describe('--report, --show, --json', () => {
  it('--report tells on standard error what was done, and leaves standard output alone', async () => {
    const { code, stdout, stderr } = await fitted([...POLICY, '--report'], { stdin: list });
    expect([code, JSON.parse(stdout)]).toEqual([0, expected]);
    const { tokens } = fit(messages, { policy: slidingWindow({ turns: 2 }) }).report;
    expect(stderr).toContain(`${tokens.before.toLocaleString('en')} tokens`);
    expect(stderr).toContain(`${tokens.after.toLocaleString('en')} tokens`);
    expect(stderr).toContain('4 results masked');
  });
  it('--report --json writes the report as JSON', async () => {
    const { stdout, stderr } = await fitted([...POLICY, '--report', '--json'], { stdin: list });
    const { report } = fit(messages, { policy: slidingWindow({ turns: 2 }) });
    const { results, ...written } = JSON.parse(stderr);
    expect(written).toEqual(JSON.parse(JSON.stringify(report)));
    expect(results.map(({ why }: { why: string }) => why)).toEqual(Array(report.edits.mask).fill('mask'));
    expect(JSON.parse(stdout)).toEqual(expected);
  });
  it('--show says what was made smaller when it first went out and why, beside the original; --json has it too', async () => {
    const text = Array.from({ length: 40 }, (_, i) => `export const value${i} = compute(${i * 7919});`).join('\n');
    const reads = ['a', 'b'].flatMap((id) => [
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'read_file', arguments: `{"path":"${id}.ts"}` }] },
      { role: 'tool', content: text, name: 'read_file', toolCallId: id },
    ]);
    const run = {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 'bash', arguments: '{"command":"make"}' }],
    };
    const output = { role: 'tool', content: `${'done   \n'.repeat(3)}all is well`, name: 'bash', toolCallId: 'c' };
    const stdin = JSON.stringify([{ role: 'user', content: 'task' }, ...reads, run, output]);
    const { stdout } = await fitted(['--show'], { stdin });
    expect(stdout).toMatch(/read_file b\.ts +[\d,]+ → \d+ {2}\(partly shown above\) \[.*\n +was: export const value0/);
    expect(stdout).toMatch(/bash make +\d+ → \d+ {2}\(cleaned\) done .*\n +was: done/);
    expect(stdout).toContain('0 results masked, 2 made smaller on arrival');
    const { results } = JSON.parse((await fitted(['--show', '--json'], { stdin })).stdout);
    expect(results).toMatchObject([
      { turn: 2, tool: 'read_file', why: 'references', chars: { before: text.length } },
      { turn: 3, tool: 'bash', why: 'clean' },
    ]);
    for (const off of [
      ['--arrival', 'none'],
      ['--policy', 'break-even:clean=false,references=false'],
    ])
      expect(JSON.parse((await fitted([...off, '--report', '--json'], { stdin })).stderr).results).toEqual([]);
    const only = JSON.parse((await fitted(['--arrival', 'clean', '--show', '--json'], { stdin })).stdout);
    expect(only.results).toMatchObject([{ why: 'clean' }]);
    const cut = JSON.parse((await fitted(['--arrival', 'truncate=50', '--show', '--json'], { stdin })).stdout);
    expect(cut.results).toMatchObject([{ why: 'truncate' }, { why: 'truncate' }]);
  });
  it('--show writes a line for each result in place of the JSON', async () => {
    const { code, stdout, stderr } = await fitted([...POLICY, '--show'], { stdin: list });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').filter((line) => line.includes('bash')).length).toBe(6);
    expect(stdout.split('\n').filter((line) => line.includes('Observation omitted')).length).toBe(4);
    expect(() => JSON.parse(stdout)).toThrow();
  });
  it('--show --json writes the report as JSON', async () => {
    const { stdout } = await fitted([...POLICY, '--show', '--json'], { stdin: list });
    expect(JSON.parse(stdout)).toMatchObject({ maskedCount: 4, epoch: 4 });
  });
});

describe('mistakes', () => {
  const wrong = async (
    args: readonly string[],
    given: Given,
    code: number,
    ...said: readonly string[]
  ): Promise<void> => {
    const result = await fitted(args, given);
    expect([result.code, result.stdout]).toEqual([code, '']);
    for (const part of said) expect(result.stderr).toContain(part);
    expect(result.stderr).not.toMatch(/\n\s+at |TypeError|node:internal/);
    expect(result.stderr.startsWith('palimpsest fit: ')).toBe(true);
  };

  it.each([
    ['--max-token', '--max-tokens'],
    ['--polcy', '--policy'],
    ['--raport', '--report'],
    ['--Recall', '--recall'],
  ])('%s: names the nearest option', async (option, near) => {
    await wrong([option], { stdin: list }, 2, option, `did you mean ${near}?`, 'palimpsest fit --help');
  });
  it.each([['--zzzzzzzz'], ['-x'], ['--constructor']])('%s: an unknown option', async (option) => {
    await wrong([option], { stdin: list }, 2, option);
  });
  it('an option without its value', async () => {
    await wrong(['--max-tokens'], { stdin: list }, 2, 'max-tokens');
  });
  it.each(['abc', '-5', '0', '1.5', '', 'NaN'])('--max-tokens=%s', async (value) => {
    await wrong([`--max-tokens=${value}`], { stdin: list }, 2, '--max-tokens');
  });
  it.each(['nope', 'toString', ''])('--format=%s', async (value) => {
    await wrong([`--format=${value}`], { stdin: list }, 2, 'format');
  });
  it('a format that reads nothing of the list, nor writes anything', async () => {
    await wrong(['--format', 'gemini'], { stdin: list }, 1, 'gemini, reads 0', 'role tool');
    await wrong(['--format', 'gemini', '--show'], { stdin: list }, 1, 'gemini, reads 0');
  });
  it.each(['sliding-windw', 'toString', 'polling:turns=x', 'polling:turn=3', ''])('--policy=%s', async (value) => {
    await wrong([`--policy=${value}`], { stdin: list }, 2, 'option');
  });
  it('--bound-thinking=drop', async () => {
    await wrong(['--bound-thinking=drop'], { stdin: list }, 2, '--bound-thinking', "'opt-in', 'keep'");
  });
  it.each([
    ['claen', 'did you mean clean?'],
    ['clean,shell-output=x', 'a whole number'],
    ['truncate', 'truncate=8000'],
  ])('--arrival %s is refused', async (arrival, said) => {
    await wrong(['--arrival', arrival], { stdin: list }, 2, said);
  });
  it('--json without anything to write as JSON', async () => {
    await wrong(['--json'], { stdin: list }, 2, '--json needs --report or --show');
  });
  it('two files', async () => {
    await wrong(['a.json', 'b.json'], {}, 2, 'one file');
  });
  it('standard input by its name', async () => {
    await wrong(['-'], { stdin: '{}' }, 1, 'Expected a list of messages in standard input');
  });
  it('neither file nor standard input', async () => {
    await wrong([], {}, 2, 'standard input');
  });
  it('a file that is not there', async () => {
    await wrong(['nowhere.json'], {}, 1, 'cannot read nowhere.json: there is no such file');
  });
  it.each(['', '{', 'not json', '[1,', '\u0000'])('what is no JSON: %j', async (stdin) => {
    await wrong([], { stdin }, 1, 'JSON', 'standard input');
    await wrong(['x.json'], { files: { 'x.json': stdin } }, 1, 'JSON', 'x.json');
  });
  it('the log of an agent, which another command reads', async () => {
    await wrong([], { stdin: '{"type":"user"}\n{"type":"assistant"}\n' }, 1, 'on each line', 'palimpsest replay');
  });
  it('bytes that are no UTF-8', async () => {
    await wrong([], { stdin: [Uint8Array.of(0x5b, 0xff, 0x5d)] }, 1, 'standard input');
  });
  it.each(['null', '5', '"text"', '{}', '{"messages":"text"}', '{"input":"text"}', 'true'])(
    'JSON without a list: %s',
    async (stdin) => {
      await wrong([], { stdin }, 1, 'Expected a list of messages');
    },
  );
  it.each(['[null]', '[1,2]', '["text"]', '[{}]', '[[]]'])('a list of what is no message: %s', async (stdin) => {
    await wrong([], { stdin }, 1, 'format');
  });
  it('a budget that cannot be kept', async () => {
    await wrong(['--max-tokens', '5'], { stdin: list }, 1, 'cannot be cut');
    await wrong(['--max-tokens', '5', '--show', '--report'], { stdin: list }, 1, 'cannot be cut');
  });
  it('a request with a model that is no text is fitted without one', async () => {
    const { code } = await fitted([], { stdin: JSON.stringify({ model: 5, messages }) });
    expect(code).toBe(0);
  });
});
