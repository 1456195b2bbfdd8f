// Thresholds in a loop that you have already: results are masked from 70 % of the window on, and at 90 % the session winds
// down and restarts with what matters. The lines that were added stand between the rulers; the model is scripted.
import assert from 'node:assert/strict';
import { ContextManager, contextGauge } from 'palimpsest/manager';

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

const WINDOW = 8000;
const STEPS = 60;
let step = 0;

/** A model that thinks a while, reads one file after the other, and counts its prompt as a provider does. */
async function model(messages: readonly Message[]): Promise<{ reply: Message; usage: object }> {
  const prompt_tokens = Math.ceil(JSON.stringify(messages).length / 4);
  assert.ok(prompt_tokens <= WINDOW, 'a provider would refuse this request');
  step += 1;
  const content =
    step > STEPS ? 'All files are read.' : `Step ${step}: ${'the pool is taken and not given back; '.repeat(8)}`;
  const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/file-${step}.ts` }) };
  const tool_calls = [{ id: `call_${step}`, type: 'function' as const, function: call }];
  const reply: Message = { role: 'assistant', content, ...(step > STEPS ? {} : { tool_calls }) };
  return { reply, usage: { prompt_tokens, completion_tokens: Math.ceil(content.length / 4) } };
}

const runTool = (path: string): string => `// ${path}\n${'const connection = await pool.take();\n'.repeat(50)}`;

const task: Message[] = [
  { role: 'system', content: 'You find leaks.' },
  { role: 'user', content: 'Which file leaks connections?' },
];
let messages = task;
const log: string[] = [];

// ---------------------------------------------------------------------------------------------------------------------
const manager = new ContextManager<Message>({ contextLimit: WINDOW, maskBatch: 5, format: 'openai-chat' });
const tell = (content: string | undefined): Message[] => (content ? [{ role: 'system', content }] : []);

function manage(usage: object): void {
  manager.recordUsage(usage);
  manager.setMessages(messages);
  const action = manager.evaluate();
  log.push(`${contextGauge(manager.usagePct).text.padEnd(17)} ${action.type}`);
  if (action.type === 'mask') messages = [...manager.maskOldest(action.count).messages, ...tell(manager.notice())];
  if (action.type === 'wind-down') messages = [...messages, ...tell(action.notice)];
  if (action.type === 'restart') messages = [...manager.restart().carryover, ...tell(manager.notice())];
  if (action.type === 'context-full') throw new Error('restarted too often');
}
// ---------------------------------------------------------------------------------------------------------------------

for (let isDone = false; !isDone; ) {
  const { reply, usage } = await model(messages);
  messages = [...messages, reply];
  for (const { id, function: call } of reply.tool_calls ?? [])
    messages = [...messages, { role: 'tool', tool_call_id: id, content: runTool(JSON.parse(call.arguments).path) }];
  isDone = !reply.tool_calls;
  manage(usage);
}

const times = (type: string): number => log.filter((line) => line.endsWith(type)).length;
assert.equal(step, STEPS + 1, 'the agent came to its end');
assert.equal(manager.sessionNumber, 1 + times('restart'));
assert.ok(times('mask') > 0 && times('wind-down') > 0 && times('restart') > 0);
assert.deepEqual(messages.slice(0, 2), task, 'the task is never lost');

for (const line of log.filter((line) => !line.endsWith('continue')).slice(0, 12)) console.log(line);
console.log(
  `${step} requests, ${times('mask')} epochs of masks, ${times('restart')} restarts; no request above ${WINDOW} tokens.`,
);
