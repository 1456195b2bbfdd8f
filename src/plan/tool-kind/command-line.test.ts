import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoted, simpleCommands, wordsIn, writesFile } from './command-line.ts';

const textsOf = (line: string): string[] => simpleCommands(line).map(({ text }) => text);

describe('simpleCommands', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['a b', ['a b']],
    ['a && b || c; d | e\nf', ['a', 'b', 'c', 'd', 'e', 'f']],
    ['a "b && c" \'d; e\' f\\;g', ['a "b && c" \'d; e\' f\\;g']],
    ["# it's a comment\na # b; c\nd#e", ['a', 'd#e']],
    ["echo $# 'a # b'", ["echo $# 'a # b'"]],
    ['"unbalanced; a', ['"unbalanced', 'a']],
  ])('%j', (line, texts) => {
    expect(textsOf(line)).toEqual(texts);
  });

  it('keeps the lines of heredocs apart', () => {
    const line = "cat > a <<'EOF' && make\nit's; rm -rf x\nEOF\npython - <<-X\n\tprint(1)\n\tX\ncat <<< y";
    expect(simpleCommands(line)).toEqual([
      { text: "cat > a <<'EOF'", joiner: '&&', heredoc: "it's; rm -rf x\nEOF\n" },
      { text: 'make', joiner: '\n', heredoc: '' },
      { text: 'python - <<-X', joiner: '\n', heredoc: '\tprint(1)\n\tX\n' },
      { text: 'cat <<< y', joiner: '', heredoc: '' },
    ]);
    expect(textsOf('cat <<A <<B\na\nA\nb\nB\nls')).toEqual(['cat <<A <<B', 'ls']);
    expect(textsOf('cat <<EOF\nno end; ls')).toEqual(['cat <<EOF']);
  });
});

describe('wordsIn', () => {
  it('joins the parts of a word', () => {
    expect(wordsIn(String.raw`a --b='c d'"e f"g \"h i\ j "k \"l\" \n" ''`)).toEqual([
      'a',
      '--b=c de fg',
      '"h',
      'i j',
      String.raw`k "l" \n`,
      '',
    ]);
  });

  it('reads any list of words that was quoted', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (list) => {
        expect(wordsIn(list.map(quoted).join(' '))).toEqual(list);
      }),
    );
  });
});

it.each<[string, boolean]>([
  ['cat > a', true],
  ['cat >> a', true],
  ['cat a 2>&1', false],
  ['cat a >/dev/null 2>/dev/null', false],
  ['awk "NR > 3" a', false],
])('writesFile: %s', (text, expected) => {
  expect(writesFile(text)).toBe(expected);
});
