// Writes docs/exports.md from the sources: what each door of package.json exports. --check only compares.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { doorsOf } from './doors.js';
import { exportsOf } from './exports.js';
import { membersOf } from './members.js';

const FILE = 'docs/exports.md';
const MAIN =
  /^(fit|fitAndStore|recall|recallTool|replay|runAgent|resumeAgent|sweepSessions|listen|stateless|ContextManager|HistoryReducer)$|^(create|open|define|detect|from|load|serve|list|delete|drop|render|trim|extract)[A-Z]|^read(Runs|Log|Usage|SessionEvents)$|Tokens$/;

const doors = doorsOf('.');
const { page, silent } = writePage();
const members = membersOf(doors);
tell('Without a doc comment', [
  ...silent,
  ...members.filter(({ comment }) => comment === '').map(({ owner, name, file }) => `${owner}.${name} (${file})`),
]);
tell(
  'Without @default',
  members
    .filter(({ comment, isOption }) => isOption && comment !== '' && !comment.includes('@default'))
    .map(({ owner, name, file }) => `${owner}.${name} (${file})`),
);
tell(
  'Without @example',
  doors
    .flatMap(({ door, source }) => [...exportsOf(source).values()].map((found) => ({ door, ...found })))
    .filter((found) => isMain(found) && !found.comment.includes('@example'))
    .map(({ door, name }) => `${name} (${door})`),
);
if (process.argv.includes('--check')) {
  const found = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
  if (found !== page) {
    console.error(`${FILE} is not what the sources say (${firstDifference(found, page)}). Run: node scripts/docs.js`);
    process.exitCode = 1;
  }
} else {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, page);
}

/** A function or class that a program begins with: every policy, every adapter, and all that makes, opens, reads or runs something. */
function isMain({ name, kind, file }) {
  if (name === 'palimpsest') return true;
  if (kind !== 'function' && kind !== 'class') return false;
  return /\/plan\/policies\//.test(file) || MAIN.test(name);
}

function tell(heading, names) {
  if (names.length > 0) console.error(`${heading}: ${names.join(', ')}`);
}

/** The page, and the exports that have nothing to say for themselves. */
function writePage() {
  const silent = new Set();
  const sections = doors.map(({ door, source }) => {
    const lines = [...exportsOf(source).values()].sort(byName).map(({ name, kind, file, comment }) => {
      const about = firstSentence(comment);
      if (about === '') silent.add(`${name} (${file})`);
      return `- [\`${name}\`](../${file}), ${kind}${about && `: ${about}`}`;
    });
    // A list, not a table: formatters align tables, and would disagree with this script.
    return [`## \`${door}\``, '', ...lines].join('\n');
  });
  const intro = 'Every name that the package exports, door by door. Made by `node scripts/docs.js` from the sources.';
  return { page: `${['# Exports', intro, ...sections].join('\n\n')}\n`, silent: [...silent] };
}

/** Functions and classes come before types. */
function byName(a, b) {
  const order = Number(a.kind === 'type') - Number(b.kind === 'type');
  return order || (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);
}

function firstSentence(comment) {
  const words = comment.slice(3, -2).replace(/^\s*\*/gm, ' ');
  const [line = ''] = words
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?:^| )@[a-z]/, 1);
  return /^.+?[.!?](?= [A-Z`'"]|$)/.exec(line)?.[0] ?? line;
}

function firstDifference(found, page) {
  const lines = found.split('\n');
  const index = page.split('\n').findIndex((line, at) => line !== lines[at]);
  return index < 0 ? 'it is longer' : `line ${index + 1}`;
}
