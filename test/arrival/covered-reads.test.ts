import { describe, expect, it } from 'vitest';
import { breakEven, type ChatMessage, fit } from '../../src/index.ts';

/** Without a cache to lose, a read is masked as soon as a newer one covers it. One that a newer one refers to stays. */
const policy = breakEven({ prices: 'none', references: false });
const LONG = 'const line = "of a file";\n'.repeat(300);

function talk(...calls: readonly (readonly [tool: string, args: object, result: string])[]): ChatMessage[] {
  const turns = calls.flatMap(([name, args, content], i): ChatMessage[] => [
    { role: 'assistant', content: '', toolCalls: [{ id: `c${i}`, name, arguments: JSON.stringify(args) }] },
    { role: 'tool', content, toolCallId: `c${i}` },
  ]);
  return [{ role: 'user', content: 'Fix it.' }, ...turns];
}

const maskedIn = (messages: ChatMessage[]): number => fit(messages, { policy }).report.maskedCount;

describe('a read that a newer one covers', () => {
  const read = (args: object, result = LONG) => ['Read', { file_path: 'a.ts', ...args }, result] as const;
  const cat = (result: string) => ['Bash', { command: 'cat a.ts' }, result] as const;

  it('goes at once', () => {
    expect(maskedIn(talk(read({}), read({})))).toBe(1);
    expect(maskedIn(talk(read({ offset: 10, limit: 20 }), read({})))).toBe(1);
  });

  // Each of these hid the only copy of a file.
  it('stays where the newer one shows no file', () => {
    expect(maskedIn(talk(read({}), read({}, 'File unchanged since the last read.')))).toBe(0);
    expect(maskedIn(talk(cat(LONG), cat('cat: a.ts: No such file or directory')))).toBe(0);
  });
  it('stays where the newer one stopped before its lines', () => {
    expect(maskedIn(talk(read({ offset: 2500, limit: 300 }), read({})))).toBe(0);
  });
  it('stays where the shell went to another folder in between', () => {
    expect(maskedIn(talk(cat(LONG), ['Bash', { command: 'cd ../other' }, ''], cat(LONG)))).toBe(0);
  });
  it('stays where the newer one was cut when it arrived', () => {
    const cut = breakEven({ prices: 'none', references: false, maxResultTokens: 500 });
    const small = 'const line = 1;\n'.repeat(60);
    const messages = talk(read({ limit: 60 }, small), read({}));
    expect(fit(messages, { policy: cut }).report.edits).toMatchObject({ mask: 0, clip: 1 });
  });
});
