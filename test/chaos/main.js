// The chaos run: `npm run chaos -- --minutes 5`. Node 20 reads no TypeScript, so Vite loads it, here and in the child
// process that plays the upstream.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const vite = await createServer({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  configFile: false,
  logLevel: 'error',
  appType: 'custom',
  server: { middlewareMode: true, hmr: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
const role = process.argv[2] === 'upstream' ? 'upstream-process' : 'command';
const { run } = await vite.ssrLoadModule(`/test/chaos/${role}.ts`);
process.exitCode = await run(process.argv.slice(2));
await vite.close();
