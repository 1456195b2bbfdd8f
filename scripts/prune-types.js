// Deletes the declarations in dist/ that no door of the package leads to: nobody can import them.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const RELATIVE = /(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g;

export function pruneTypes() {
  const { exports: doors } = JSON.parse(readFileSync('package.json', 'utf8'));
  const reached = new Set();
  const todo = Object.values(doors).flatMap(({ types }) => (types ? [join(types)] : []));
  for (const file of todo) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(RELATIVE))
      todo.push(join(dirname(file), `${target}.d.ts`));
  }
  const files = readdirSync('dist', { recursive: true, encoding: 'utf8' }).map((name) => join('dist', name));
  for (const file of files) if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
}
