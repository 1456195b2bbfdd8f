import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';

beforeAll(() => ensureBuilt(), 240_000);

const START = `
import { readFileSync, openSync, closeSync } from 'node:fs';
import { createMemoryStore } from '${ROOT}/dist/store/index.js';
const store = createMemoryStore();
await store.put('hello\\nworld\\n' + 'a'.repeat(40) + '!', { session: 's' });
const find = async (pattern) => {
  const found = [];
  for await (const { text } of store.search(pattern, { regex: true })) found.push(text);
  return found;
};
/** A search that got no slot would never end. */
const within = (work) => Promise.race([
  work.catch(({ code, message }) => [code, message]),
  new Promise((resolve) => setTimeout(resolve, 20_000, 'no answer')),
]);
`;

/** The values that a program prints, a line each. It may open few files, and is in a process group of its own. */
async function run(program: string): Promise<unknown[]> {
  const node = `ulimit -n 64; exec '${process.execPath}' --input-type=module -`;
  const child = spawn('sh', ['-c', node], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const exited = once(child, 'exit');
  child.stdin.end(`${START}${program}process.exit();`);
  const printed = await text(child.stdout);
  expect(await exited).toEqual([0, null]);
  return printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const GONE = [
  'STORE_FAILED',
  'Expected to search in a process of its own but it could not be started in time, or ended; search again',
];

// Without `ulimit` and /proc there is no way to keep a process from starting, or to find it.
describe.skipIf(process.platform !== 'linux')('a search by a pattern', () => {
  it('fails where no process can be started, kills nothing, and takes no slot from later searches', async () => {
    const printed = await run(`
      const open = [];
      try {
        for (;;) open.push(openSync('/dev/null'));
      } catch {}
      for (let i = 0; i < 3; i++) console.log(JSON.stringify(await within(find('w.rld'))));
      for (const file of open) closeSync(file);
      for (let i = 0; i < 3; i++) console.log(JSON.stringify(await within(find('w.rld'))));
    `);
    expect(printed).toEqual([GONE, GONE, GONE, ['world'], ['world'], ['world']]);
  });

  it('fails where its process is killed, and the next search has another', async () => {
    const printed = await run(`
      const children = () => readFileSync(\`/proc/self/task/\${process.pid}/children\`, 'utf8').match(/[1-9]\\d*/g) ?? [];
      for (let i = 0; i < 3; i++) {
        const searching = within(find('^(a+)+$'));
        while (children().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        for (const pid of children()) process.kill(Number(pid), 'SIGKILL');
        console.log(JSON.stringify(await searching));
        console.log(JSON.stringify(await within(find('w.rld'))));
        for (const pid of children()) process.kill(Number(pid), 'SIGKILL');
        while (children().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    `);
    expect(printed).toEqual([GONE, ['world'], GONE, ['world'], GONE, ['world']]);
  });

  it('fails where its process does not begin, which is killed, and the next search has another', async () => {
    const printed = await run(`
      const children = () => readFileSync(\`/proc/self/task/\${process.pid}/children\`, 'utf8').match(/[1-9]\\d*/g) ?? [];
      await Promise.all([find('w.rld'), find('w.rld')]);
      const stopped = children();
      for (const pid of stopped) process.kill(Number(pid), 'SIGSTOP');
      const searches = stopped.map(() => within(find('w.rld')));
      for (const answer of await Promise.all(searches)) console.log(JSON.stringify(answer));
      console.log(JSON.stringify(await within(find('w.rld'))));
      console.log(JSON.stringify(children().filter((pid) => stopped.includes(pid))));
      for (const pid of children()) process.kill(Number(pid), 'SIGKILL');
    `);
    expect(printed).toEqual([GONE, GONE, ['world'], []]);
  }, 60_000);
});
