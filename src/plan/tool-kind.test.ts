import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers, KINDS, type LineRange, readToolUse, type ToolKind } from './tool-kind.ts';

const all = Number.POSITIVE_INFINITY;
const kindOf = (tool: string, args: object | string = {}): ToolKind =>
  readToolUse(tool, typeof args === 'string' ? args : JSON.stringify(args)).kind;
const rangeOf = (tool: string, args: object | string): LineRange | undefined =>
  readToolUse(tool, typeof args === 'string' ? args : JSON.stringify(args)).read;
const shellKind = (command: string | readonly string[]): ToolKind => kindOf('bash', { command });
const shown = (command: string, more: object = {}): LineRange | undefined => rangeOf('bash', { command, ...more });

describe('the kind of a tool, by its name alone', () => {
  const agents: Readonly<Record<string, Partial<Record<ToolKind, string>>>> = {
    'Claude Code': {
      read: 'Read NotebookRead WebFetch',
      edit: 'Edit MultiEdit Write NotebookEdit',
      search: 'Grep Glob LS WebSearch',
      shell: 'Bash BashOutput KillShell',
      other: 'Task TodoWrite TaskCreate TaskUpdate ExitPlanMode Skill SlashCommand AskUserQuestion',
    },
    'Codex CLI': {
      read: 'read_file view_image',
      edit: 'apply_patch',
      search: 'list_dir grep_files web_search',
      shell: 'shell shell_command exec_command local_shell container.exec functions.exec_command write_stdin',
      other: 'update_plan',
    },
    OpenCode: {
      read: 'read webfetch',
      edit: 'edit multiedit write patch apply_patch',
      search: 'glob grep list websearch codesearch',
      shell: 'bash',
      other: 'task todowrite todoread skill',
    },
    'Gemini CLI': {
      read: 'read_file read_many_files web_fetch',
      edit: 'replace write_file',
      search: 'list_directory glob search_file_content grep_search google_web_search',
      shell: 'run_shell_command',
      other: 'save_memory write_todos',
    },
    Cline: {
      read: 'read_file read_files',
      edit: 'write_to_file replace_in_file apply_diff insert_content search_and_replace editor',
      search: 'search_files list_files list_code_definition_names codebase_search',
      shell: 'execute_command run_commands',
      other: 'ask_followup_question attempt_completion browser_action new_task',
    },
    'SWE-agent and OpenHands': {
      read: 'open file_read',
      edit: 'str_replace_editor file_editor create file_write',
      search: 'find_file search_dir search_file',
      shell: 'bash execute_bash run execute_ipython_cell run_ipython terminal shell_exec',
      other: 'finish think submit task_tracker',
    },
    'goose and pi': {
      read: 'read',
      edit: 'developer__text_editor edit write',
      search: 'grep find ls',
      shell: 'developer__shell bash',
      other: 'developer__analyze',
    },
    'Copilot, Cursor, Windsurf, Kiro': {
      read: 'fetch_webpage view_file view_line_range fsRead readCode',
      edit: 'replace_string_in_file multi_replace_string_in_file insert_edit_into_file create_file search_replace edit_file delete_file replace_file_content fsWrite strReplace',
      search: 'file_search grep_search semantic_search semSearch list_dir list_code_usages find_by_name',
      shell: 'run_in_terminal get_terminal_output run_terminal_cmd run_command executeBash',
      other: 'get_errors reapply diagnostics',
    },
    'MCP servers': {
      read: 'mcp__filesystem__read_file mcp__fs__read_text_file filesystem.read_multiple_files mcp_filesystem_read_file github:get_file_contents read-file',
      edit: 'mcp__fs__edit_file github__create_or_update_file serena/replace_symbol_body move_file',
      search: 'mcp__fs__directory_tree mcp__fs__list_directory search_code find_symbol search_for_pattern',
      shell: 'mcp__serena__execute_shell_command',
      other: 'mcp__github__create_issue mcp__jira__search_issues notion:update_page mcp__server__ mcp__db__execute_sql',
    },
    'tau-bench': {
      other:
        'get_order_details update_reservation_flights search_direct_flight list_all_airports find_user_id_by_email ' +
        'book_reservation calculate think transfer_to_human_agents',
    },
  };
  const rows = Object.entries(agents).flatMap(([agent, kinds]) =>
    Object.entries(kinds).flatMap(([kind, names]) => names.split(' ').map((name) => ({ agent, name, kind }))),
  );
  it.each(rows)('$agent: $name is $kind', ({ name, kind }) => {
    expect(kindOf(name)).toBe(kind);
  });
  it('is other where there is no name', () => {
    expect([readToolUse(undefined, '{}').kind, kindOf('')]).toEqual(['other', 'other']);
  });
  it('is one of the kinds for any name and any arguments', () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(fc.string(), fc.json()), (name, args) => {
        for (const tool of [name, 'bash', 'read', 'str_replace_editor'])
          expect(KINDS).toContain(readToolUse(tool, args).kind);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('an editor with commands', () => {
  it.each([
    'str_replace_editor',
    'str_replace_based_edit_tool',
    'text_editor',
    'developer__text_editor',
    'file_editor',
  ])('%s reads where its command is view, and edits with every other', (tool) => {
    expect(readToolUse(tool, '{"command":"view","path":"/a.ts"}')).toEqual({
      kind: 'read',
      read: { path: '/a.ts', from: 1, to: all },
    });
    for (const command of ['create', 'str_replace', 'insert', 'undo_edit', 'write'])
      expect(kindOf(tool, { command, path: '/a.ts' })).toBe('edit');
  });
  it('edits where its arguments are too long to be a view', () => {
    expect(kindOf('str_replace_editor', { path: '/a', file_text: 'x'.repeat(30_000), command: 'create' })).toBe('edit');
  });
});

describe('the lines that a read shows', () => {
  it.each<[object, LineRange]>([
    [{ file_path: '/a.ts' }, { path: '/a.ts', from: 1, to: all }],
    [
      { filePath: 'a.ts', offset: 10, limit: 20 },
      { path: 'a.ts', from: 10, to: 29 },
    ],
    [
      { absolute_path: '/a.ts', limit: 20 },
      { path: '/a.ts', from: 1, to: 20 },
    ],
    [
      { path: 'a.ts', offset: 10 },
      { path: 'a.ts', from: 10, to: all },
    ],
    [
      { path: 'a.ts', start_line: 3, end_line: 7 },
      { path: 'a.ts', from: 3, to: 7 },
    ],
    [
      { filePath: 'a.ts', startLine: 3, endLine: 7 },
      { path: 'a.ts', from: 3, to: 7 },
    ],
    [
      { path: 'a.ts', start_line: 3, end_line: -1 },
      { path: 'a.ts', from: 3, to: all },
    ],
    [
      { path: 'a.ts', view_range: [3, 7] },
      { path: 'a.ts', from: 3, to: 7 },
    ],
    [
      { path: 'a.ts', view_range: [3, -1] },
      { path: 'a.ts', from: 3, to: all },
    ],
    [
      { path: 'a.ts', view_range: [0, -1] },
      { path: 'a.ts', from: 1, to: all },
    ],
    [
      { path: 'a.ts', view_range: null, offset: '', limit: null },
      { path: 'a.ts', from: 1, to: all },
    ],
    [
      { path: 'a.ts', offset: '10', limit: '5' },
      { path: 'a.ts', from: 10, to: 14 },
    ],
    [
      { path: 'a.ts', description: 'look', security_risk: 'LOW' },
      { path: 'a.ts', from: 1, to: all },
    ],
    [{ files: [{ path: 'a.ts', start_line: 3, end_line: 7 }] }, { path: 'a.ts', from: 3, to: 7 }],
    [{ paths: ['a.ts'] }, { path: 'a.ts', from: 1, to: all }],
    [{ path: './src//x/../a.ts' }, { path: 'src/a.ts', from: 1, to: all }],
    [{ path: '/a/../b/./c' }, { path: '/b/c', from: 1, to: all }],
    [{ path: '../../a' }, { path: '../../a', from: 1, to: all }],
  ])('%j', (args, range) => {
    expect(rangeOf('read_file', args)).toEqual(range);
  });

  // Models write lists as text. Taken for the whole file, such a read would cover every other read of it.
  it('are those of a range written as a text', () => {
    const view = { command: 'view', path: '/a.ts', view_range: '[393, -1]' };
    expect(rangeOf('str_replace_editor', view)).toEqual({ path: '/a.ts', from: 393, to: all });
  });

  it.each<[string, object | string]>([
    ['no path', {}],
    ['a list of several files', { files: [{ path: 'a' }, { path: 'b' }] }],
    ['several paths', { paths: ['a', 'b'] }],
    ['pages', { file_path: 'a.pdf', pages: '1-5' }],
    ['a mode', { path: 'a', mode: 'Search', pattern: 'x' }],
    ['an offset that is no number', { file_path: 'a', offset: '[280, 330]', limit: 60 }],
    ['an offset from the end', { path: 'a', offset: -100 }],
    ['a range that is none', { path: 'a', view_range: [1, 2, 3] }],
    ['a question about a page of the web', { url: 'https://x.dev/a', prompt: 'what is it?' }],
    ['a page of the web from an index on', { url: 'https://x.dev/a', start_index: 5000 }],
    ['arguments that are no JSON', '{"path": "a'],
    ['arguments that are a text', 'a.ts'],
  ])('cannot be told from %s', (_, args) => {
    expect(readToolUse('read', typeof args === 'string' ? args : JSON.stringify(args))).toEqual({ kind: 'read' });
  });
});

describe('covers', () => {
  const range = (from: number, to: number, path = 'a'): LineRange => ({ path, from, to });
  it.each<[LineRange, LineRange, boolean]>([
    [range(1, all), range(1, all), true],
    [range(1, all), range(5, 9), true],
    [range(5, 9), range(5, 9), true],
    [range(4, 10), range(5, 9), true],
    [range(5, 9), range(1, all), false],
    [range(5, 9), range(5, 10), false],
    [range(6, 9), range(5, 9), false],
    [range(1, all), range(1, all, 'b'), false],
  ])('%j over %j: %s', (newer, older, answer) => {
    expect(covers(newer, older)).toBe(answer);
  });
});

describe('the kind of a shell command', () => {
  it.each<[ToolKind, readonly string[]]>([
    [
      'read',
      [
        'cat a.ts',
        'cat a.ts b.ts',
        'nl -ba a.ts | sed -n "1,20p"',
        "sed -n '10,40p' a.ts",
        "sed 's/a/b/' a.ts",
        'head -50 a.ts',
        'tail -n 5 a.log',
        'cat a.ts 2>/dev/null | head -30',
        'cat a.ts > /dev/null',
        'cd src && cat a.ts',
        'cd src; cat a.ts',
        'cd src\ncat a.ts',
        '# what is in it?\n\ncat a.ts',
        'pwd && cat a.ts',
        'echo "--- a"; cat a.ts',
        'FOO=1 sudo /bin/cat a.ts',
        'timeout 10 cat a.ts',
        "bash -lc 'cat a.ts'",
        'Get-Content a.ts',
        'docker exec box cat a.ts',
        "ssh host 'cd x && cat a.ts'",
        'sudo -u me env X=1 cat a.ts',
        'open a.ts 100',
        'goto 40',
      ],
    ],
    [
      'search',
      [
        'grep -rn "a > b" src',
        'rg --files | head',
        'find . -name "*.ts" | xargs grep x',
        'ls -la',
        'git grep x',
        'git ls-files',
        'cd src && rg x',
        "cat a.tsx | grep '=>'",
        'cat a.html | grep "<div>"',
        'pwd && rg -n "checkpoint|details" src',
        'search_dir "x" src',
        'Select-String -Path a -Pattern x',
      ],
    ],
    [
      'edit',
      [
        'cat > a.ts <<EOF\nx\nEOF',
        "cat <<'EOF' > a.ts\nit's\nEOF",
        'cat <<EOF >> a.ts\nx\nEOF',
        "sed -i 's/a/b/' a.ts",
        "sed -i.bak 's/a/b/' a.ts",
        "sed --in-place 's/a/b/' a.ts",
        "perl -pi -e 's/a/b/' a.ts",
        'echo x > a.ts',
        'printf "x" >> a.ts',
        'head -n 8 a.ts > b.ts',
        'git apply x.patch',
        'patch -p1 < x.patch',
        "apply_patch <<'EOF'\n*** Begin Patch\nEOF",
        'cd src && cat > a.ts <<EOF\nx\nEOF',
        '# write it\ncat > a.ts <<EOF\nx\nEOF',
        'edit 1:3 <<EOF\nx\nend_of_edit',
      ],
    ],
    [
      'shell',
      [
        '',
        'npm test',
        'npm test 2>&1 | grep fail',
        'npm test > out.log',
        'git status',
        'git diff > a.patch',
        'python - <<EOF\nprint(open("a").read())\nEOF',
        'cat a.json | jq .x',
        "sed -n '1,5p' a | od -c",
        'cd src && npm test',
        'cd src',
        'echo done',
        'for f in *; do cat $f; done',
        'bash run.sh',
        'catalog',
        'finder x',
        '"unbalanced',
        "don't",
      ],
    ],
  ])('%s', (kind, commands) => {
    for (const command of commands) expect([command, shellKind(command)]).toEqual([command, kind]);
  });

  it('is the same for a list, for a list with a shell in it, and by any name for the argument', () => {
    expect(shellKind(['cat', 'a.ts'])).toBe('read');
    expect(shellKind(['bash', '-lc', 'rg x'])).toBe('search');
    expect(shellKind(['/bin/zsh', '-c', 'sed -i s/a/b/ a'])).toBe('edit');
    expect(shellKind(['powershell.exe', '-c', 'Get-ChildItem'])).toBe('search');
    expect(shellKind(['apply_patch', '*** Begin Patch'])).toBe('edit');
    expect(shellKind(['bash', 'cat'])).toBe('shell');
    expect(kindOf('exec_command', { cmd: 'rg x' })).toBe('search');
    expect(kindOf('run_commands', { commands: ['cat a', 'cat b'] })).toBe('read');
    expect(kindOf('shell', 'ls -R')).toBe('search');
    expect(kindOf('bash', { restart: true })).toBe('shell');
    expect(kindOf('write_stdin', { session_id: 1, chars: 'cat a\n' })).toBe('shell');
    expect(kindOf('run_ipython', { code: 'find = 3' })).toBe('shell');
  });

  it('takes long commands without a search through all of them', () => {
    for (const unit of ['"', "'", '\\"', '|', '&', '# x\n', 'a=b ', '>', '  ']) {
      // A search through the rest for each of them would not end within the time of a test.
      expect(KINDS).toContain(kindOf('bash', unit.repeat(1_000_000)));
    }
  });
});

describe('the lines that a shell command shows', () => {
  it.each<[string, LineRange]>([
    ['cat a.ts', { path: 'a.ts', from: 1, to: all }],
    ['cat -n "a.ts"', { path: 'a.ts', from: 1, to: all }],
    ['nl -ba ./a.ts', { path: 'a.ts', from: 1, to: all }],
    ['cat a.ts 2>/dev/null', { path: 'a.ts', from: 1, to: all }],
    ["sed -n '10,40p' a.ts", { path: 'a.ts', from: 10, to: 40 }],
    ['sed -n "10,40p" a.ts', { path: 'a.ts', from: 10, to: 40 }],
    ['sed -n 10,40p a.ts', { path: 'a.ts', from: 10, to: 40 }],
    ["sed -n '10p' a.ts", { path: 'a.ts', from: 10, to: 10 }],
    ["sed -n '10,$p' a.ts", { path: 'a.ts', from: 10, to: all }],
    ['head -n 40 a.ts', { path: 'a.ts', from: 1, to: 40 }],
    ['head -40 a.ts', { path: 'a.ts', from: 1, to: 40 }],
    ['head -n40 a.ts', { path: 'a.ts', from: 1, to: 40 }],
    ['tail -n +40 a.ts', { path: 'a.ts', from: 40, to: all }],
    ["nl -ba a.ts | sed -n '10,40p'", { path: 'a.ts', from: 10, to: 40 }],
    ['cat a.ts | head -40', { path: 'a.ts', from: 1, to: 40 }],
    ['cd /repo && cat src/a.ts', { path: '/repo/src/a.ts', from: 1, to: all }],
    ['cd /repo; cd src; cat ../a.ts', { path: '/repo/a.ts', from: 1, to: all }],
    ['cd /repo && cat /etc/a', { path: '/etc/a', from: 1, to: all }],
    ['# look\ncat a.ts', { path: 'a.ts', from: 1, to: all }],
  ])('%s', (command, range) => {
    expect(shown(command)).toEqual(range);
  });

  // A read in one directory would cover the read of another file of the same name.
  it('are of a file in the directory in which the command ran', () => {
    expect(shown('cat package.json', { workdir: '/repo/a' })?.path).toBe('/repo/a/package.json');
    expect(shown('cd b && cat package.json', { workdir: '/repo/a' })?.path).toBe('/repo/a/b/package.json');
    expect(shown('cd pkg1 && cat package.json')?.path).not.toBe(shown('cd pkg2 && cat package.json')?.path);
    expect(rangeOf('shell', { command: ['bash', '-lc', 'cat a'], workdir: '/r' })?.path).toBe('/r/a');
  });

  it.each([
    // Inside a container or on another host, the same path is another file.
    "docker exec box sh -c 'cat a.ts'",
    "ssh host 'cd /repo && cat a.ts'",
    'docker exec box cat a.ts',
    'cat a.ts b.ts',
    'cat *.ts',
    'cat src/{a,b}.ts',
    'cat $FILE',
    'cat "$FILE"',
    'cat `which x`',
    'cat ~/a',
    'cat <<EOF\nx\nEOF',
    'cat < a.ts',
    'cat',
    'cat a.ts; cat b.ts',
    'cat a.ts && npm test',
    'cat a.ts\ncat b.ts',
    'cat a.ts | head -110 | tail -20',
    'cat a.ts | tail -20',
    "sed -n '1,5p;9,12p' a.ts",
    "sed -n '/x/p' a.ts",
    "sed -n '1,5p' a.ts b.ts",
    "sed -n '1,50p' a.ts | head -5",
    'sed s/a/b/ a.ts',
    'head a.ts',
    'tail -n 5 a.ts',
  ])('cannot be told from %s', (command) => {
    expect(readToolUse('bash', JSON.stringify({ command }))).toEqual({ kind: 'read' });
  });
});
