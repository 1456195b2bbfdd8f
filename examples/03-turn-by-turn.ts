// Plans turn by turn in the loop of an agent, at the cost of what is new. The model is scripted.
// What was sent once is sent again byte for byte until the policy moves on, so that the prompt cache can live.
import assert from 'node:assert/strict';
import { createPlanner, openaiChat, polling } from 'palimpsest';

interface Message {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

const STEPS = 16;

/** A model that reads one file after the other, and then knows the answer. */
function model(messages: readonly Message[]): Message {
  const step = messages.filter((message) => message.role === 'assistant').length + 1;
  if (step > STEPS) return { role: 'assistant', content: 'The leak is in file 7.' };
  const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/file-${step}.ts` }) };
  return {
    role: 'assistant',
    content: `I will read file ${step}.`,
    tool_calls: [{ id: `call_${step}`, type: 'function', function: call }],
  };
}

const runTool = (path: string): string => `// ${path}\n${'const connection = await pool.take();\n'.repeat(60)}`;

const planner = createPlanner<Message>({
  format: openaiChat,
  policy: polling({ turns: 4, every: 4 }),
  maxTokens: 20_000,
});
planner.add({ role: 'user', content: 'Which file leaks connections?' });

const sent: string[][] = [];
let answer = '';
while (answer === '') {
  const messages = planner.messages();
  sent.push(messages.map((message) => JSON.stringify(message)));
  const reply = model(messages);
  planner.add(reply);
  for (const { id, function: call } of reply.tool_calls ?? []) {
    planner.add({ role: 'tool', tool_call_id: id, content: runTool(JSON.parse(call.arguments).path) });
  }
  if (!reply.tool_calls) answer = reply.content;
}

/** Whether a request begins with all that the one before it sent. */
const extendsLast = sent.map((request, i) => (sent[i - 1] ?? []).every((message, at) => message === request[at]));
const changes = extendsLast.filter((isSame) => !isSame).length;
const { report, edits } = { report: planner.report(), edits: planner.plan().edits };

assert.equal(answer, 'The leak is in file 7.');
assert.equal(changes, 3, 'the prefix changes only where the window moves on');
assert.equal(report.epoch, changes);
assert.equal(edits.length, 12);

console.log(`${sent.length} requests; the first messages changed in ${changes} of them:`);
console.log(`  ${extendsLast.map((isSame) => (isSame ? '.' : 'x')).join(' ')}   (. as before, x rewritten)`);
console.log(`${report.tokens.before} tokens became ${report.tokens.after}; ${report.maskedCount} results are masked.`);
