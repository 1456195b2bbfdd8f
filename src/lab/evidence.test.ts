import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../message.ts';
import { countMisses, type Quote, quotesOf } from './evidence.ts';
import type { Context } from './run.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const says = (content: string): ChatMessage => ({ role: 'assistant', content });
const shows = (content: string, toolCallId = 'call'): ChatMessage => ({ role: 'tool', content, toolCallId });

function calls(name: string, args: unknown, id = 'call'): ChatMessage {
  const json = typeof args === 'string' ? args : JSON.stringify(args);
  return { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: json }] };
}

const bash = (command: string): ChatMessage => calls('bash', { command });
const edit = (old_string: string): ChatMessage => calls('edit', { old_string });

function contextOf(messages: readonly ChatMessage[], carriedTurns = 0): Context {
  return { file: 'run.json', run: 0, format: 'messages', messages, times: [], carriedTurns };
}

/** The quotes of the last call. */
function lastQuotes(kind: Quote['kind'], messages: readonly ChatMessage[]): readonly Quote[] {
  const { calls } = quotesOf(contextOf(messages));
  return calls.at(-1)?.quotes.filter((quote) => quote.kind === kind) ?? [];
}

const textsOf = (kind: Quote['kind'], ...messages: ChatMessage[]): string[] =>
  lastQuotes(kind, messages).map(({ text }) => text);

const holdersOf = (kind: Quote['kind'], ...messages: ChatMessage[]): (readonly number[] | 'permanent')[] =>
  lastQuotes(kind, messages).map(({ isSupported, holders }) => (isSupported ? 'permanent' : holders));

describe('old text of edits', () => {
  it.each(['old_string', 'old_str', 'oldString', 'oldText', 'old_text', 'oldStr'])('is found under %s', (key) => {
    expect(textsOf('edit', calls('edit', { path: 'a', [key]: 'const first = 1;' }))).toEqual(['const first = 1;']);
  });

  it('is found in every edit of a list', () => {
    const edits = [
      { oldText: 'first line', newText: 'a' },
      { oldText: 'second line', newText: 'b' },
    ];
    expect(textsOf('edit', calls('edit', { path: 'a', edits }))).toEqual(['first line', 'second line']);
  });

  it('counts by trimmed line, from 8 characters and three of a word on, once for each edit', () => {
    const old = '  const first = 1;\r\n\tconst first = 1;  \nshort\n--- *** ---\n(a, b, c)\n12345678';
    expect(textsOf('edit', edit(old))).toEqual(['const first = 1;', '12345678']);
  });

  it('counts the first 200 lines, and 4000 characters of a line', () => {
    const lines = Array.from({ length: 250 }, (_, i) => `the line ${i}`);
    expect(textsOf('edit', edit(lines.join('\n')))).toEqual(lines.slice(0, 200));
    expect(textsOf('edit', edit('x'.repeat(5000)))).toEqual(['x'.repeat(4000)]);
  });

  it('is held inside a line, in the same case', () => {
    const seen = [bash('cat a'), shows('  12→\tconst first = 1; // one'), shows('CONST FIRST = 1;')];
    expect(holdersOf('edit', ...seen, edit('const first = 1;'))).toEqual([[0]]);
  });

  it('is the context and the removed lines of each hunk that updates a file, and what @@ names', () => {
    const patch = `*** Begin Patch
*** Add File: src/new.ts
+an added line
*** Update File: src/changed.ts
*** Move to: src/moved.ts
@@ class Somebody
 the context line
-the removed line
+the added line
@@
-another removed line
*** Delete File: src/gone.ts
-never looked for
*** End Patch
 outside of it`;
    const lines = ['class Somebody', 'the context line', 'the removed line', 'another removed line'];
    expect(textsOf('edit', calls('apply_patch', patch))).toEqual(lines);
    expect(textsOf('edit', calls('shell', { command: ['apply_patch', patch] }))).toEqual(lines);
    expect(textsOf('edit', bash(`apply_patch <<'EOF'\n${patch}\nEOF`))).toEqual(lines);
  });

  it.each([
    [`sed -i 's/old text here/new/' file`, ['old text here']],
    [`sed -i.bak -e 's|old/text|new|g' \\\n  -e 's#more old#new#' file`, ['old/text', 'more old']],
    [`sed -E --in-place '12,14s/call(a, b)/x/' file`, ['call(a, b)']],
    [`sed -i 's/list\\[0\\]\\.name/x/' file`, ['list[0].name']],
    [`sed -i 's/short/x/' file`, []],
    [`sed -i 's/old.*text here/x/' file`, []],
    [`sed -i 's/^old text here/x/' file`, []],
    [`sed -i 's/old \\(text\\) here/x/' file`, []],
    [`sed -i 's/old [text] here/x/' file`, []],
    [`sed 's/old text here/new/' file`, []],
    [`sed -i '5d' file && sed -n 's/old text here/x/p' file`, []],
  ])('is what sed -i substitutes, if it is plain: %s', (command, lines) => {
    expect(textsOf('edit', bash(command))).toEqual(lines);
    expect(textsOf('edit', calls('bash', command))).toEqual(lines);
  });

  it.each([
    ['text = text.replace("say \\"old text\\"\\nand more", "new")', ['say "old text"', 'and more']],
    ["text.replace(\n  'old text here',\n  'new')", ['old text here']],
    ["old_block = '''\nfirst old line\nsecond old line\n'''", ['first old line', 'second old line']],
    ['marker = r"""a raw \\d+ line"""', ['a raw \\d+ line']],
    ['name = """not looked for"""', []],
    ['text.replace(pattern, "new text")', []],
  ])('is what a piece of Python in a command replaces: %s', (script, lines) => {
    expect(textsOf('edit', bash(`python3 - <<'EOF'\n${script}\nEOF`))).toEqual(lines);
  });

  it('is not what a file that is written contains', () => {
    expect(textsOf('edit', calls('write', { content: `sed -i 's/old text here/new/' file` }))).toEqual([]);
  });
});

