import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** Pages that are not in docs/, and where the site has them. */
const OTHER_PAGES = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'project/changelog.md',
  'CONTRIBUTING.md': 'project/contributing.md',
  'SECURITY.md': 'project/security.md',
  'bench/README.md': 'project/benchmarks.md',
  'examples/README.md': 'project/examples.md',
};

/** Copies the Markdown of the repository into a folder for the site, with links that hold there. */
export function writePages(repository, folder) {
  const pages = new Map(Object.entries(OTHER_PAGES));
  const pictures = new Map();
  for (const path of readdirSync(join(repository, 'docs'), { recursive: true })) {
    const file = posix.join('docs', path.replaceAll('\\', '/'));
    if (file.endsWith('.md')) pages.set(file, pageOf(path.replaceAll('\\', '/')));
    else if (/\.(png|svg)$/.test(file)) pictures.set(file, path);
  }
  for (const [file, page] of pages) {
    const text = readFileSync(join(repository, file), 'utf8');
    write(
      join(folder, page),
      withLinks(withoutComments(text), { file, page, targets: new Map([...pages, ...pictures]) }),
    );
  }
  for (const [file, path] of pictures) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(repository, file), join(folder, path));
  }
  return { count: pages.size };
}

/** The groups of docs/README.md, which is the index of the pages, as the sidebar of the site. */
export function sidebarOf(repository) {
  const index = readFileSync(join(repository, 'docs/README.md'), 'utf8');
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n');
      const items = lines.join('\n').matchAll(/\[([^\]]+)\]\(([^)#\s]+\.md)\)/g);
      return {
        text: title.trim(),
        collapsed: false,
        items: [...items].map(([, text, link]) => ({ text: text.replaceAll('`', ''), link: `/${linkOf(link)}` })),
      };
    })
    .filter(({ items }) => items.length > 0);
}

function linkOf(link) {
  const file = posix.normalize(posix.join('docs', link));
  return (OTHER_PAGES[file] ?? pageOf(posix.relative('docs', file))).replace(/\.md$/, '');
}

/** A folder's README is its index, but the one of docs/ is a page: the README of the repository is the index of the site. */
function pageOf(path) {
  return path === 'README.md' ? 'contents.md' : path.replace(/README\.md$/, 'index.md');
}

/** The comments name the commands that wrote a block; a reader has no use for them. */
function withoutComments(text) {
  return text.replace(/^<!--.*?-->\n/gms, '');
}

/** Links to pages lead to pages of the site. Other files of the repository have no address there: their names stay, without a link. */
function withLinks(text, { file, page, targets }) {
  return text.replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, picture, label, link) => {
    if (/^([a-z]+:|#)/.test(link)) return whole;
    const [path = '', anchor] = link.split('#');
    const found = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '');
    const target = targets.get(found) ?? targets.get(posix.join(found, 'README.md'));
    if (!target) return label;
    const to = posix.relative(posix.dirname(page), target);
    return `${picture}[${label}](${to.startsWith('.') ? to : `./${to}`}${anchor ? `#${anchor}` : ''})`;
  });
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
