// An agent of Strands reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script, so no key is needed: put any model of Strands in its place.
import assert from 'node:assert/strict';
import { Agent, InvokeModelStage, type Message, Model, type ModelStreamEvent, tool } from '@strands-agents/sdk';
import { slidingWindow } from 'palimpsest';
import { createMemoryStore } from 'palimpsest/store';
import { palimpsest } from 'palimpsest/strands';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
class ScriptedModel extends Model {
  override updateConfig(): void {}

  override getConfig() {
    return { modelId: 'scripted', contextWindowLimit: 200_000 };
  }

  override async *stream(messages: Message[]): AsyncGenerator<ModelStreamEvent> {
    const body = JSON.stringify(messages);
    requests.push(body);
    const step = messages.filter(({ role }) => role === 'assistant').length;
    const [handle] = /p_[a-z2-7]{26}/.exec(body) ?? [];
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    if (step < FILES) yield* call('read', step, { path: `file-${step}.ts` });
    else if (step === FILES) yield* call('recall', step, { handle, lines: [1, 2] });
    else yield* block({ type: 'textDelta', text: 'Done.' });
    yield { type: 'modelMessageStopEvent', stopReason: step > FILES ? 'endTurn' : 'toolUse' };
  }
}

type Delta = Extract<ModelStreamEvent, { type: 'modelContentBlockDeltaEvent' }>['delta'];
type Start = NonNullable<Extract<ModelStreamEvent, { type: 'modelContentBlockStartEvent' }>['start']>;

function* block(delta: Delta, start?: Start): Generator<ModelStreamEvent> {
  yield { type: 'modelContentBlockStartEvent', ...(start ? { start } : {}) };
  yield { type: 'modelContentBlockDeltaEvent', delta };
  yield { type: 'modelContentBlockStopEvent' };
}

const call = (name: string, step: number, input: object): Generator<ModelStreamEvent> =>
  block(
    { type: 'toolUseInputDelta', input: JSON.stringify(input) },
    { type: 'toolUseStart', name, toolUseId: `call-${step}` },
  );

const store = createMemoryStore();
const read = tool({
  name: 'read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  callback: (input) => fileText((input as { path: string }).path),
});

let saved = 0;
const strategy = palimpsest.strategy({
  store,
  stage: InvokeModelStage,
  policy: slidingWindow({ turns: 5 }),
  onReport: ({ tokens }) => {
    saved += tokens.before - tokens.after;
  },
});
const agent = new Agent({
  model: new ScriptedModel(),
  tools: [read, tool(palimpsest.recall({ store }))],
  contextManager: { strategies: [strategy], stash: false },
  printer: false,
});
await agent.invoke('Read all files.');

const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(agent.messages).includes('line 49 of file-0.ts'), 'the agent has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
