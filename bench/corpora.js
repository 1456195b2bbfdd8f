import { execSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandom } from './random.js';

const REPOSITORY = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_MODULES = [join(REPOSITORY, 'node_modules'), join(REPOSITORY, 'bench/node_modules')];
const NPM = join(dirname(dirname(process.execPath)), 'lib/node_modules');
const LARGEST_FILE = 2e6;
/** No project may be the whole corpus. */
const LARGEST_SHARE = 60_000;

/**
 * Texts of one kind, found on this machine at run time: nothing is shipped, and other machines give other texts.
 * @typedef {{ from: string, text: string }} Found
 * @type {Record<string, (maxChars: number) => Found[]>}
 */
const sources = {
  prose: (maxChars) => readTree([...NODE_MODULES, NPM], isProse, { maxChars, map: withoutCode }),
  code: (maxChars) => readTree([...NODE_MODULES, NPM], isCode, { maxChars }),
  logs: (maxChars) => [...readTree(LOG_FOLDERS, isLog, { maxChars }), ...commandOutput()],
  json: (maxChars) => readTree([...NODE_MODULES, REPOSITORY, NPM], isJson, { maxChars }),
  base64: (maxChars) => [{ from: process.execPath, text: head(process.execPath, maxChars).toString('base64') }],
};

export const KINDS = Object.keys(sources);

/** Names of a language in the paths of its translations, and its letters. */
const LANGUAGES = {
  Japanese: { names: ['ja', 'jpn'], letters: /[\u3040-\u30ff\u4e00-\u9fff]/g },
  Korean: { names: ['ko', 'kr', 'kor'], letters: /[\uac00-\ud7af]/g },
  'Chinese, simplified': { names: ['zh-CN', 'zh_CN', 'zh_cn', 'cmn_hans'], letters: /[\u4e00-\u9fff]/g },
  'Chinese, traditional': { names: ['zh-TW', 'zh_TW', 'zh_tw', 'cmn_hant'], letters: /[\u4e00-\u9fff]/g },
  Thai: { names: ['th', 'tha'], letters: /[\u0e00-\u0e7f]/g },
  Hindi: { names: ['hi', 'hin'], letters: /[\u0900-\u097f]/g },
  Arabic: { names: ['ar', 'arb'], letters: /[\u0600-\u06ff]/g },
  Hebrew: { names: ['he', 'heb'], letters: /[\u0590-\u05ff]/g },
  Russian: { names: ['ru', 'rus'], letters: /[\u0400-\u04ff]/g },
  Ukrainian: { names: ['uk', 'ukr'], letters: /[\u0400-\u04ff]/g },
  Greek: { names: ['el', 'ell_monotonic'], letters: /[\u0370-\u03ff]/g },
};

for (const [language, { names, letters }] of Object.entries(LANGUAGES)) {
  const read = (path) => translationsIn(path.endsWith('.mo') ? readCatalogue(path) : readText(path), letters);
  const isWanted = (path) => names.includes(languageOf(path));
  sources[language] = (maxChars) => readTree([...NODE_MODULES, '/usr/share'], isWanted, { maxChars, read });
}

export const LANGUAGE_NAMES = Object.keys(LANGUAGES);

/** @returns {Found[]} at most `maxChars` in all; none if this machine has no such text */
export function readFiles(kind, maxChars = 1e6) {
  const found = [];
  let room = maxChars;
  for (const { from, text } of sources[kind](maxChars)) {
    if (room <= 0) break;
    found.push({ from, text: text.slice(0, room) });
    room -= text.length;
  }
  return found;
}

const isProse = (path) =>
  /(readme[^/]*|licen[cs]e[^/]*|changelog[^/]*|\.md)$/i.test(path) && !/\.(js|ts|json)$/.test(path);
const isCode = (path) =>
  /\.(ts|js|mjs|cjs)$/.test(path) && !/\.min\.|gpt-tokenizer|js-tiktoken|bpe|unicode/i.test(path);
