// Opens a store in a process of its own and does what it is told, a line of JSON at a time.
import { createInterface } from 'node:readline';

const [built, path, mode, limits] = process.argv.slice(2);
const { openWithLimits } = await import(`${built}/store/embedded/open-with-limits.js`);

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  const store = await openWithLimits({ path, mode }, JSON.parse(limits));
  say({ is: 'open', pid: process.pid });
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, args } = JSON.parse(line);
    try {
      say({ answer: (await store[call](...args)) ?? null });
    } catch (error) {
      say({ code: error.code, message: error.message });
    }
  }
} catch (error) {
  say({ code: error.code, message: error.message });
}
