// Prints the sizes of bundles for a browser, minified and gzipped. Bundles dist/: build first.
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
  'the same with the part budget': `
    export { budget, fit } from 'palimpsest/core';
    export { anthropic } from 'palimpsest/formats';
    export { slidingWindow } from 'palimpsest';`,
  'the same with all parts': `
    export { arrival, budget, fit, oldTexts } from 'palimpsest/core';
    export { anthropic } from 'palimpsest/formats';
    export { slidingWindow } from 'palimpsest';`,
};

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ENTRY = `${ROOT}entry-of-a-bundle.js`;

/** One module for a browser. What only Node has must not be imported: the bundler puts an empty module in its place. */
export async function bundleFor(source) {
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

const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

async function printSizes() {
  for (const [name, source] of Object.entries(ENTRIES)) {
    const { code, gzipped } = await bundleFor(source);
    console.log(`${name}: ${kB(code.length)}, gzipped ${kB(gzipped)}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await printSizes();