describe('identifiers', () => {
  const named = (text: string): string[] => textsOf('identifier', bash(text));

  it('are tokens of 8 characters and 4 letters with more than one word', () => {
    expect(named('grep someName some_name some.name some/name somename SOMENAME')).toEqual([
      'someName',
      ...['some_name', 'some.name', 'some/name'],
    ]);
    expect(named('a_name 1234_567.89 12_abc_4 12_abcd_4')).toEqual(['12_abcd_4']);
  });

  it('are one word with underscores around it only', () => {
    expect(named('__name__ __main__ __all_names__ _someName')).toEqual(['__all_names__', '_someName']);
  });

  it('lose the punctuation around them, but no ../', () => {
    expect(named('././src/a.ts. @scope/name, ~/.config/file --some-flag.x ../../lib/a.ts/ -.-some_name-')).toEqual([
      ...['src/a.ts', 'scope/name', '/.config/file', 'some-flag.x', '../../lib/a.ts', 'some_name'],
    ]);
  });

  it('are none of the old text of an edit, nor of its words', () => {
    const args = { path: 'src/a.ts', old_string: 'call(someName)', new_string: 'call(someName, otherName)' };
    expect(textsOf('identifier', calls('edit', args))).toEqual(['src/a.ts', 'otherName']);
  });

  it('of a patch are its files, then the added lines', () => {
    const patch =
      '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-old_name\n+new_name\n*** Add File: src/b.ts\n+addedName';
    expect(textsOf('identifier', calls('apply_patch', patch))).toEqual([
      'src/a.ts',
      'src/b.ts',
      'new_name',
      'addedName',
    ]);
  });

  it.each([
    ...['new_string', 'new_str', 'newString', 'newText', 'new_text', 'content', 'contents', 'file_text', 'code'],
    ...['todos', 'plan', 'prompt', 'description'],
  ])('under %s come after those that address something', (key) => {
    const args = { [key]: [{ text: 'written_name' }], path: 'src/a.ts', number: 1234.5, flag: true, none: null };
    expect(textsOf('identifier', calls('write', args))).toEqual(['src/a.ts', 'written_name']);
  });

  it('are counted once, the first 60 of a call', () => {
    const names = Array.from({ length: 80 }, (_, i) => `some_name_${i}`);
    expect(textsOf('identifier', calls('write', { content: `${names} ${names}`, path: 'src/a.ts' }))).toEqual([
      ...['src/a.ts', ...names.slice(0, 59)],
    ]);
  });

  it('are held where no word goes on around them', () => {
    const seen = ['some_name', 'x.some_name()', 'some_names', 'xsome_name', 'xsome_name, then some_name'];
    const results = [bash('ls'), ...seen.map((text) => shows(text))];
    expect(holdersOf('identifier', ...results, bash('grep some_name'))).toEqual([[4, 1, 0]]);
  });

  it('that occur nowhere are replaced by the longest end of a path that does', () => {
    const seen = [bash('ls'), shows('lib/src/deep/file.ts'), shows('file.ts deep/file.ts')];
    expect(lastQuotes('identifier', [...seen, bash('cat /home/me/src/deep/file.ts')])).toEqual([
      { kind: 'identifier', text: 'src/deep/file.ts', isSupported: false, holders: [0] },
    ]);
    expect(holdersOf('identifier', ...seen, bash('cat /home/me/deep/file.ts'))).toEqual([[1, 0]]);
    expect(lastQuotes('identifier', [...seen, bash('cat /other/name.ts')])).toEqual([
      { kind: 'identifier', text: '/other/name.ts', isSupported: false, holders: [] },
    ]);
  });

  it('are not replaced by an end that would be no identifier', () => {
    expect(textsOf('identifier', bash('ls'), shows('file.ts'), bash('cat /home/file.ts'))).toEqual(['/home/file.ts']);
  });
});

