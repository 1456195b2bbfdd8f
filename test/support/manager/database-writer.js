// Opens a session in a database in a process of its own and adds messages one after the other. Prints `open`, then each text
// once it is acknowledged, and at last the code and the message of the error that ended it.
import fs from 'node:fs';

const [built, url, schema, name, leaseMs] = process.argv.slice(2);
const say = (line) => fs.writeSync(1, `${line}\n`);
const { openSession } = await import(`${built}/manager/session/open-session.js`);

try {
  const database = { url, schema, leaseMs: Number(leaseMs), timeoutMs: 20_000 };
  const session = await openSession({
    database,
    id: 'chat',
    snapshotEvery: 7,
    compactAfterBytes: 2000,
    onProblem: () => {},
  });
  say('open');
  for (let n = 0; ; n++) {
    const texts = [`${name} ${3 * n}`, `${name} ${3 * n + 1}`, `${name} ${3 * n + 2}`];
    const adding = [session.add({ role: 'user', content: texts[0] })];
    adding.push(session.add(...texts.slice(1).map((content) => ({ role: 'user', content }))));
    await Promise.all(adding);
    for (const text of texts) say(text);
  }
} catch ({ code, message }) {
  say(`ended ${code} ${message}`);
}
process.exit(0);
