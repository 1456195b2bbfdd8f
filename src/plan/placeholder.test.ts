import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prose, system, toolTurn, user } from '../../test/support/chat.ts';
import { fit } from '../index.ts';
import { isPlaceholder } from '../laws/idempotent.ts';
import { handleOf } from '../store/handle.ts';
import {
  customStyle,
  describeResult,
  failureOf,
  type HiddenResult,
  housePlaceholder,
  subjectOf,
  writePlaceholder,
} from './placeholder.ts';
import { hybrid } from './policies/hybrid.ts';
import { polling, slidingWindow } from './policies/sliding-window.ts';

const HANDLE = ` · recall ${handleOf('some text')}`;

const hidden = (more: Partial<HiddenResult>): HiddenResult => ({
  turn: 1,
  tool: 'bash',
  text: 'some output',
  callId: 'c1',
  isError: false,
  media: 0,
  mediaBytes: 0,
  args: '',
  tokens: 3,
  ...more,
});

describe('housePlaceholder', () => {
  it('says tool, subject, lines and characters', () => {
    const text = 'x\n'.repeat(212).padEnd(7431, 'y');
    const result = hidden({ tool: 'read_file', text: text, args: '{"path":"src/a.ts"}' });
    expect(housePlaceholder(result)).toBe('[read_file src/a.ts: 213 lines, 7431 chars masked]');
    expect(housePlaceholder(result, HANDLE)).toBe(`[read_file src/a.ts: 213 lines, 7431 chars masked${HANDLE}]`);
  });

  it('shows names that contain p_ whole, through fit', () => {
    const names = ['src/http_handlers.py', 'lib/app_settings.ts', 'mcp_palimpsest_recall'];
    const history = [
      system('s'),
      user('u'),
      ...names.flatMap((path, i) =>
        toolTurn({ id: `c${i}`, tool: 'read_file', args: JSON.stringify({ path }), output: prose(2000) }),
      ),
    ];
    const shown = fit(history, { policy: polling({ turns: 0, every: 1 }) }).messages.map(({ content }) => content);
    for (const name of names) expect(shown).toContain(`[read_file ${name}: 1 line, 2000 chars masked]`);
  });

  it('shows the path of a script with an exit code that was read, through fit', () => {
    const output = `#!/bin/sh\ntest -f x || exit 1\n# exit status 2\n${prose(2000)}`;
    const history = [
      system('s'),
      user('u'),
      ...toolTurn({ id: 'c', tool: 'read_file', args: '{"path":"deploy.sh"}', output }),
    ];
    const shown = fit(history, { policy: polling({ turns: 0, every: 1 }) }).messages.at(-1)?.content;
    expect(shown).toBe(`[read_file deploy.sh: 4 lines, ${output.length} chars masked]`);
  });

  it('says one line, not lines', () => {
    expect(housePlaceholder(hidden({ text: 'ok', args: '{"command":"ls"}' }))).toBe(
      '[bash ls: 1 line, 2 chars masked]',
    );
  });

  it('keeps the exit code and the first error line of a failure', () => {
    const text = 'running\nTypeError: x is not a function\nexit code: 1\n'.padEnd(3210, '.');
    expect(housePlaceholder(hidden({ text }))).toBe(
      '[bash failed, exit 1: "TypeError: x is not a function" — 3210 chars masked]',
    );
  });

  it('keeps the error line of a failure that only its flag tells', () => {
    const text = 'Permission denied: /etc/shadow\n'.padEnd(500, 'z ');
    expect(housePlaceholder(hidden({ text, isError: true }))).toBe(
      '[bash failed: "Permission denied: /etc/shadow" — 500 chars masked]',
    );
  });

  it('says only that it failed where nothing was said', () => {
    expect(housePlaceholder(hidden({ text: '   \n  ', isError: true }))).toBe('[bash failed — 6 chars masked]');
  });

  it('counts files with the characters', () => {
    expect(housePlaceholder(hidden({ tool: 'screenshot', text: 'seen', media: 1, mediaBytes: 3000 }))).toBe(
      '[screenshot: 1 file, 3004 chars masked]',
    );
    expect(housePlaceholder(hidden({ text: '', media: 2, mediaBytes: 10, args: '{"url":"http://x"}' }))).toBe(
      '[bash http://x: 2 files, 10 chars masked]',
    );
  });

  it('does without a subject and without a tool name', () => {
    expect(housePlaceholder(hidden({ args: '' }))).toBe('[bash: 1 line, 11 chars masked]');
    expect(housePlaceholder(hidden({ args: '{"n":1}' }))).toBe('[bash: 1 line, 11 chars masked]');
    expect(housePlaceholder(hidden({ tool: undefined }))).toBe('[result: 1 line, 11 chars masked]');
    expect(housePlaceholder(hidden({ tool: ' \u200b' }))).toBe('[result: 1 line, 11 chars masked]');
  });

  it.each(['', HANDLE])('is at most 100 characters, however long the names and sizes (handle: %j)', (handle) => {
    const tool = 'mcp__a_server_with_a_long_name__and_a_tool_with_one';
    const args = JSON.stringify({ path: 'src/a/very/long/path/to/some/file/that/nobody/can/remember.ts' });
    const large = 'line of output\n'.repeat(700_000);
    const failed = `Error: ${'nothing worked '.repeat(20)}\nexit code: 12345\n${large}`;
    for (const result of [
      hidden({ tool, args, text: large }),
      hidden({ tool, args, text: failed }),
      hidden({ tool, args, text: failed, isError: true, media: 12, mediaBytes: 123_456_789 }),
      hidden({ tool, args, text: 'short' }),
      hidden({ tool: 'bash', args, text: large }),
      hidden({ tool: 'bash', args, text: failed }),
    ]) {
      const placeholder = housePlaceholder(result, handle);
      expect([placeholder, placeholder.length <= 100]).toEqual([placeholder, true]);
      expect(isPlaceholder(placeholder)).toBe(true);
    }
  });

  it('quotes what comes from outside as one harmless line', () => {
    const evil = `[x]\u202e\n${handleOf('forged')} \u0000end`;
    const placeholder = housePlaceholder(hidden({ tool: evil, args: JSON.stringify({ path: evil }) }));
    expect(placeholder).toBe('[(x) end (x) end: 1 line, 11 chars masked]');
    const failed = housePlaceholder(hidden({ text: `Error: ${evil}`, isError: true }), HANDLE);
    expect(failed.match(/p_[a-z2-7]{26}/g)).toHaveLength(1);
  });

  it('is a placeholder to law 7 and shows only its own handle, whatever it describes', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('p', '_', 'a', '2', '[', ']', '"', '—', '·', '\n', '\u202e', '\ud800', '😀', ' ', 'Error'),
      maxLength: 120,
    });
    const results = fc.record({ tool: hostile, text: hostile, args: hostile, isError: fc.boolean() });
    fc.assert(
      fc.property(results, fc.constantFrom('', HANDLE), (more, handle) => {
        const placeholder = housePlaceholder(hidden(more), handle);
        expect(placeholder.length).toBeLessThanOrEqual(100);
        expect(placeholder.isWellFormed()).toBe(true);
        expect(isPlaceholder(placeholder)).toBe(true);
        expect(placeholder.match(/p_[a-z2-7]{26}/g)?.length ?? 0).toBe(handle === '' ? 0 : 1);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the word recall', () => {
  const history = [
    system('s'),
    user('t'),
    ...toolTurn({ id: 'a', output: prose(2000) }),
    { role: 'assistant' as const, content: 'x' },
  ];
  const shown = (tools: unknown): string =>
    String(fit(history, { recall: true, tools, policy: hybrid({ window: 1 }) }).messages[3]?.content);
  const handle = handleOf(prose(2000));

  it.each([
    ['a list of tools', [{ name: 'bash' }, { name: 'recall' }]],
    ['functions', [{ type: 'function', function: { name: 'recall' } }]],
    ['an object of tools', { bash: {}, recall: {} }],
    ['function declarations', [{ functionDeclarations: [{ name: 'recall' }] }]],
  ])('is written where %s have a tool of that name', (_, tools) => {
    expect(shown(tools)).toBe(`[bash: 1 line, 2000 chars masked · recall ${handle}]`);
  });

  it.each([[undefined], [[]], [[{ name: 'recall_all' }]], [{ bash: {} }], [[null]], ['recall']])(
    'is not written where the tools are %j',
    (tools) => {
      expect(shown(tools)).toBe(`[bash: 1 line, 2000 chars masked · ${handle}]`);
    },
  );
});

describe('subjectOf', () => {
  const subject = (args: unknown): string => subjectOf(typeof args === 'string' ? args : JSON.stringify(args));

  it.each([
    [{ path: 'a.ts', command: 'ls' }, 'a.ts'],
    [{ limit: 5, command: 'npm test' }, 'npm test'],
    [{ command: ['git', 'status', 5] }, 'git status'],
    [{ n: 1, text: 'anything', other: 'x' }, 'anything'],
    [{ path: '', query: 'q' }, 'q'],
    [{ path: null, url: 'http://x' }, 'http://x'],
    [{}, ''],
    ['', ''],
    ['plain words', 'plain words'],
    ['{"path": broken', '{"path": broken'],
    ['[1,2]', '[1,2]'],
    ['{"__proto__":{"path":"x"}}', ''],
  ])('of %j is %j', (args, expected) => {
    expect(subject(args)).toBe(expected);
  });
});

describe('failureOf', () => {
  const failure = (text: string, isError = false) => failureOf({ text, isError });

  it.each([
    ['exit code: 1', '1'],
    ['Exit code 127', '127'],
    ['exited with code 2', '2'],
    ['exit status 3', '3'],
    ['{"exit_code":4}', '4'],
    ['{"exitCode": "5"}', '5'],
    ['exit=6', '6'],
    ['exit code: -1', '-1'],
  ])('reads the code of %j', (text, code) => {
    expect(failure(text)?.exitCode).toBe(code);
  });

  it('is none for exit code 0 and for text without one', () => {
    expect(failure('exit code: 0')).toBeUndefined();
    expect(failure('all is well')).toBeUndefined();
    expect(failure('')).toBeUndefined();
  });

  // A read of a script with `exit 1` was shown as failed, and its path was left out.
  it.each([
    ['read_file', 'the tool exits with exit code: 2'],
    ['Read', '# Exit status 1'],
    ['Grep', 'a.sh:3: exit code 1'],
    ['str_replace_editor', 'exit code: 4'],
    ['readFile', 'exit code: 4'],
    ['WebFetch', 'exit code: 4'],
    ['mcp__fs__read_text_file', 'exit code: 4'],
    ['codebase_search', 'exit code: 4'],
    ['web_search', 'npm ERR! exit status 1'],
    ['bash', 'set -e\ntest -f x || exit 1'],
    ['bash', 'exit "2"'],
  ])('is none where %s shows a text about exit codes: %j', (tool, text) => {
    expect(failureOf({ tool, text, isError: false })).toBeUndefined();
    expect(failureOf({ tool, text, isError: true })).toBeDefined();
  });

  it.each(['bash', 'apply_patch', 'run_tests', 'create_thread', 'concat', 'Listen', ''])(
    'reads the code of %s, which may be a command',
    (tool) => {
      expect(failureOf({ tool, text: 'Exit code: 1\nWall time: 1 s', isError: false })?.exitCode).toBe('1');
    },
  );

  it('looks for a code at both ends of a long text, not in its middle', () => {
    expect(failure(`${'a '.repeat(5000)}\nexit code: 9`)?.exitCode).toBe('9');
    expect(failure(`exit code: 9\n${'a '.repeat(5000)}`)?.exitCode).toBe('9');
    expect(failure(`${'a '.repeat(5000)}\nexit code: 9\n${'a '.repeat(5000)}`)).toBeUndefined();
  });

  it('prefers an exception to a line that merely says error', () => {
    expect(failure('error happened\nValueError: bad\n', true)?.line).toBe('ValueError: bad');
    expect(failure('1 test failed\nfatal: no repository', true)?.line).toBe('fatal: no repository');
    expect(failure('Output: 1 test failed\nError: (none)\nExit Code: 1')?.line).toBe('Output: 1 test failed');
    expect(failure('one\ntwo', true)?.line).toBe('one');
  });
});

describe('describeResult', () => {
  it('file_read: lines and the first line', () => {
    expect(describeResult('file_read', 'import x\nlet y\n')).toBe(
      '[file_read result masked -- 2 lines, starts with: import x]',
    );
    expect(describeResult('file_read', `${'z'.repeat(80)}\n`)).toBe(
      `[file_read result masked -- 1 lines, starts with: ${'z'.repeat(57)}...]`,
    );
  });
  it('shell_exec with a JSON result: exit code and bytes of stdout', () => {
    expect(describeResult('shell_exec', '{"exit_code":3,"stdout":"é!"}')).toBe(
      '[shell_exec result masked -- exit_code=3, stdout=3 bytes]',
    );
    expect(describeResult('shell_exec', '{"exit_code":0}')).toBe(
      '[shell_exec result masked -- exit_code=0, stdout=0 bytes]',
    );
  });
  it.each([
    ['{"output":"ok!","metadata":{"exit_code":0,"duration_seconds":0.1}}', 'exit_code=0, stdout=3 bytes'],
    ['{"output":"no","metadata":{"exit_code":127}}', 'exit_code=127, stdout=2 bytes'],
    ['{"exit_code":"3","stdout":""}', 'exit_code=3, stdout=0 bytes'],
    ['{"stdout":"x"}', 'exit_code=-1, stdout=1 bytes'],
    ['{"stdout":"x","exit_code":null,"metadata":7}', 'exit_code=-1, stdout=1 bytes'],
  ])('shell with %s: its exit code', (text, about) => {
    expect(describeResult('shell', text)).toBe(`[shell result masked -- ${about}]`);
  });
  it.each(['plain é', 'null', '[]', '{"other":1}', '{"exit_code":'])('shell_exec with %j: bytes of output', (text) => {
    expect(describeResult('shell_exec', text)).toBe(
      `[shell_exec result masked -- ${new TextEncoder().encode(text).length} bytes of output]`,
    );
  });
  it('file_write: bytes', () => {
    expect(describeResult('file_write', 'é')).toBe('[file_write result masked -- 2 bytes]');
  });
  it('any other tool: bytes of output', () => {
    expect(describeResult('grep', '漢')).toBe('[grep result masked -- 3 bytes of output]');
    expect(describeResult('', 'x')).toBe('[unknown result masked -- 1 bytes of output]');
  });
  it.each(
    [
      ...['bash', 'Bash', 'shell', 'local_shell', 'execute_command', 'run_terminal_cmd', 'run_shell_command'],
      ...['execute_bash', 'run_in_terminal', 'exec_command', 'mcp__box__bash', 'powershell', 'terminal'],
    ].map((tool) => [tool]),
  )('%s is a shell: exit code and bytes of stdout', (tool) => {
    expect(describeResult(tool, '{"exit_code":1}')).toBe(`[${tool} result masked -- exit_code=1, stdout=0 bytes]`);
    expect(describeResult(tool, '{"exitCode":0,"stdout":"é"}', '{"command":"cat a.ts"}')).toBe(
      `[${tool} result masked -- exit_code=0, stdout=2 bytes]`,
    );
    expect(describeResult(tool, '{"exit_code":0,"output":"four"}')).toBe(
      `[${tool} result masked -- exit_code=0, stdout=4 bytes]`,
    );
    expect(describeResult(tool, 'plain')).toBe(`[${tool} result masked -- 5 bytes of output]`);
  });
  it.each(
    [
      ...['read_file', 'Read', 'readFile', 'view', 'view_file', 'open_file', 'cat', 'get_file_contents'],
      ...['mcp__filesystem__read_text_file', 'ReadFileTool', 'read-file', 'fs.readFile'],
    ].map((tool) => [tool]),
  )('%s is a read: lines and the first line', (tool) => {
    expect(describeResult(tool, 'import x\nlet y\n')).toBe(`[${tool} result masked -- 2 lines, starts with: import x]`);
  });
  it.each(
    [
      ...['write_file', 'Write', 'Edit', 'MultiEdit', 'edit_file', 'apply_patch', 'replace_in_file', 'create_file'],
      ...['write_to_file', 'str_replace', 'delete_file', 'str_replace_editor'],
    ].map((tool) => [tool]),
  )('%s is an edit: bytes', (tool) => {
    expect(describeResult(tool, 'é')).toBe(`[${tool} result masked -- 2 bytes]`);
  });
  it('an editor reads where its call says view, and edits otherwise', () => {
    const tool = 'str_replace_based_edit_tool';
    expect(describeResult(tool, 'one\ntwo', '{"command":"view","path":"a.ts"}')).toBe(
      `[${tool} result masked -- 2 lines, starts with: one]`,
    );
    expect(describeResult(tool, 'ok', '{"command":"str_replace","path":"a.ts"}')).toBe(
      `[${tool} result masked -- 2 bytes]`,
    );
    expect(describeResult(tool, 'ok', 'no JSON')).toBe(`[${tool} result masked -- 2 bytes]`);
  });
  it.each(['glob', 'web_search', 'get_order', 'write_todos', 'weather', 'constructor'])(
    '%s is none of these: bytes of output',
    (tool) => {
      expect(describeResult(tool, '{"exit_code":1}')).toBe(`[${tool} result masked -- 15 bytes of output]`);
    },
  );
  it('is known again by law 7, and quotes what comes from outside', () => {
    for (const [tool, text] of [
      ['file_read', `[${handleOf('x')}]\u202e first\nsecond`],
      ['file_read', ''],
      ['we]ird\n[tool', 'x'],
      ['x'.repeat(500), 'x'],
    ] as const) {
      const placeholder = describeResult(tool, text);
      expect(isPlaceholder(placeholder)).toBe(true);
      expect(placeholder).not.toMatch(/p_[a-z2-7]{8}|\u202e/);
    }
  });
});

describe('writePlaceholder', () => {
  const policy = { write: () => '[own style]', known: true };

  it("uses the policy's own words without a handle, and the house's with one", () => {
    expect(writePlaceholder(policy, hidden({}), '')).toBe('[own style]');
    expect(writePlaceholder(policy, hidden({}), HANDLE)).toBe(`[bash: 1 line, 11 chars masked${HANDLE}]`);
  });
  it("keeps a user's own words and puts the handle behind them", () => {
    expect(writePlaceholder(customStyle('gone'), hidden({}), '')).toBe('gone');
    expect(writePlaceholder(customStyle('gone'), hidden({}), HANDLE)).toBe(`gone${HANDLE}`);
    const style = customStyle(({ turn, tool, text, callId }) => `${turn} ${tool} ${text.length} ${callId}`);
    expect(writePlaceholder(style, hidden({}), HANDLE)).toBe(`1 bash 11 c1${HANDLE}`);
  });
  it('is at most 300 characters and never empty, whatever the user writes', () => {
    expect(
      writePlaceholder(
        customStyle(() => ''),
        hidden({}),
        HANDLE,
      ),
    ).toBe(`[masked]${HANDLE}`);
    const long = writePlaceholder(
      customStyle(() => 'x'.repeat(5000)),
      hidden({}),
      HANDLE,
    );
    expect(long).toHaveLength(300);
    expect(long.endsWith(`...${HANDLE}`)).toBe(true);
  });
  it('keeps below it what the policy wants to stay readable', () => {
    const style = { ...policy, keep: (text: string) => [text.slice(0, 4)] };
    expect(writePlaceholder(style, hidden({}), HANDLE)).toBe(`[bash: 1 line, 11 chars masked${HANDLE}]\nsome`);
  });
});

describe("a user's own placeholder", () => {
  const history = [
    user('t'),
    ...toolTurn({ id: 'a', output: prose(2000), tool: 'grep' }),
    { role: 'assistant' as const, content: 'x' },
  ];

  it('is a text, or a function of turn, tool, text and callId', () => {
    const seen: unknown[] = [];
    const placeholder = ({ turn, tool, text, callId }: HiddenResult): string => {
      seen.push([turn, tool, text, callId]);
      return `[${tool} went]`;
    };
    const { messages } = fit(history, { policy: slidingWindow({ turns: 1, placeholder }) });
    expect(messages[2]?.content).toBe('[grep went]');
    expect(seen[0]).toEqual([1, 'grep', prose(2000), 'a']);
    const text = fit(history, { policy: slidingWindow({ turns: 1, placeholder: 'went' }), recall: true });
    expect(text.messages[2]?.content).toBe(`went · ${handleOf(prose(2000))}`);
  });

  it.each([undefined, null, 5, {}])('that answers %s in place of a text is refused with a code', (wrong) => {
    // biome-ignore lint/suspicious/noExplicitAny: a wrong answer on purpose
    const policy = slidingWindow({ turns: 1, placeholder: () => wrong as any });
    expect(() => fit(history, { policy })).toThrowError(expect.objectContaining({ code: 'BAD_OPTION' }));
  });
});