const isLog = (path) => /\.log(\.\d+)?$/.test(path);
const isJson = (path) => ['package.json', 'package-lock.json', '.package-lock.json'].includes(basename(path));

/** `ja` in `locales/ja.js`, `README.ja.md`, `tutor.ja.utf-8`, `ja/LC_MESSAGES/vim.mo`. Lists of country names are no text. */
const languageOf = (path) =>
  path.match(/\/([^/.]+)(?:\.UTF-8)?\/LC_MESSAGES\/(?!iso_)[^/]+\.mo$/)?.[1] ??
  path.match(/[/.]([^/.]+)\.(?:js|json|md|html|utf-8)$/)?.[1];

const LOG_FOLDERS = ['/var/log', join(homedir(), '.npm/_logs')];

/** Markdown without its fences. */
const withoutCode = (text) => text.replace(/```[\s\S]*?```/g, '');

/** Reads matching files, mixed but always in the same order, at most so much of each, until there is enough. */
function readTree(roots, isWanted, { maxChars, map = (text) => text, read = readText }) {
  const found = [];
  let room = maxChars;
  for (const path of mixed(roots.flatMap((root) => [...walk(root, isWanted)]))) {
    if (room <= 0) break;
    const text = map(read(path)).slice(0, LARGEST_SHARE);
    if (text.length < 200) continue;
    found.push({ from: path, text });
    room -= text.length;
  }
  return found;
}

function mixed(paths) {
  const random = createRandom(3);
  const keyed = paths.map((path) => ({ path, key: random(1e9) }));
  return keyed.sort((a, b) => a.key - b.key).map(({ path }) => path);
}

function* walk(folder, isWanted, depth = 0) {
  for (const entry of depth > 10 ? [] : list(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !(depth === 0 && entry.name === 'node_modules')) yield* walk(path, isWanted, depth + 1);
    else if (entry.isFile() && isWanted(path)) yield path;
  }
}

function list(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return []; // not on this machine, or not ours to read
  }
}

/** The text of a file; empty if it cannot be read or is not text. */
function readText(path) {
  try {
    const text = statSync(path).size > LARGEST_FILE ? '' : readFileSync(path, 'utf8');
    return text.includes('\0') || text.includes('\ufffd') ? '' : text;
  } catch {
    return '';
  }
}

/** The translations in a gettext catalogue. */
function readCatalogue(path) {
  const bytes = readFileSync(path);
  if (bytes.length < 28 || bytes.readUInt32LE(0) !== 0x950412de) return '';
  const texts = [];
  const table = bytes.readUInt32LE(16);
  for (let i = 1; i < bytes.readUInt32LE(8); i++) {
    const start = bytes.readUInt32LE(table + i * 8 + 4);
    texts.push(bytes.toString('utf8', start, start + bytes.readUInt32LE(table + i * 8)).split('\0', 1)[0]);
  }
  return texts.join('\n');
}

/** Lines and quoted strings that are mostly in these letters, each once and on a line of its own. */
function translationsIn(text, letters) {
  const parts = text.split(/["'`\n]|<[^>]*>/).map((part) => part.trim());
  const isTranslation = (part) => part.length >= 8 && (part.match(letters)?.length ?? 0) >= part.length / 2;
  return [...new Set(parts.filter(isTranslation))].filter((part) => !part.includes('\ufffd')).join('\n');
}

/** What an agent sees of its shell, where the machine keeps few logs. */
function commandOutput() {
  const commands = [`ls -lR "${join(REPOSITORY, 'node_modules')}"`, 'npm config ls -l', 'dmesg', 'ps aux'];
  return commands.map((command) => ({ from: command, text: runCommand(command).slice(0, LARGEST_SHARE) }));
}

function runCommand(command) {
  try {
    return execSync(command, { encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return '';
  }
}

function head(path, bytes) {
  const file = openSync(path, 'r');
  const buffer = Buffer.alloc(Math.floor((bytes * 3) / 4));
  readSync(file, buffer, 0, buffer.length, Math.floor(statSync(path).size / 2));
  closeSync(file);
  return buffer;
}
