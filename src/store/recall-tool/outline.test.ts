import { describe, expect, it } from 'vitest';
import { recallLimits } from '../../limits.ts';
import { outlineOf } from './outline.ts';

const filler = (count: number): string[] => Array.from({ length: count }, (_, i) => `some words of line ${i}`);
const text = (...lines: (string | string[])[]): string => lines.flat().join('\n');

describe('the outline', () => {
  it.each<[string, string, readonly string[], string]>([
    [
      'TypeScript',
      text(
        'import x, {',
        '  type Y,',
        '} from "y";',
        'export async function load(path: string): Promise<void> {',
        '  if (path) {',
        'export const limit = 3;',
        'const add = (a: number) => a;',
        '  async read(): Promise<string> {',
        'interface Shape {',
        'export type Name<T> = T | string;',
      ),
      [
        '4:export async function load(path: string): Promise<void> {',
        '6:export const limit = 3;',
        '7:const add = (a: number) => a;',
        '8:  async read(): Promise<string> {',
        '9:interface Shape {',
        '10:export type Name<T> = T | string;',
      ],
      'definitions',
    ],
    [
      'Python with line numbers',
      text('    1→class A:', '    2→    def b(self):', '    3→        return 1', '    4→def c():'),
      ['1:    1→class A:', '2:    2→    def b(self):', '4:    4→def c():'],
      'definitions',
    ],
    [
      'Go and Rust',
      text('func (s *Server) Run() error {', '\tfor {', 'pub fn run(x: u8) -> u8 {', 'impl Display for A {'),
      ['1:func (s *Server) Run() error {', '3:pub fn run(x: u8) -> u8 {', '4:impl Display for A {'],
      'definitions',
    ],
    [
      'C',
      text(
        'static int add(int a, int b) {',
        '  return a + b;',
        'void run(void) {',
        'int main(int argc, char **argv) {',
      ),
      ['1:static int add(int a, int b) {', '3:void run(void) {', '4:int main(int argc, char **argv) {'],
      'definitions',
    ],
    [
      'Markdown, without the code in it',
      text('# Title', filler(3), '```sh', '# no heading', '```', '## Part'),
      ['1:# Title', '8:## Part'],
      'headings',
    ],
    [
      'the output of tests',
      text(filler(20), 'FAIL src/a.test.ts > adds', 'AssertionError: expected 1 to be 2', filler(5)),
      ['21:FAIL src/a.test.ts > adds', '22:AssertionError: expected 1 to be 2'],
      'lines about failures',
    ],
    [
      'a diff',
      text(
        'diff --git a/x.ts b/x.ts',
        '--- a/x.ts',
        '+++ b/x.ts',
        '@@ -1,2 +1,2 @@ class A',
        '-class A {',
        '+class B {',
      ),
      ['1:diff --git a/x.ts b/x.ts', '4:@@ -1,2 +1,2 @@ class A'],
      'changed files and places',
    ],
  ])('of %s has these lines', (_name, given, lines, kind) => {
    expect(outlineOf(given, 1200)).toEqual({ kind, lines, total: lines.length });
  });

  it('of JSON has its keys, with the lines where there are any', () => {
    const value = { name: 'a', items: [{ id: 1, title: 'x' }], meta: { a: 1 }, body: 'x'.repeat(90), none: null };
    const lines = [
      '"name": "a"',
      '"items": list of 1, the first with 2 keys: id, title',
      '"meta": object with 1 key: a',
      '"body": text of 90 characters',
      '"none": null',
    ];
    expect(outlineOf(JSON.stringify(value), 1200)).toEqual({ kind: 'keys', lines, total: 5 });
    const numbers = [2, 3, 9, 12, 13];
    expect(outlineOf(JSON.stringify(value, null, 2), 1200).lines).toEqual(
      lines.map((line, i) => `${numbers[i]}:${line}`),
    );
    expect(outlineOf(JSON.stringify(Array(50).fill({ id: 1 })), 1200)).toEqual({
      kind: 'items of a list',
      lines: [0, 1, 2].map((i) => `[${i}] object with 1 key: id`),
      total: 50,
    });
  });

  it('of other texts has lines at even distances', () => {
    const { kind, lines, total } = outlineOf(text(filler(120)), 1200);
    expect([kind, total, lines.length]).toEqual(['lines, at even distances', 120, 11]);
    expect(lines[0]).toBe('11:some words of line 10');
  });

  it('of a log has the lines with words of failures too', () => {
    const { kind, lines } = outlineOf(text(filler(55), '12:00 request failed: timeout', filler(64)), 1200);
    expect(kind).toBe('lines, about failures or at even distances');
    expect(lines).toHaveLength(12);
    expect(lines).toContain('56:12:00 request failed: timeout');
  });

  it('of a long log has the first and the last such lines, and fits', () => {
    const failures = Array.from({ length: 1000 }, (_, i) => `12:00 request ${i} failed: ${'x'.repeat(90)}`);
    const { lines } = outlineOf(text(failures), 1200);
    expect(lines.join('\n').length).toBeLessThan(1200);
    expect(lines.at(-1)).toMatch(/^1000:/);
  });

  it('keeps the outermost definitions where there are too many', () => {
    const many = Array.from({ length: 20 }, (_, i) => [`class A${i}:`, ...Array(5).fill('    def b(self):')]);
    const { lines, total } = outlineOf(text(...many), 1200);
    expect([lines.length, total]).toEqual([30, 120]);
    expect(lines.filter((line) => line.includes('class'))).toHaveLength(20);
  });

  it('keeps the first and the last failures, and clips long lines', () => {
    const failures = Array.from({ length: 500 }, (_, i) => `Error: number ${i} ${'x'.repeat(500)}`);
    const { lines } = outlineOf(text(failures), 5000);
    expect(lines).toHaveLength(recallLimits.outlineLines);
    expect(lines.at(0)).toMatch(/^1:Error: number 0 x/);
    expect(lines.at(-1)).toMatch(/^500:Error: number 499 x/);
    for (const line of lines) expect(line.length).toBeLessThan(90);
  });

  it('is spread over the whole text also where few lines fit', () => {
    const many = Array.from({ length: 100 }, (_, i) => `export function ${'x'.repeat(100)}${i}() {`);
    const { lines } = outlineOf(text(many), 600);
    expect(lines.join('\n').length).toBeLessThan(600);
    expect(lines.at(-1)).toMatch(/^8\d:/);
  });

  it.each([
    '',
    '\n',
    '\n\n\n',
    '{',
    '[',
    '[]',
    '{}',
    'null',
    '\ud800'.repeat(300),
    '('.repeat(5000),
    '\r\n'.repeat(100),
  ])('takes %j', (odd) => {
    expect(outlineOf(odd, 1200).lines.length).toBeLessThanOrEqual(recallLimits.outlineLines);
  });
});
