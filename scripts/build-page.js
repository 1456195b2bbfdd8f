import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'vite';

/**
 * Bundles web/ into dist/web: report.html and comparison.html, files that load nothing and run no script but their own,
 * and dashboard/, three files for the gateway to serve.
 */
export async function buildPage() {
  // Under a test runner it says 'test', and the bundle would hold the paths of this machine.
  process.env.NODE_ENV = 'production';
  const report = await bundle('report.html');
  mkdirSync('dist/web/dashboard', { recursive: true });
  writeFileSync('dist/web/report.html', inline(report));
  writeFileSync('dist/web/comparison.html', inline(await bundle('comparison.html')));
  const { html, style, chunk } = await bundle('dashboard/index.html');
  writeFileSync('dist/web/dashboard/index.html', html);
  writeFileSync('dist/web/dashboard/style.css', style);
  writeFileSync('dist/web/dashboard/app.js', `/*!\n${licences(chunk.moduleIds)}\n*/\n${chunk.code}`);
}

async function bundle(input) {
  const { output } = await build({
    root: 'web',
    configFile: false,
    logLevel: 'warn',
    base: './',
    build: {
      write: false,
      modulePreload: false,
      cssCodeSplit: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: `web/${input}`,
        output: { entryFileNames: 'app.js', assetFileNames: 'style[extname]' },
      },
    },
  });
  const page = output.find(({ fileName }) => fileName === input);
  const chunk = output.find(({ type }) => type === 'chunk');
  const style = output.find(({ fileName }) => fileName.endsWith('.css'));
  if (!page || !chunk || !style || output.length !== 3) {
    throw new Error(`Expected a page, a script and a style but found ${output.map(({ fileName }) => fileName)}`);
  }
  // The page stands beside its script and its style, wherever its source stood.
  const html = `${page.source}`
    .replaceAll(/(src|href)="\.\.\/(app\.js|style\.css)"/g, '$1="./$2"')
    .replaceAll(' crossorigin ', ' ');
  return { html, style: `${style.source}`, chunk };
}

function inline({ html, style, chunk }) {
  const script = `\n${chunk.code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')}\n`;
  const hash = createHash('sha256').update(script).digest('base64');
  // Plots set styles on their marks, so styles cannot be named one by one; they can load nothing.
  const allowed = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`;
  const policy = `<meta http-equiv="Content-Security-Policy" content="${allowed}">`;
  return html
    .replace('<!doctype html>', (doctype) => `${doctype}\n<!--\n${licences(chunk.moduleIds)}\n-->`)
    .replace('<meta charset="utf-8">', (charset) => `${charset}\n    ${policy}`)
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>\n${style.trim()}\n    </style>`)
    .replace(/\s*<script type="module"[^>]*><\/script>/, '')
    .replace('</body>', () => `<script type="module">${script}</script>\n  </body>`);
}

/** The notices that the licences of the bundled packages ask for, each text once. */
function licences(moduleIds) {
  const names = moduleIds.flatMap((id) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
  const holders = new Map();
  for (const name of [...new Set(names)].sort()) {
    const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8');
    const copyright = text.split('\n').filter((line) => line.startsWith('Copyright'));
    const terms = text.slice(text.indexOf('Permission')).trim().replaceAll('--', '- -');
    holders.set(terms, [...(holders.get(terms) ?? []), `${name}: ${copyright.join(', ')}`]);
  }
  return [...holders].map(([terms, packages]) => `${packages.join('\n')}\n\n${terms}`).join('\n\n\n');
}