describe('line anchors', () => {
  const seen = [calls('read', { path: 'src/file.ts' }), shows('   41→\tone\n   42→\ttwo')];

  it.each([
    [`sed -i '41,42d' src/file.ts`, ['41', '42']],
    [`sed -i '42s/two/three/' src/file.ts && echo done`, ['42']],
    [`sed -i "42a\\\n  more\\\n  lines" src/file.ts`, ['42']],
    [`sed -i -e '41d' -e '42i\\x' src/file.ts`, ['41', '42']],
    ['edit 41:42\nnew text\nend_of_edit', ['41', '42']],
    [`sed -n '41,42p' src/file.ts`, []],
    [`sed -i '1d' src/file.ts`, []],
    [`sed -i '42r other' src/file.ts`, []],
  ])('are the addresses of %s', (command, lines) => {
    expect(textsOf('anchor', ...seen, bash(command))).toEqual(lines);
  });

  it('are the line after which is inserted', () => {
    const insert = calls('edit', { command: 'insert', path: '/src/file.ts', insert_line: 42, new_str: 'x' });
    expect(textsOf('anchor', ...seen, insert)).toEqual(['42']);
    expect(holdersOf('anchor', ...seen, insert)).toEqual([[0]]);
  });

  it.each(['42: two', '\t42\ttwo', '42|two', '42  two', 'file.ts:42: two', '1\n 42→ two'])('are held by %j', (text) => {
    const results = [calls('read', { path: 'file.ts' }), shows(text)];
    expect(holdersOf('anchor', ...results, bash(`sed -i '42d' file.ts`))).toEqual([[0]]);
  });

  it.each(['142: two', '42 two', 'x 42: two', '42', '4 2: two'])('are not held by %j', (text) => {
    const results = [calls('read', { path: 'file.ts' }), shows(text)];
    expect(holdersOf('anchor', ...results, bash(`sed -i '42d' file.ts`))).toEqual([[]]);
  });

  it('are held only where the file is named, by the result or by its call', () => {
    const elsewhere = [calls('read', { path: 'other.ts' }, 'a'), shows('42: two', 'a'), shows('file.ts\n42: two', 'b')];
    expect(holdersOf('anchor', ...elsewhere, bash(`sed -i '42d' src/file.ts`))).toEqual([[1]]);
    expect(holdersOf('anchor', ...elsewhere, bash('edit 42:42'))).toEqual([[1, 0]]);
  });

  it('are supported by the number in what the model said or called before, but not by the user', () => {
    const cut = bash(`sed -i '42d' src/file.ts`);
    expect(holdersOf('anchor', user('Look at line 42.'), ...seen, cut)).toEqual([[0]]);
    expect(holdersOf('anchor', ...seen, says('It is line 42.'), cut)).toEqual(['permanent']);
    expect(holdersOf('anchor', ...seen, says('It is line 420.'), cut)).toEqual([[0]]);
    expect(holdersOf('anchor', ...seen, bash('head -n 42 src/file.ts'), cut)).toEqual(['permanent']);
  });
});

