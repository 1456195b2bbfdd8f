// Preloaded into the gateway with `--import`: shifts its clock by the milliseconds that a file names.
import { readFileSync } from 'node:fs';

const path = process.env.PALIMPSEST_CHAOS_CLOCK;
const realNow = Date.now;
let offsetMs = 0;

function read() {
  try {
    offsetMs = Number(readFileSync(path, 'utf8')) || 0;
  } catch {
    // The file is being replaced.
  }
}

if (path) {
  read();
  setInterval(read, 50).unref();
  Date.now = () => realNow() + offsetMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, self) => Reflect.construct(target, args.length > 0 ? args : [Date.now()], self),
  });
}
