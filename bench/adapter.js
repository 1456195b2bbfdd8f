// What an adapter adds to a step: node --expose-gc bench/adapter.js '{"size":1000,"steps":60}'
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateText, jsonSchema, stepCountIs, tool, wrapLanguageModel } from 'ai';
import { palimpsest } from '../dist/adapters/ai-sdk/index.js';
import { openStore } from '../dist/store/index.js';
import { createRun, toModelMessages } from './histories.js';
import { collectGarbage, median } from './measure.js';

const WARM_UP = { size: 200, steps: 100 };

const request = JSON.parse(process.argv[2]);
for (let seed = 1; seed <= 3; seed++) await timeSteps({ ...WARM_UP, seed });
console.log(JSON.stringify(await timeSteps({ ...request, seed: 9 })));

/**
 * Milliseconds of the adapter: in the first step, which has the whole history, in those after it, and in the first step of the
 * next run, on equal messages that were read again.
 */
async function timeSteps({ size, steps, seed }) {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-adapter-'));
  const store = await openStore({ path: folder });
  try {
    const times = await timeRuns({ size, steps, seed, store });
    const [first, next, later] = [times[0], times.at(-1), times.slice(1, -1)];
    return { first, next, median: median(later), mean: later.reduce((sum, time) => sum + time, 0) / later.length };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

/** The SDK itself runs the steps: it makes every message of a request again for each. */
async function timeRuns({ size, steps, seed, store }) {
  const run = createRun({ messages: size + 2.2 * steps, seed });
  const start = run.findIndex((_, i) => toModelMessages(run.slice(0, i)).length >= size);
  const script = run.slice(start).filter(({ kind }) => kind === 'pair');
  const { middleware, times } = timed(palimpsest.middleware({ store }));
  const model = wrapLanguageModel({ model: scriptedModel(script), middleware });
  const tools = { ...toolsOf(script), ...palimpsest.tools({ store }) };
  const settings = { model, tools, allowSystemInMessages: true };
  const messages = toModelMessages(run.slice(0, start));
  collectGarbage();
  const { response } = await generateText({ ...settings, messages, stopWhen: stepCountIs(steps) });
  const next = structuredClone([...messages, ...response.messages, { role: 'user', content: 'Go on.' }]);
  await generateText({ ...settings, messages: next, stopWhen: stepCountIs(1) });
  return times;
}

function timed(middleware) {
  const times = [];
  const transformParams = async (call) => {
    const start = performance.now();
    const params = await middleware.transformParams(call);
    times.push(performance.now() - start);
    return params;
  };
  return { middleware: { ...middleware, transformParams }, times };
}

/** Each call is answered with the result that the run has for it. */
function toolsOf(script) {
  const results = new Map(script.map(({ id, result }) => [id, result]));
  const inputSchema = jsonSchema({ type: 'object', properties: {} });
  const execute = (_input, { toolCallId }) => results.get(toolCallId);
  const names = new Set(script.map((pair) => pair.tool));
  return Object.fromEntries([...names].map((name) => [name, tool({ inputSchema, execute })]));
}

function scriptedModel(script) {
  let step = 0;
  return {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'gpt-5',
    supportedUrls: {},
    async doGenerate() {
      const { id, tool: toolName, args, reply } = script[step++];
      const call = { type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(args) };
      return {
        content: [{ type: 'text', text: reply }, call],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
        warnings: [],
      };
    },
  };
}
