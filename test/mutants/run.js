// npm run mutants [-- GROUP … --OPTION …]: changes the source one place at a time and runs the tests that are meant for it.
// Prints the changes that no test notices. Options are those of Stryker, such as --force or --mutate src/laws/text.ts.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { groups } from './groups.js';

const folder = dirname(fileURLToPath(import.meta.url));
const repository = join(folder, '..', '..');
const packages = join(folder, 'node_modules');
const given = process.argv.slice(2);
const firstOption = given.findIndex((word) => word.startsWith('--'));
const [named, options] = firstOption < 0 ? [given, []] : [given.slice(0, firstOption), given.slice(firstOption)];

const unknown = named.find((name) => !Object.hasOwn(groups, name));
if (unknown !== undefined) {
  console.error(`Expected groups among ${Object.keys(groups).join(', ')} but found ${unknown}`);
  process.exit(2);
}
if (!existsSync(packages)) {
  console.log('$ npm ci --prefix test/mutants');
  execFileSync('npm', ['ci', '--prefix', folder, '--loglevel', 'error'], { stdio: 'inherit' });
}
for (const group of named.length > 0 ? named : Object.keys(groups)) {
  console.log(`\n${group}`);
  const stryker = join(packages, '@stryker-mutator', 'core', 'bin', 'stryker.js');
  const { status } = spawnSync(
    join(packages, '.bin', 'node'),
    [stryker, 'run', join('test', 'mutants', 'stryker.config.js'), ...options],
    {
      cwd: repository,
      stdio: 'inherit',
      env: { PALIMPSEST_RUNS: String(groups[group].samples ?? 10), ...process.env, PALIMPSEST_MUTANTS: group },
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
