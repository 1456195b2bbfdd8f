import { describe, expect, it } from 'vitest';
import { range, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/index.ts';
import { type ChatMessage, fit, handleOf, never } from '../../index.ts';
import { arrivalLimits } from '../../limits.ts';
import { Ledger } from '../ledger/ledger.ts';
import { keptResults } from './kept-results.ts';

const lines = (name: string): string =>
  range(1, 40)
    .map((n) => `const ${name}${n} = compute(${n * 7919});`)
    .join('\n');
const A = lines('a');

const turn = (tool: string, args: object, output: string): ChatMessage[] =>
  toolTurn({ id: `call_${output.length}_${JSON.stringify(args).length}`, tool, args: JSON.stringify(args), output });
const read = (path: string, output: string): ChatMessage[] => turn('read_file', { path }, output);
const reference = (label: string, to = 40, unit = ''): string =>
  `[output lines 1–${to}: same as ${unit}lines 1–${to} of ${label} above]`;

/** The texts that are kept, each with the last result that shows it. */
function keptIn(...turns: readonly (readonly ChatMessage[])[]): (readonly [target: string, referrer: string])[] {
  const ledger = Ledger.of([user('Fix it.'), ...turns.flat()], chat);
  const textOf = (segment: number): string => ledger.segments[segment]?.text ?? `no segment ${segment}`;
  return [...keptResults(ledger)].map(([target, referrer]) => [textOf(target), textOf(referrer)]);
}

describe('keptResults', () => {
  it('are the results that a later result refers to', () => {
    const again = reference('the last read_file src/a.ts');
    expect(keptIn(read('src/a.ts', A), read('src/b.ts', lines('b')), read('src/a.ts', again))).toEqual([[A, again]]);
  });

  it('are none if no result refers to another', () => {
    expect(keptIn(read('src/a.ts', A), read('src/a.ts', `${A}\n`))).toEqual([]);
  });

  it('have the last result that refers to them', () => {
    const second = reference('the last read_file src/a.ts');
    const third = `${reference('the 2nd last read_file src/a.ts')}\n// and more`;
    expect(keptIn(read('src/a.ts', A), read('src/a.ts', second), read('src/a.ts', third))).toEqual([
      [A, third],
      [second, third],
    ]);
  });

  it('are also those that leave together with one that it refers to', () => {
    const [b, cat] = [lines('b'), { command: 'cat' }];
    const [ofA, ofB] = [reference('the last read_file src/a.ts'), reference('the last read_file src/b.ts')];
    const ofBoth = `${ofB}\n${ofA.replace('1–40:', '41–80:')}`;
    const own = [read('src/c.ts', lines('c')), turn('bash', cat, reference('the last read_file src/c.ts'))];
    const reads = [read('src/a.ts', A), read('src/b.ts', b), turn('bash', cat, ofBoth)];
    const last = `${ofA}\n// and more`;
    expect(keptIn(...reads, turn('bash', cat, last), ...own)).toEqual([
      [b, last],
      [A, last],
      [ofBoth, last],
      [lines('c'), reference('the last read_file src/c.ts')],
    ]);
    expect(keptIn(...reads, turn('bash', cat, ofB))).toEqual([
      [b, ofB],
      [A, ofB],
      [ofBoth, ofB],
    ]);
  });

  it('are all texts that one result refers to', () => {
    const [b, and] = [lines('b'), 'a line of its own'];
    const both = [
      '[output lines 1–40: same as lines 1–40 of the last read_file src/a.ts above]',
      and,
      '[output lines 42–81: same as lines 1–40 of the last read_file src/b.ts above]',
    ].join('\n');
    expect(keptIn(read('src/a.ts', A), read('src/b.ts', b), turn('bash', { command: 'cat all' }, both))).toEqual([
      [A, both],
      [b, both],
    ]);
  });

  it('are also those of shell output of which only some lines are left', () => {
    const cut = [
      'a line of its own',
      '[… 4 lines]',
      '[output lines 6–45: same as lines 1–40 of the last read_file src/a.ts above]',
      '[truncated: kept first+last+failures ~150 of ~900 tokens (shell)]',
    ].join('\n');
    const shell = turn('bash', { command: 'cat all' }, cut);
    expect(keptIn(read('src/a.ts', A), shell)).toEqual([[A, cut]]);
    expect(keptIn(read('src/a.ts', A.split('\n').slice(0, 30).join('\n')), shell)).toEqual([]);
  });

  it('are known also if a text that counted for the share of the result is masked since', () => {
    const all = A.split('\n');
    const [first, overlapping] = [all.slice(0, 20).join('\n'), all.slice(14, 25).join('\n')];
    const rest = lines('c').split('\n');
    const whole = [...all.slice(0, 25), ...rest, ...all.slice(0, 5)].join('\n');
    const turns = [read('src/a.ts', first), read('src/b.ts', overlapping), turn('bash', { command: 'cat all' }, whole)];
    const { messages } = fit([user('Fix it.'), ...turns.flat()], { format: chat, policy: never({ references: true }) });
    const shaped = messages.at(-1)?.content ?? '';
    expect(shaped).toMatch(
      /^\[output lines 1–20: same as lines 1–20 of the last read_file src\/a\.ts above\]\nconst a21/,
    );
    const masked = read('src/b.ts', '[read_file src/b.ts: 11 lines, 300 chars masked]');
    expect(keptIn(read('src/a.ts', first), masked, turn('bash', { command: 'cat all' }, shaped))).toEqual([
      [first, shaped],
    ]);
  });

  it('are also calls whose argument a result shows again', () => {
    const call = { path: 'src/a.ts', mode: 'new', content: A };
    const again = reference('your last call of write_file src/a.ts', 40, 'content ');
    expect(keptIn(turn('write_file', call, 'written'), read('src/a.ts', again))).toEqual([
      [JSON.stringify(call), again],
    ]);
    const more = `${again}\n// and more`;
    expect(keptIn(turn('write_file', call, 'written'), read('src/a.ts', again), read('src/b.ts', more))).toEqual([
      [JSON.stringify(call), more],
    ]);
  });

  it('are never words of the user or of the model', () => {
    const again = reference('the last read_file src/a.ts');
    const said: ChatMessage = { role: 'assistant', content: A };
    const quote =
      '[output lines 1–40: same as argument lines 1–40 of your last call of a tool const a1 = comp… compute(316760); above]';
    expect(keptIn([user(A)], [said], read('src/a.ts', A), [user(A)], [said], read('src/a.ts', again))).toEqual([
      [A, again],
    ]);
    expect(keptIn([user(A)], [said], read('src/a.ts', quote))).toEqual([]);
  });

  it('are none for an output that only quotes such a line', () => {
    const short = reference('the last read_file src/a.ts', 2);
    const partly = reference('the last read_file src/a.ts', 39);
    const missing = reference('the last read_file src/b.ts');
    expect(keptIn(read('src/a.ts', A), turn('bash', { command: 'cat log' }, short))).toEqual([]);
    expect(keptIn(read('src/a.ts', A), turn('bash', { command: 'cat log' }, missing))).toEqual([]);
    // The next line is the 40th, which we would leave out too.
    const rest = `${partly}\n${A.slice(A.lastIndexOf('\n') + 1)}`;
    expect(keptIn(read('src/a.ts', A), turn('bash', { command: 'cat log' }, rest))).toEqual([]);
  });

  it.each([
    ['without a newline at its end', A],
    ['with one', `${A}\n`],
    ['with an empty line there', `${A}\n\n`],
  ])('are found if the result shows the handle of an original %s', (_, text) => {
    const messages = [user('Fix it.'), ...read('src/a.ts', text), ...turn('bash', { command: 'cat a' }, text)];
    const given = { policy: never(), arrival: { references: true }, recall: true, handleOf };
    const { messages: sent } = fit<ChatMessage>(messages, given);
    const last = sent.at(-1)?.content ?? '';
    expect(last).toContain('[shortened from ');
    expect(keptIn(sent)).toEqual([[text, last]]);
  });

  it('are not looked for in a text that is too long to be searched', () => {
    const label = 'the last read_file src/long.ts';
    const kept = (length: number): number =>
      keptIn(read('src/long.ts', `${A}\n${'x'.repeat(length - A.length - 1)}`), read('src/a.ts', reference(label)))
        .length;
    expect(kept(arrivalLimits.resultChars)).toBe(1);
    expect(kept(arrivalLimits.resultChars + 1)).toBe(0);
  });
});
