// Opens a store in a process of its own and writes to it without a pause. Prints `open`, then each text once it is
// acknowledged, and at last the code of the error that ended it.
const [built, path, name, limits] = process.argv.slice(2);
const { openWithLimits } = await import(`${built}/store/embedded/open-with-limits.js`);

const say = (line) => process.stdout.write(`${line}\n`);
const textOf = (n) => `${name} ${n} ${'x'.repeat((n * 37) % 3000)}`;

try {
  const store = await openWithLimits({ path }, JSON.parse(limits));
  say('open');
  for (let n = 0; ; n++) {
    const texts = [textOf(2 * n), textOf(2 * n + 1)];
    const acknowledged = await Promise.allSettled(texts.map((text) => store.put(text, { session: name })));
    for (const [i, { status, reason }] of acknowledged.entries()) {
      if (status === 'rejected') throw reason;
      say(texts[i]);
    }
    if (n % 25 === 24) await store.gc({ force: true });
  }
} catch (error) {
  say(`ended ${error.code} ${error.message}`);
}
