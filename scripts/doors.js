import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** The doors of package.json with their sources, and the names that TypeDoc gives to these. */
export function doorsOf(repository) {
  const { name, exports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([door, { types }]) => {
    if (!types) return [];
    const path = posix
      .normalize(types)
      .replace(/^dist\//, '')
      .replace(/\.d\.ts$/, '');
    return [{ door: posix.join(name, door), source: `src/${path}.ts`, module: path.replace(/\/index$/, '') }];
  });
}
