// Writes a policy of one's own: a function that chooses among the results of a request, and words for what it hides.
// Below it, `HistoryReducer`, for those who keep a plain list of chat messages and want one call that makes it fit.
import assert from 'node:assert/strict';
import { type ChatMessage, chat, describeResult, fit, HistoryReducer, isPlaceholder, stateless } from 'palimpsest';

const turn = (i: number, tool: string, content: string): ChatMessage[] => [
  {
    role: 'assistant',
    content: `Step ${i}.`,
    toolCalls: [{ id: `call_${i}`, name: tool, arguments: `{"step":${i}}` }],
  },
  { role: 'tool', content, toolCallId: `call_${i}` },
];

const history: readonly ChatMessage[] = [
  { role: 'system', content: 'You are a coding agent. You must not touch the public API.' },
  { role: 'user', content: 'Make the tests pass.' },
  ...turn(1, 'shell_exec', JSON.stringify({ exit_code: 1, stdout: 'FAIL queue.test.ts\n'.repeat(80) })),
  ...turn(2, 'file_read', 'export class Queue {}\n'.repeat(80)),
  ...turn(3, 'shell_exec', JSON.stringify({ exit_code: 0, stdout: 'PASS queue.test.ts\n'.repeat(80) })),
  ...turn(4, 'file_read', 'export class Journal {}\n'.repeat(80)),
];

/** Shell output is stale after one more turn; files are kept. */
const staleShell = stateless(
  ({ observations, turns }) =>
    observations.filter((result) => result.tool === 'shell_exec' && turns - result.turn >= 1),
  { placeholder: ({ tool = 'tool', text, turn }) => `${describeResult(tool, text)} (turn ${turn})` },
);

const { messages, report } = fit(history, { format: chat, policy: staleShell });
const contents = messages.map((message) => message.content);

assert.equal(report.maskedCount, 2);
assert.equal(contents[3], '[shell_exec result masked -- exit_code=1, stdout=1520 bytes] (turn 1)');
assert.equal(messages[5], history[5], 'files are kept');
assert.deepEqual(fit(messages, { format: chat, policy: staleShell }).messages, messages, 'fitted again, it stays so');
console.log(`own policy: ${report.tokens.before} tokens became ${report.tokens.after}; ${report.decision.because}`);
for (const content of [contents[3], contents[7]]) console.log(`  ${content}`);

const reduced = new HistoryReducer().reduce(history, { maxInputChars: 4000, preserveRecentRawTurns: 1 });

assert.equal(reduced.reductionStage, 'masking');
assert.ok(reduced.withinBudget && reduced.invariantStatus === 'ok');
assert.equal(reduced.maskedCount, reduced.messages.filter((message) => isPlaceholder(message.content)).length);
console.log(
  `HistoryReducer: ${reduced.beforeTokens} tokens became ${reduced.afterTokens} by ${reduced.reductionStage}`,
);

const tiny = new HistoryReducer().reduce(history, { maxInputChars: 1500, preserveRecentRawTurns: 1 });
assert.ok(tiny.withinBudget);
console.log(
  `and with less room, by ${tiny.reductionStage}: ${tiny.messages.length} of ${history.length} messages are left`,
);
