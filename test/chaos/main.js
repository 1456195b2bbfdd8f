// The chaos run: `npm run chaos -- --minutes 5`. Node 20 reads no TypeScript, so Vite loads it, here and in the child
// process that plays the upstream.
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const role = process.argv[2] === 'upstream' ? './upstream-process.ts' : './command.ts';
const { module } = await runnerImport(fileURLToPath(new URL(role, import.meta.url)), {
  configFile: false,
  logLevel: 'error',
});
process.exitCode = await module.run(process.argv.slice(2));
