import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** The server of the tests, which are TypeScript: the one that PALIMPSEST_POSTGRES_URL names, or one of our own. */
export async function startPostgres() {
  const out = join(repository, 'node_modules/.cache/palimpsest-bench');
  const options = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck', '--outDir', out];
  execFileSync('npx', ['tsc', 'test/support/postgres.ts', '--ignoreConfig', ...options], {
    cwd: repository,
    stdio: ['ignore', 2, 2],
  });
  const { startPostgres: start } = await import(join(out, 'postgres.js'));
  return start();
}
