import { describe, expect, it } from 'vitest';
import { history, prose, toolTurn, user } from '../../test/support/chat.ts';
import { fit, slidingWindow } from '../index.ts';
import type { Io } from './io.ts';
import { showFit, showReport } from './show-fit.ts';

const io = (more: Partial<Io> = {}): Io => ({
  stdin: undefined,
  stdout: () => undefined,
  stderr: () => undefined,
  readFile: () => Promise.reject(new Error('no files here')),
  color: false,
  columns: 100,
  writeFile: async () => {},
  isTerminal: false,
  ...more,
});
const messages = [
  user('t'),
  ...toolTurn({ id: 'a', tool: 'read', args: '{"path":"src/a.ts"}', output: prose(2000) }),
  ...toolTurn({ id: 'b', tool: 'bash', args: '{"command":"ls"}', output: 'short\noutput\u001b[31m' }),
];
const options = { policy: slidingWindow({ turns: 1 }) };

describe('showFit', () => {
  it('shows call, size before and after, and what the model sees, for each result', () => {
    const lines = showFit(messages, fit(messages, options), options, io()).split('\n');
    expect(lines[1]).toMatch(/^ +1 +read src\/a\.ts +2,000 → 33 +\[Observation omitted for brevity\]$/);
    expect(lines[2]).toMatch(/^ +2 +bash ls +\d+ +short output/);
  });
  it('says what was left out', () => {
    const long = history(9, 100).map((message) =>
      message.role === 'assistant' ? { ...message, content: prose(1000) } : message,
    );
    const fitted = fit(long, { maxTokens: 1500 });
    const text = showFit(long, fitted, {}, io());
    expect(fitted.report.edits.drop).toBeGreaterThan(0);
    expect(text.match(/→ 0/g)).toHaveLength(fitted.report.edits.drop / 2);
  });
  it('keeps each line within the width of the terminal', () => {
    for (const columns of [80, 100, 200]) {
      const table = showFit(messages, fit(messages, options), options, io({ columns })).split('\n\n')[0] ?? '';
      for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    }
  });
  it('colours what changed, and only where colours are allowed', () => {
    const fitted = fit(messages, options);
    expect(showFit(messages, fitted, options, io({ color: true }))).toContain('\u001b[33m');
    expect(showFit(messages, fitted, options, io())).not.toContain('\u001b[33m');
  });
  it('lets no control character of a tool reach the terminal', () => {
    expect(showFit(messages, fit(messages, options), options, io())).not.toContain('\u001b');
  });
});

describe('showReport', () => {
  it('says how much less it is', () => {
    const { report } = fit(history(20), { policy: slidingWindow({ turns: 2 }) });
    const share = Math.round((1 - report.tokens.after / report.tokens.before) * 100);
    expect(showReport(report)).toContain(`(−${share} %)`);
    expect(showReport(report)).toContain('18 results masked');
    expect(showReport({ ...report, edits: { ...report.edits, mask: 1 } })).toContain('1 result masked');
    expect(showReport(fit([]).report)).toContain('(0 %)');
  });
  it('says what the request must carry', () => {
    const call = (i: number) => [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'h', signature: 's' },
          { type: 'tool_use', id: `${i}`, name: 'b', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `${i}`, content: prose(900) }] },
    ];
    const list = [{ role: 'user', content: 't' }, ...call(1), ...call(2)];
    expect(showReport(fit(list, options).report)).toContain("block_binding.prefix_mismatch_behavior: 'drop_block'");
  });
});
