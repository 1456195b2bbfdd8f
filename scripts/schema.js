// Writes palimpsest.schema.json from the schema that checks palimpsest.yaml. Needs dist/: npm run build first.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { configJsonSchema } from '../dist/manager/config/config-schema.js';

const FILE = 'palimpsest.schema.json';

writeFileSync(FILE, `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`);
execFileSync('npx', ['biome', 'format', '--write', FILE], { stdio: 'inherit' });