describe('sources', () => {
  const line = 'const first = 1;';

  it.each([
    ['the system', { role: 'system', content: `Note ${line}` } as const],
    ['the user', user(`Note ${line}`)],
    ['the model', says(`Note ${line}`)],
    ['a call', calls('write', { content: `"${line}"\r\n` })],
    ['a call written as text', calls('bash', `echo '${line}'`)],
  ])('are permanent in what is said by %s', (_, message) => {
    expect(holdersOf('edit', bash('cat a'), shows(line), message, edit(line))).toEqual(['permanent']);
  });

  it('are permanent in the name of a tool', () => {
    expect(holdersOf('identifier', calls('some_tool_name', {}), bash('grep some_tool_name'))).toEqual(['permanent']);
  });

  it('are not the text and the other calls of the same reply', () => {
    const reply: ChatMessage = {
      role: 'assistant',
      content: line,
      toolCalls: [
        { id: 'a', name: 'write', arguments: JSON.stringify({ content: line }) },
        { id: 'b', name: 'edit', arguments: JSON.stringify({ old_string: line }) },
      ],
    };
    expect(holdersOf('edit', bash('cat a'), shows(line), reply)).toEqual([[0]]);
    expect(holdersOf('edit', bash('cat a'), shows(line), reply, edit(line))).toEqual(['permanent']);
  });

  it('are in the texts of an observation that is JSON, as a whole', () => {
    const quoted = 'say "first" twice';
    const json = JSON.stringify({ output: `a\r\n  ${quoted}\r\n`, list: [{ code: 12_345_678 }, true, null] });
    expect(holdersOf('edit', bash('cat a'), shows(` ${json}\n`), edit(quoted))).toEqual([[0]]);
    expect(holdersOf('edit', bash('cat a'), shows(json), edit('12345678'))).toEqual([[0]]);
    expect(holdersOf('edit', bash('cat a'), shows(JSON.stringify(quoted)), edit(quoted))).toEqual([[0]]);
    expect(holdersOf('edit', bash('cat a'), shows(`Result: ${json}`), edit(quoted))).toEqual([[]]);
    expect(holdersOf('edit', bash('cat a'), shows(`{ ${quoted} }`), edit(quoted))).toEqual([[0]]);
  });

  it('are the same with every kind of line end', () => {
    const both = 'first half\nsecond half';
    expect(holdersOf('edit', bash('cat a'), shows('first half\r\nsecond half\r'), edit(both))).toEqual([[0], [0]]);
  });

  it('are at most the newest 64 observations', () => {
    const results = Array.from({ length: 70 }, () => shows(line));
    const newest = Array.from({ length: 64 }, (_, i) => 69 - i);
    expect(holdersOf('edit', bash('cat a'), ...results, edit(line))).toEqual([newest]);
    const numbered = results.map(() => shows('42: two'));
    expect(holdersOf('anchor', bash('cat a'), ...numbered, bash('edit 42:42'))).toEqual([newest]);
  });

  it('are read from JSON of any depth', () => {
    const deep = `${'['.repeat(20_000)}"${line}"${']'.repeat(20_000)}`;
    expect(holdersOf('edit', bash('cat a'), shows(deep), edit(line))).toEqual([[0]]);
  });
});

describe('countMisses', () => {
  const messages = [
    user('Fix it.'),
    bash('cat a'),
    shows('const first = 1; some_name'),
    bash('cat b'),
    shows('some_name\n42: two'),
    says('Now I edit.'),
    edit('const first = 1;'),
    shows('done'),
    bash('grep some_name'),
    bash('edit 42:42'),
  ];
  const evidence = quotesOf(contextOf(messages));
  const NEVER = Number.POSITIVE_INFINITY;

  it('counts nothing while a holder of each quote is in sight', () => {
    const none = { edit: 0, identifier: 0, anchor: 0, any: 0, calls: 5 };
    expect(countMisses(evidence, [])).toEqual(none);
    expect(countMisses(evidence, [NEVER, NEVER, NEVER])).toEqual(none);
    expect(countMisses(evidence, [5, 7])).toEqual(none);
  });

  it('counts calls, by kind and in all, for which every holder was masked by their own request', () => {
    expect(countMisses(evidence, [4, NEVER])).toEqual({ edit: 1, identifier: 0, anchor: 0, any: 1, calls: 5 });
    expect(countMisses(evidence, [5, 5])).toEqual({ edit: 0, identifier: 1, anchor: 1, any: 2, calls: 5 });
    expect(countMisses(evidence, [2, 3])).toEqual({ edit: 1, identifier: 1, anchor: 1, any: 3, calls: 5 });
  });

  it('counts a call once, however much it misses', () => {
    const both = calls('edit', { path: 'some_name', old_string: 'const first = 1;\nsome_name' });
    const misses = countMisses(quotesOf(contextOf([bash('cat a'), shows('const first = 1; some_name'), both])), [2]);
    expect(misses).toEqual({ edit: 1, identifier: 0, anchor: 0, any: 1, calls: 2 });
    const kinds = calls('edit', { path: 'some_name', old_string: 'const first = 1;' });
    const more = countMisses(quotesOf(contextOf([bash('cat a'), shows('const first = 1; some_name'), kinds])), [2]);
    expect(more).toEqual({ edit: 1, identifier: 1, anchor: 0, any: 1, calls: 2 });
  });

  it('does not count what was never seen', () => {
    const unseen = quotesOf(contextOf([bash('cat a'), shows('nothing'), edit('const first = 1;')]));
    expect(countMisses(unseen, [1]).any).toBe(0);
  });

  it('leaves out the calls of turns that were carried over, which still support and hold', () => {
    const carried = quotesOf(contextOf(messages, 4));
    expect(carried.calls.map(({ turn }) => turn)).toEqual([5, 6]);
    expect(countMisses(carried, [2, 3])).toEqual({ edit: 0, identifier: 1, anchor: 1, any: 2, calls: 2 });
  });
});
