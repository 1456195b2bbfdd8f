import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownBy } from './shown-by.ts';

const shell = (command: string | readonly string[]) => shownBy('Bash', JSON.stringify({ command }));

describe('shownBy', () => {
  it.each([
    'cat src/a.ts',
    'cat -n src/a.ts | head -40',
    'head -50 README.md',
    'tail -n +20 src/a.ts',
    "sed -n '10,40p' src/a.ts",
    "nl -ba src/a.ts | sed -n '1,80p'",
    "awk 'NR>=10 && NR<=20' src/a.ts",
    'bat --plain src/a.ts',
    'less src/a.ts',
    'git show HEAD:src/a.ts',
    'git show --stat -p abc123',
    'git diff',
    'git --no-pager diff HEAD~1 -- src/a.ts | head -200',
    'git -C /repo diff --cached',
    'git log -p -3',
    'git stash show -p',
    'git blame src/a.ts',
    'diff -u a.ts b.ts',
    'cd /repo && cat package.json',
    'npm run build && cat dist/out.js',
    'ls src; sed -n 1,20p src/a.ts',
    'for f in src/*.ts; do cat "$f"; done',
    'find . -name "*.toml" -exec cat {} \\;',
    'ls src/*.ts | xargs head -20',
    "bash -lc 'cat src/a.ts'",
    'FOO=1 sudo cat /etc/hosts',
    'Get-Content src/a.ts',
  ])('%s shows a file', (command) => {
    expect(shell(command)).toBe('file');
  });

  it.each([
    'npm test',
    'npm test 2>&1 | tail -20',
    'pytest -q | head -50',
    'git status',
    'git log --oneline -5',
    'git stash',
    "cat > a.ts <<'EOF'\nx\nEOF",
    "sed -i 's/a/b/' a.ts > log.txt",
    'make | sed -n 1,20p',
    "curl -s https://example.org/a.json | jq '.[]'",
  ])('%s shows output', (command) => {
    expect(shell(command)).toBe('shell');
  });

  it.each(['grep -rn foo src', 'rg foo', 'cat src/a.ts | grep foo', 'git grep foo', 'ls -la', 'find . -name x'])(
    '%s shows the findings of a search',
    (command) => {
      expect(shell(command)).toBe('search');
    },
  );

  it('knows lists of words and other names of tools', () => {
    expect(shell(['bash', '-lc', 'sed -n 1,20p a.ts'])).toBe('file');
    expect(shownBy('exec_command', '{"cmd":"git diff"}')).toBe('file');
    expect(shownBy('run_shell_command', '{"command":"npm test"}')).toBe('shell');
    expect(shownBy('execute_bash', 'cat a.ts')).toBe('file');
  });

  it('counts a tool that reads or edits as one that shows a file', () => {
    const tools = ['Read', 'read_file', 'view', 'str_replace_editor', 'Edit', 'apply_patch', 'mcp__fs__read_text_file'];
    expect(tools.map((tool) => shownBy(tool, '{"path":"a.ts"}'))).toEqual(tools.map(() => 'file'));
  });

  it('tells searches from all else', () => {
    expect(shownBy('Grep', '{"pattern":"x"}')).toBe('search');
    expect(shownBy('get_order', '{"id":"x"}')).toBe('other');
    expect(shownBy(undefined, '')).toBe('other');
  });

  it('takes a command that is too long to be read for one that shows a file', () => {
    expect(shell(`npm test ${'x'.repeat(5000)}`)).toBe('file');
    expect(shell(`npm test ${'x'.repeat(50_000)}`)).toBe('file');
  });

  it('answers for any command', () => {
    const part = fc.constantFrom(
      ...[
        'cat',
        'sudo',
        'env',
        'ssh h',
        'bash -c',
        'find . -exec',
        'xargs',
        'grep -v',
        'python -c',
        'docker exec c',
        'git',
      ],
      ...[
        "'",
        '"',
        '`',
        '$(',
        ')',
        '\\',
        ' ',
        '\n',
        '|',
        '&&',
        ';',
        '#',
        '<',
        '>',
        '<<EOF',
        'EOF',
        '-',
        '--',
        'x=1',
        'a',
      ],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        for (const command of [parts.join(' '), parts.join('')])
          expect(['file', 'search', 'shell']).toContain(shell(command));
        expect(['file', 'search', 'shell']).toContain(shell(parts));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    'sudo ',
    'eval ',
    'ssh h ',
    "bash -c '",
    'find -exec ',
    '$(',
    '`',
    '# ',
    ' #',
    'x=$(cat ',
    '<<A\n',
    '| grep -v ',
  ])('reads a command of many %j', (unit) => {
    expect(['file', 'search', 'shell']).toContain(shell(unit.repeat(Math.floor(3999 / unit.length))));
  });

  it('lets nothing touch a recalled original', () => {
    expect(shownBy('recall', '{"handle":"p_x"}')).toBeUndefined();
    expect(shownBy('mcp__palimpsest__recall', '{}')).toBeUndefined();
  });
});
