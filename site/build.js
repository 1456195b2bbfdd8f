// npm run docs [-- --serve]: builds the documentation site from docs/ into site/dist. The build fails on a broken link.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writePages } from './pages.js';

const site = dirname(fileURLToPath(import.meta.url));
const repository = dirname(site);
const pages = join(site, '.pages');
const vitepress = join(site, 'node_modules', '.bin', 'vitepress');

if (!existsSync(join(site, 'node_modules', 'vitepress'))) {
  console.log('$ npm ci --prefix site');
  execFileSync('npm', ['ci', '--prefix', site, '--loglevel', 'error'], { stdio: 'inherit' });
}
rmSync(pages, { recursive: true, force: true });
const { count } = writePages(repository, pages);
console.log(`${count} pages`);
run(process.execPath, ['api.js', repository, join(pages, 'api')]);
run(vitepress, ['build', site]);
console.log('Built site/dist. To look at it: npm run docs -- --serve');
if (process.argv.includes('--serve')) run(vitepress, ['preview', site]);

function run(command, options) {
  const { status } = spawnSync(command, options, { cwd: site, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
