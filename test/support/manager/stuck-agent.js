// Runs an agent on a session in a database, in a process of its own. The model looks twice, then calls a tool that never ends: prints `stuck`.
import fs from 'node:fs';

const [built, url, schema, leaseMs] = process.argv.slice(2);
const { openSession, runAgent } = await import(`${built}/manager/index.js`);

const session = await openSession({
  database: { url, schema, leaseMs: Number(leaseMs) },
  id: 'agent',
  onProblem: () => {},
});
const look = { name: 'look', run: () => 'seen' };
const stick = {
  name: 'stick',
  run: () => {
    fs.writeSync(1, 'stuck\n');
    return new Promise(() => setInterval(() => {}, 1000));
  },
};
let asked = 0;
const model = async () => {
  const call = { id: `call_${++asked}`, name: asked < 3 ? 'look' : 'stick', arguments: {} };
  const toolCalls = [{ ...call, arguments: '{}' }];
  return { messages: [{ role: 'assistant', content: '', toolCalls }], calls: [call], text: '' };
};
await runAgent({ model, context: session, tools: [look, stick], task: 'Look.' });
