import { describe, expect, it } from 'vitest';
import { fit } from '../../src/plan/fit.ts';

/** Agents quote files exactly in edits. Cleaned like the output of a program, this file would lose blanks and lines. */
const FILE = [
  '## Title  ',
  'a line with a hard break  ',
  '',
  '',
  '',
  'def a():   ',
  '\treturn 1\t',
  '',
  'class B:',
  ...Array.from({ length: 12 }, () => '    field = compute(1)'),
  'end  ',
  '',
].join('\n');

/** The last result as it is sent, after results of the same call. */
function sent(tool: string, args: object | string, ...texts: string[]): unknown {
  const turns = texts.flatMap((content, i) => {
    const input = typeof args === 'string' ? args : JSON.stringify(args);
    const call = { id: `call_${i}`, type: 'function', function: { name: tool, arguments: input } };
    return [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content },
    ];
  });
  return fit([{ role: 'user', content: 'Fix the failing test.' }, ...turns]).messages.at(-1)?.content;
}

describe('fit sends a file as it came, where the command is', () => {
  it.each([
    'docker exec box cat a.py',
    'docker exec -it -u root -w /app box cat a.py',
    'docker compose -f dev.yml exec -T web cat a.py',
    'docker-compose exec web sed -n 1,20p a.py',
    'podman run --rm -v /a:/a image head -20 a.py',
    'kubectl -n live exec pod-1 -c app -- cat a.py',
    'ssh host cat a.py',
    'ssh -p 2222 -i key me@host "cd /srv && cat a.py"',
    "ssh host 'sudo cat a.py'",
    'cat<a.py',
    'cat < a.py',
    'sudo -u me cat a.py',
    'env -i X=1 cat a.py',
    "a='x y' cat a.py",
    'timeout -k 5 10 cat a.py',
    'nice -n 10 cat a.py',
    'stdbuf -o0 cat a.py',
    'sudo timeout 5 nice env X=1 /bin/cat a.py',
    "bash -c 'cat a.py'",
    'docker exec box bash -lc "cat a.py"',
    'eval "cat a.py"',
    'fish -c "cat a.py"',
    'cmd /c type a.py',
    'powershell -Command "Get-Content a.py"',
    'ls *.py | xargs -n 1 cat',
    'find . -name "*.py" -exec echo {} \\; -exec cat {} \\;',
    `python -c "print(open('a.py').read())"`,
    'uv run python -c "print(open(1).read())"',
    'python3 - <<EOF\nprint(open("a.py").read())\nEOF',
    'python3 - <<EOF | head -50\nprint(open("a.py").read())\nEOF',
    `node -e "console.log(require('fs').readFileSync('a.py', 'utf8'))"`,
    'perl -ne "print if 1..20" a.py',
    'grep -A20 "def a" a.py',
    'grep -rn -B 3 "def a" src',
    'rg -C5 "def a"',
    'git grep -n --context=3 a',
    'cat a.py | grep -v foo',
    'grep -n "" a.py',
    'cat a.py | grep -n -A 3 def',
    'git diff',
    'PAGER="less -R" git diff',
    'git diff | grep -v foo',
    'git show HEAD~1',
    'git log --patch-with-stat',
    'cat a.py # show > file',
    'echo "$(cat a.py)"',
    'x=$(cat a.py); echo "$x"',
    'while read l; do echo "$l"; done < a.py',
    '\\cat a.py',
    "cat <<'EOF'\nit's\nEOF",
    'tee a.py <<EOF\nx\nEOF',
    "cat > a.py <<'EOF'\ndon't\nEOF\ncat a.py",
  ])('%s', (command) => {
    expect(sent('bash', { command }, FILE)).toBe(FILE);
  });

  it.each<[string, object | string]>([
    ['shell', { command: ['ssh', 'host', 'cat a.py'] }],
    ['shell', { command: ['docker', 'exec', 'box', 'bash', '-lc', 'cat a.py'] }],
    ['write_stdin', { session_id: 1, chars: 'cat a.py\n' }],
    ['bash_command', { keystrokes: 'cat a.py\n', duration: 1 }],
    ['execute_ipython_cell', { code: '!cat a.py' }],
    ['exec', 'const r = await tools.exec_command({ cmd: "sed -n \'1,20p\' a.py", workdir: "/" });\ntext(r.output);'],
    ['exec', '// A look.\nawait tools.exec_command({"cmd":"cd /w\\ncat a.py"});'],
    ['js_repl', "console.log(fs.readFileSync('a.py', 'utf8'))"],
    ['execute_python', { code: "print(open('a.py').read())" }],
    ['git_diff', {}],
    ['git_diff_staged', {}],
    ['git_show', { revision: 'HEAD' }],
    ['mcp__git__git_diff', {}],
    ['mcp__github__get_pull_request_diff', { number: 1 }],
    ['getDiff', {}],
    ['get_function_source', { name: 'a' }],
    ['Grep', { pattern: 'x', output_mode: 'content', '-A': 20 }],
    ['grep_search', { query: 'x', context_lines: 3 }],
    ['find_symbol', { name: 'a', include_body: true }],
  ])('of the tool %s with %j', (tool, args) => {
    expect(sent(tool, args, FILE)).toBe(FILE);
  });
});

