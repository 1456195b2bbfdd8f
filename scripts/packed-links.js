// Links of the packed Markdown. The tarball has dist/ in place of src/, and neither tests nor benchmarks: a link to a source
// becomes one to its compiled file, and a link to a file that is not packed becomes its text.
// `npm pack` runs it before and, with --restore, after: node scripts/packed-links.js [--restore]
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const KEPT = 'node_modules/.cache/palimpsest/unpacked';
const FENCED = /(^ {0,3}(`{3,}|~{3,})[\s\S]*?^ {0,3}\2[`~]*\s*$)/m;
const LINK = /(!?)\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)/g;

/** A page as it is packed. `isPacked` answers for a path from the root of the package. */
export function packLinks(text, path, isPacked) {
  const parts = text.split(FENCED);
  // The split gives text, block, fence, text, block, fence, …
  return parts
    .map((part, index) => (index % 3 === 0 ? part.replace(LINK, toPacked) : index % 3 === 1 ? part : ''))
    .join('');

  function toPacked(whole, image, label, target, anchor = '') {
    const from = posix.dirname(path);
    const found = posix.join(from, target);
    if (isPacked(found)) return whole;
    const compiled = found.replace(/^src(?=\/|$)/, 'dist').replace(/(?<!\.d)\.ts$/, '.js');
    if (compiled === found || !isPacked(compiled)) return label;
    return `${image}[${label}](${posix.relative(from, compiled)}${anchor})`;
  }
}

/** Whether a package with these files has a file or a folder of that name. */
export function packedIn(files) {
  const all = new Set(files);
  for (const file of files) {
    for (let folder = posix.dirname(file); folder !== '.'; folder = posix.dirname(folder)) all.add(folder);
  }
  return (path) => all.has(path.replace(/\/$/, ''));
}

/** Rewrites the pages of a folder in place, and keeps the originals. */
export function writePacked(folder = '.') {
  restore(folder);
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const files = JSON.parse(stdout)[0].files.map(({ path }) => path);
  const isPacked = packedIn(files);
  for (const path of files.filter((name) => name.endsWith('.md'))) {
    const text = readFileSync(join(folder, path), 'utf8');
    const packed = packLinks(text, path, isPacked);
    if (packed === text) continue;
    const kept = join(folder, KEPT, path);
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, text);
    writeFileSync(join(folder, path), packed);
  }
}

/** Puts the originals back, also after a run that was interrupted. */
export function restore(folder = '.') {
  const kept = join(folder, KEPT);
  if (!existsSync(kept)) return;
  for (const path of readdirSync(kept, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.md')) writeFileSync(join(folder, path), readFileSync(join(kept, path)));
  rmSync(kept, { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.argv.includes('--restore') ? restore() : writePacked();
