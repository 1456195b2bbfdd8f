import { readFiles } from './corpora.js';
import { createRandom } from './random.js';

/**
 * One step of an agent's run, before it is written in a provider's shape.
 * @typedef {{ kind: 'system' | 'user', text: string }} Said
 * @typedef {{ kind: 'pair', id: string, tool: string, args: Record<string, string>, reply: string, result: string }} Pair
 * @typedef {Said | Pair} Step
 */

const PAIRS_PER_USER = 10;
const TOOLS = ['read_file', 'bash', 'grep'];

/**
 * A run like those of research/speed.md D: one system prompt, a user message per ten tool pairs,
 * results of 1.2 to 2.8 KB. The same seed gives the same texts, as new strings.
 * @returns {Step[]}
 */
export function createRun({ messages, seed }) {
  const random = createRandom(seed);
  /** @type {Step[]} */
  const steps = [{ kind: 'system', text: excerpt(random, 4000) }];
  for (let count = 1, pairs = 0; count < messages; ) {
    if (pairs % PAIRS_PER_USER === 0 && steps.at(-1)?.kind !== 'user') {
      steps.push({ kind: 'user', text: `Next: ${excerpt(random, 150 + random(300))}` });
      count += 1;
    } else {
      steps.push(createPair(random, `call_${seed}_${pairs}`));
      pairs += 1;
      count += 2;
    }
  }
  return steps;
}

/** @returns {Pair} */
function createPair(random, id) {
  const tool = TOOLS[random(TOOLS.length)];
  const path = `src/part-${random(90)}/file-${random(900)}.ts`;
  const args = tool === 'read_file' ? { path } : tool === 'bash' ? { command: `cat ${path}` } : { pattern: path };
  const reply = `I look at ${path} next: ${excerpt(random, 60 + random(160))}`;
  return { kind: 'pair', id, tool, args, reply, result: excerpt(random, 1200 + random(1600)) };
}

/** @type {string | undefined} */
let pool;

/** A piece of real source code and documents, as a string of its own: a slice would share its parent's bytes. */
function excerpt(random, length) {
  pool ??= readPool();
  const start = random(pool.length - length);
  return Buffer.from(pool.slice(start, start + length), 'utf8').toString('utf8');
}

function readPool() {
  const texts = [...readFiles('code', 3e6), ...readFiles('prose', 1e6), ...readFiles('json', 5e5)].map(
    ({ text }) => text,
  );
  // What fails gets another placeholder; the floors write only the common one.
  return texts
    .join('\n')
    .replace(/exit/gi, 'leave')
    .replace(/[^\n -~]/g, '·');
}

/** @param {Step[]} steps */
export function toOpenAIChat(steps) {
  return steps.flatMap((step) => {
    if (step.kind !== 'pair') return [{ role: step.kind, content: step.text }];
    const { id, tool, args, reply, result } = step;
    const call = { id, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } };
    return [
      { role: 'assistant', content: reply, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: result },
    ];
  });
}

/** The AI SDK's ModelMessage. @param {Step[]} steps */
export function toModelMessages(steps) {
  return steps.flatMap((step) => {
    if (step.kind !== 'pair') return [{ role: step.kind, content: step.text }];
    const { id, tool, args, reply, result } = step;
    const call = { type: 'tool-call', toolCallId: id, toolName: tool, input: args };
    const output = { type: 'text', value: result };
    return [
      { role: 'assistant', content: [{ type: 'text', text: reply }, call] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: tool, output }] },
    ];
  });
}

/**
 * Instances of LangChain's classes.
 * @param {Step[]} steps
 * @param {typeof import('@langchain/core/messages')} classes
 */
export function toLangChain(steps, { SystemMessage, HumanMessage, AIMessage, ToolMessage }) {
  return steps.flatMap((step) => {
    if (step.kind === 'system') return [new SystemMessage(step.text)];
    if (step.kind === 'user') return [new HumanMessage(step.text)];
    const { id, tool, args, reply, result } = step;
    return [
      new AIMessage({ content: reply, tool_calls: [{ id, name: tool, args, type: 'tool_call' }] }),
      new ToolMessage({ content: result, tool_call_id: id, name: tool }),
    ];
  });
}