describe('fit cleans output, where the command is', () => {
  it.each([
    'npm test',
    'docker exec box npm test',
    'docker compose up',
    'ssh host npm test',
    'sudo timeout 5 npm test',
    'npm test | grep -A3 fail',
    'npm test | grep -v ok',
    'ps aux | grep -v grep',
    'npm test | tee log.txt',
    'kubectl -n live get pods',
    'python a.py',
    'python -c "print(1)"',
    'echo "$(date)"',
    'command -v cat',
    "cat > a.py <<'EOF'\ncat b.py\nEOF",
    'npm test # cat a.py',
    'bash run.sh',
  ])('%s', (command) => {
    expect(sent('bash', { command }, FILE)).not.toBe(FILE);
  });

  it('is in a script', () => {
    expect(sent('exec', 'const r = await tools.exec_command({ cmd: "npm test" });\ntext(r.output);', FILE)).not.toBe(
      FILE,
    );
  });
});

describe('a diff', () => {
  const diff = [
    'diff --git a/a.md b/a.md',
    '--- a/a.md',
    '+++ b/a.md',
    '@@ -1,3 +1,3 @@ title',
    ' # A  ',
    '-x  ',
    '+y  ',
  ].join('\n');
  const lines = '+    field = compute(1)  \n'.repeat(9);

  it.each([
    ['of any command', 'bash', { command: './review.sh' }],
    ['of any tool', 'review_changes', { id: 1 }],
  ])('%s is sent as it came', (_, tool, args) => {
    const text = `commit 1\n\n\n\n${diff}\n${lines}`;
    expect(sent(tool, args, text)).toBe(text);
    const merge = text.replace('@@ -1,3 +1,3 @@', '@@@ -1,3 -1,3 +1,3 @@@').replaceAll('\n', '\r\n');
    expect(sent(tool, args, merge)).toBe(merge);
  });

  it('needs the names of files and a hunk', () => {
    for (const part of [/^--- .*\n/m, /^\+\+\+ .*\n/m, /^@@ .*\n/m]) {
      const text = `${diff.replace(part, '')}\n${lines}`;
      expect(sent('bash', { command: './review.sh' }, text)).not.toBe(text);
    }
  });

  it('loses its colours only, also where they are around the returns of a file', () => {
    const returns = `${diff}\r\n`.replaceAll('  \n', '  \r\n');
    const marked = returns.replace(/^\+y {2}/m, '\u001b[32m$&\u001b[m').replaceAll('\r', '\u001b[41m\r\u001b[m');
    expect(sent('bash', { command: './review.sh' }, marked)).toBe(returns);
    const coloured = `${diff}\n${lines}`.replace(/^[-+@].*$/gm, '\u001b[32m$&\u001b[m');
    expect(sent('bash', { command: './review.sh' }, coloured)).toBe(`${diff}\n${lines}`);
  });
});

describe('numbers at the beginning of lines', () => {
  const log = Array.from({ length: 40 }, (_, i) => `10:${10 + i}:05 step ${i} of the build went well`);

  it('are no line numbers where they are times of day', () => {
    expect(sent('bash', { command: 'make' }, log.join('\n'), [...log, '10:51:00 done'].join('\n'))).toMatch(
      /^\[output lines 1–40: same as lines 1–40 of the last bash make above\]\n10:51:00 done/,
    );
  });

  it('are line numbers where they rise', () => {
    const file = log.map((line, i) => `${i + 7}: ${line}`);
    expect(sent('bash', { command: 'cat -n a' }, file.join('\n'), [...file, '47: end'].join('\n'))).toMatch(
      /^\[file lines 7–46: same as lines 7–46 of the last bash cat -n a above\]\n47: end/,
    );
  });
});

describe('an overwritten line', () => {
  it.each([
    ['the last state is shorter', 'warning: the disk is almost full\rok\n', 'warning: the disk is almost full\rok\n'],
    [
      'the cursor moves to another line',
      'warning: it\r\u001b[1Adownloading 90 %\n',
      'warning: it\r\ndownloading 90 %\n',
    ],
  ])('stays where %s', (_, text, shown) => {
    expect(sent('bash', { command: 'make' }, `${'\u001b[32m✓\u001b[0m step\n'.repeat(99)}${text}`)).toContain(shown);
  });

  it.each([
    ['a later state covers it', '10 %\r55 %\rdone'],
    ['a code erases it', 'downloading 10 %\r\u001b[Kdone'],
  ])('goes where %s', (_, text) => {
    expect(sent('bash', { command: 'make' }, `${'\u001b[32m✓\u001b[0m step\n'.repeat(99)}${text}`)).toMatch(
      /more times\]\ndone/,
    );
  });
});
