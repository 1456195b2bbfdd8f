#!/usr/bin/env node
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { run } from './run.ts';

// A reader that has seen enough, such as `head`, closes the pipe: that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`palimpsest: could not write to standard output: ${error.message}\n`);
  process.exit(1);
});

// The reader of a log may go away. Nobody is left to tell, and a gateway must go on: its agents still send requests.
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), {
  stdin: process.stdin.isTTY ? undefined : process.stdin,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  readFile: async (path) => new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)),
  color: process.stdout.isTTY === true && !process.env.NO_COLOR,
  columns: process.stdout.columns ?? 100,
  writeFile: (path, text) => writeFile(path, text),
  isTerminal: process.stderr.isTTY === true,
  env: process.env,
  interrupted: async () => {
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  },
});
