// Fits a request to Claude, whose system prompt and tools count towards the budget although they are not messages.
// Newer models sign their thinking over all that stands before it: `report.requires` says what the request must add.
import assert from 'node:assert/strict';
import { anthropic, fit, slidingWindow } from 'palimpsest';

const system = 'You are a coding agent. Read before you write.';
const tools = [
  {
    name: 'read_file',
    description: 'Reads a file.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

const turn = (i: number) => [
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: `File ${i} comes next.`, signature: `signature-${i}` },
      { type: 'tool_use', id: `toolu_${i}`, name: 'read_file', input: { path: `src/file-${i}.ts` } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: `toolu_${i}`, content: `export const value${i} = ${i};\n`.repeat(80) },
    ],
  },
];
const messages = [{ role: 'user', content: 'Find the wrong value.' }, ...[1, 2, 3, 4, 5, 6].flatMap(turn)];

const request = { format: anthropic, system, tools, policy: slidingWindow({ turns: 2 }) };
const fitted = fit(messages, { ...request, model: 'claude-opus-5-1' });
const [need] = fitted.report.requires;

assert.equal(fitted.report.maskedCount, 4);
assert.deepEqual(fitted.messages[3], messages[3], 'signed thinking and its call stay as they are');
assert.equal(need?.field, 'thinking.block_binding.prefix_mismatch_behavior');
const bare = fit(messages, { format: anthropic });
assert.ok(fit(messages, { format: anthropic, system, tools }).report.tokens.before > bare.report.tokens.before);

console.log(`${fitted.report.tokens.before} tokens became ${fitted.report.tokens.after}.`);
console.log('Thinking behind the masked results is signed, so the request must carry:');
console.log(`  ${need?.field}: ${need?.value}`);
console.log(`  ${need?.header}: ${need?.headerValue}`);

// Whoever cannot send that leaves everything before signed thinking alone.
const kept = fit(messages, { ...request, model: 'claude-opus-5-1', boundThinking: 'keep' });
assert.deepEqual(kept.report.requires, []);
assert.equal(kept.report.maskedCount, 0);
console.log(`With boundThinking: 'keep', ${kept.report.maskedCount} results are masked, and nothing is required.`);

// Older models do not bind their thinking to what stands before it.
const older = fit(messages, { ...request, model: 'claude-sonnet-4-5' });
assert.deepEqual(older.report.requires, []);
assert.equal(older.report.maskedCount, 4);
