// What the crash tests share: a child that says what it does, line by line, and is killed in the middle of it.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** In the child: a line is written at once, or not at all. */
export function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Runs a script, kills it soon after it said the word, and answers what it said before. */
export async function runAndKill(args, { word, delayMs }) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const kill = () => child.kill('SIGKILL');
  let output = '';
  let isWaiting = true;
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (!isWaiting || !output.includes(`:"${word}"`)) return;
    isWaiting = false;
    sleep(delayMs).then(kill);
  });
  const patience = setTimeout(kill, 3000);
  const { code, signal } = await ended;
  clearTimeout(patience);
  if (signal !== 'SIGKILL') throw new Error(`the child ended by itself, with ${code}`);
  // The last line has no end: it was cut off, or is empty.
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** What it was doing when it was killed, in words. */
export function whenKilled(lines) {
  const { is, begun } = lines.at(-1) ?? { is: 'not started' };
  return is ?? (begun ? `during ${begun}` : 'between');
}

export const pick = (from, random) => from[Math.floor(random() * from.length)];

/** Numbers from 0 up to 1, the same for the same seed. */
export function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
