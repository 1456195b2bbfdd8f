// Writes src/store/embedded/xxhash64-wasm.ts from xxhash64.wat.
import { readFileSync, writeFileSync } from 'node:fs';
import wabt from 'wabt';

const FOLDER = 'src/store/embedded';

const { parseWat } = await wabt();
const { buffer } = parseWat('xxhash64.wat', readFileSync(`${FOLDER}/xxhash64.wat`, 'utf8')).toBinary({});
const text = Buffer.from(buffer).toString('base64');
writeFileSync(
  `${FOLDER}/xxhash64-wasm.ts`,
  `/** xxhash64.wat, compiled by scripts/wasm.js. */\nexport const XXHASH64 =\n  '${text}';\n`,
);
