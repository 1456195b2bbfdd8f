// Compiles src/ and bundles web/ into dist/, from scratch: a file that was deleted must not live on in the package.
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { buildPage } from './build-page.js';
import { pruneTypes } from './prune-types.js';

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
pruneTypes();
await buildPage();
chmodSync('dist/cli/main.js', 0o755);
