import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { doorsOf } from '../../scripts/doors.js';
import { sidebarOf } from '../pages.js';

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { description, version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));

export default {
  title: 'Palimpsest',
  description,
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: true,
  // Without one, browsers ask for /favicon.ico.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // Placeholders such as <folder> in the text are not HTML.
  markdown: { html: false, theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Contents', link: '/contents' },
      { text: 'API', link: '/api/' },
      { text: version, link: '/project/changelog' },
    ],
    sidebar: [
      ...sidebarOf(repository),
      {
        text: 'API reference',
        collapsed: true,
        items: doorsOf(repository).map(({ door }) => ({ text: door, link: `/api/${door}` })),
      },
    ],
    notFound: { quote: 'No page has this address. The contents name all pages.', linkText: 'To the README' },
    docFooter: { prev: false, next: false },
  },
};
