// Prints the sizes of bundles for a browser, minified and gzipped. Bundles dist/: build first.
// With --parts: how large those of palimpsest/core would be without some of their parts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

/** The bundles that users make, by name. */
export const ENTRIES = {
  'fit, with detection and the default policy': "export { fit } from 'palimpsest';",
  'fit of palimpsest/core': "export { fit } from 'palimpsest/core';",
  'fit of palimpsest/core, anthropic and slidingWindow': `
    export { fit } from 'palimpsest/core';
    export { anthropic } from 'palimpsest/formats';
    export { slidingWindow } from 'palimpsest';`,
};

const SMALLEST = 'fit of palimpsest/core';
const USUAL = 'fit of palimpsest/core, anthropic and slidingWindow';

/** Parts of `palimpsest/core`, by name: their modules in dist/. */
const PARTS = {
  'results made smaller when they arrive': /plan\/arrival\/(?!last-line|options|reference-line)/,
  'kinds of tools': /plan\/(?:tool-kind|ledger\/read-coverage)/,
  'stages of a budget':
    /plan\/(?:reduce|summary|truncate-result|common-cap|stages\/(?!mask|stage)|ledger\/(?:questions|shorten-words))/,
  'old texts of edits': /laws\/old-texts|plan\/(?:shorten-calls|ledger\/short-call)/,
  laws: /laws\/(?!law|idempotent|old-texts)/,
  'token counter': /\/tokens\//,
  'check of the format': /formats\/coverage|unknown-format/,
  'handles and SHA-256': /store\/(?:handle|sha256)/,
};

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ENTRY = `${ROOT}entry-of-a-bundle.js`;

/**
 * One module for a browser. What only Node has must not be imported: the bundler puts an empty module in its place.
 * The modules of dist/ that `without` matches export nothing but undefined.
 */
export async function bundleFor(source, { without } = {}) {
  const nodeImports = [];
  const { output } = await build({
    root: ROOT,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [
      {
        name: 'entry',
        enforce: 'pre',
        resolveId(id) {
          if (id === ENTRY) return id;
          if (id.startsWith('node:')) nodeImports.push(id);
        },
        load(id) {
          if (id === ENTRY) return source;
          if (without?.test(id) && id.startsWith(`${ROOT}dist/`)) return emptied(readFileSync(id, 'utf8'));
        },
      },
    ],
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      rolldownOptions: { input: ENTRY, preserveEntrySignatures: 'strict', output: { format: 'es' } },
    },
  });
  const [{ code, moduleIds, modules }] = output;
  const used = moduleIds.filter((id) => modules[id].renderedLength > 0);
  return { code, gzipped: gzipSync(code, { level: 9 }).length, nodeImports, modules: used };
}

/** The exports of a module, all undefined. */
function emptied(code) {
  const names = [...code.matchAll(/^export (?:function\*?|const|let|class) (\w+)/gm)].map(([, name]) => name);
  return names.map((name) => `export const ${name} = globalThis.undefined;`).join('\n');
}

const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

async function printSizes() {
  for (const [name, source] of Object.entries(ENTRIES)) {
    const { code, gzipped } = await bundleFor(source);
    console.log(`${name}: ${kB(code.length)}, gzipped ${kB(gzipped)}`);
  }
}

/** Parts share code and words, so that several together save more or less than the sum. */
async function printParts() {
  const sizeOf = async (name, without) => kB((await bundleFor(ENTRIES[name], { without })).gzipped);
  console.log(`${SMALLEST}: ${await sizeOf(SMALLEST)}; ${USUAL}: ${await sizeOf(USUAL)}`);
  const above = [];
  for (const [part, without] of Object.entries(PARTS)) {
    above.push(without.source);
    const all = new RegExp(above.join('|'));
    const [alone, smallest, usual] = [sizeOf(SMALLEST, without), sizeOf(SMALLEST, all), sizeOf(USUAL, all)];
    console.log(`without ${part}: ${await alone}; and without all above: ${await smallest}; ${await usual}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await (process.argv.includes('--parts') ? printParts() : printSizes());
