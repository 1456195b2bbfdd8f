// Fits the messages of an OpenAI agent into a budget of tokens.
// Old tool results go first; the task, every call and every word of the agent stay.
import assert from 'node:assert/strict';
import { fit } from 'palimpsest';

const call = (id: string, command: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } }],
});

const output = (i: number) => Array.from({ length: 40 }, (_, n) => `compiling src/module-${i}/part-${n}.c`).join('\n');

const history = [
  { role: 'system', content: 'You are a coding agent.' },
  { role: 'user', content: 'Why does the build fail?' },
  ...Array.from({ length: 20 }, (_, i) => [
    call(`call_${i}`, `make step-${i}`),
    { role: 'tool', tool_call_id: `call_${i}`, content: output(i) },
  ]).flat(),
];

const { messages, report, hidden } = fit(history, { maxTokens: 8000 });

assert.equal(messages.length, history.length);
assert.equal(messages[1], history[1], 'a message that no edit names is the very same object');
assert.ok(report.tokens.before > 8000 && report.tokens.after <= 8000);
assert.ok(report.maskedCount > 0);
assert.equal(hidden[0]?.text, history[3]?.content, 'what was taken out is handed back, byte for byte');

console.log(`${report.tokens.before} tokens became ${report.tokens.after}; the budget is 8000.`);
console.log(`${report.maskedCount} results were masked. The first one now reads:`);
console.log(`  ${messages[3]?.content}`);
