// Opens a session in a process of its own and adds messages without a pause. Prints `open`, then each text once it is
// acknowledged, and at last the code of the error that ended it. With a fifth argument such as `write events.jsonl` it
// stops itself, after some messages, right before it does that to a file of that name: between its look at the lock and its
// write. `fail` instead of `write` lets that write fail when it goes on. `calm` as the sixth argument
// keeps it from compactions, so that it stays with the files that it opened.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

const [built, directory, name, stop = '', mood = ''] = process.argv.slice(2);
const say = (line) => fs.writeSync(1, `${line}\n`);
const textOf = (n) => `${name} ${n} ${'x'.repeat((n * 37) % 2000)}`;

let isArmed = false;
const paths = new Map();
/** The name that a file has or is to get. */
const nameOf = (path) => basename(String(path)).replace(/(\.[-0-9a-f]{36})?\.new$/, '');
const original = { ...fs };

function stopBefore(operation, path) {
  if (!isArmed || ![operation, operation.replace('write', 'fail')].includes(stop.split(' ')[0])) return;
  if (nameOf(path) !== stop.split(' ')[1]) return;
  isArmed = false;
  say('stopped');
  process.kill(process.pid, 'SIGSTOP');
  // The signal may take effect a little later.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  if (stop.startsWith('fail')) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
}

fs.openSync = (path, ...rest) => {
  stopBefore('open', path);
  const descriptor = original.openSync(path, ...rest);
  paths.set(descriptor, path);
  return descriptor;
};
fs.writeSync = (descriptor, ...rest) => {
  if (descriptor > 2) stopBefore('write', paths.get(descriptor));
  return original.writeSync(descriptor, ...rest);
};
fs.ftruncateSync = (descriptor, size) => {
  stopBefore('truncate', paths.get(descriptor));
  return original.ftruncateSync(descriptor, size);
};
fs.renameSync = (from, to) => {
  stopBefore('rename', to);
  return original.renameSync(from, to);
};
syncBuiltinESMExports();

try {
  const { openSession } = await import(`${built}/manager/session/open-session.js`);
  if (stop.endsWith('at-open')) isArmed = true;
  const session = await openSession({ directory, id: 'chat', snapshotEvery: 10, onProblem: () => {} });
  say('open');
  for (let n = 0; ; n++) {
    if (n === 15) isArmed = stop !== '';
    const texts = [textOf(3 * n), textOf(3 * n + 1), textOf(3 * n + 2)];
    const adding = [session.add({ role: 'user', content: texts[0] })];
    adding.push(session.add(...texts.slice(1).map((content) => ({ role: 'user', content }))));
    const added = await Promise.allSettled(adding);
    for (const [i, { status, reason }] of added.entries()) {
      if (status === 'rejected') throw reason;
      for (const text of i === 0 ? texts.slice(0, 1) : texts.slice(1)) say(text);
    }
    if (n % 10 !== 9 || mood === 'calm') continue;
    await session.reset();
    await session.compact();
  }
} catch (error) {
  say(`ended ${error.code} ${error.message}`);
}
process.exit(0);
