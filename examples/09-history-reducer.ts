// Makes a list of chat messages fit a budget in characters: mask, then summarise, then truncate, no further than needed.
// Calls and results are paired by `pairId`; the block of a dispatch result survives, the log around it is masked.
import assert from 'node:assert/strict';
import { type ChatMessage, HistoryReducer } from 'palimpsest';

const turn = (pairId: string, action: string, result: string): ChatMessage[] => [
  { role: 'assistant', content: action, pairId, pairRole: 'call' },
  { role: 'tool', content: result, pairId, pairRole: 'result' },
];

const log = (name: string, lines: number): string =>
  Array.from({ length: lines }, (_, i) => `${name}, line ${i + 1}`).join('\n');

const review = [
  log('reviewer', 60),
  'BEGIN_DISPATCH_RESULT\n{"task":"review","status":"done","findings":1}\nEND_DISPATCH_RESULT',
  log('reviewer stops', 10),
].join('\n');

const history: readonly ChatMessage[] = [
  { role: 'system', content: 'You are a release agent.' },
  { role: 'user', content: 'Release version 2.1.' },
  { role: 'assistant', content: log('plan', 60) },
  { role: 'user', content: 'Deploy only on Fridays.', tags: ['constraint'] },
  ...turn('p1', 'Run the tests.', log('test', 80)),
  { role: 'assistant', content: 'The changelog has no entry for 2.1 yet.', tags: ['unresolved'] },
  ...turn('p2', 'Ask the reviewer.', review),
  ...turn('p3', 'Build the package.', log('build', 10)),
  { role: 'user', content: 'Check the signature, too.' },
  ...turn('p4', 'Check the signature.', log('signature', 10)),
];

const reducer = new HistoryReducer();
const stages = [2000, 1000, 500].map((maxInputChars) => ({
  maxInputChars,
  result: reducer.reduce(history, { maxInputChars, preserveRecentRawTurns: 2 }),
}));

console.log(`before: ${charsOf(history)} characters`);
show(history);
for (const { maxInputChars, result } of stages) {
  const { messages, ...telemetry } = result;
  console.log(`\nmaxInputChars: ${maxInputChars}`);
  console.log(
    Object.entries(telemetry)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  show(messages);
}

assert.deepEqual(
  stages.map(({ result }) => result.reductionStage),
  ['masking', 'summarization', 'fallback'],
);
for (const { maxInputChars, result } of stages) {
  assert.ok(result.withinBudget && charsOf(result.messages) <= maxInputChars);
}

function charsOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

/** One message per line; of long texts only the beginning. */
function show(messages: readonly ChatMessage[]): void {
  for (const { role, content } of messages) {
    const lines = content.split('\n');
    const text = lines.length < 8 ? lines.join(`\n${' '.repeat(11)}`) : `${lines[0]} … ${lines.length} lines`;
    console.log(`${role.padEnd(10)} ${text}`);
  }
}
