// Prints the share of result characters that each rule of cleaning saves, and shortened shell output, for the runs in a folder
// (default: ../shared/corpus). Needs a build.
import { chat } from '../dist/formats/index.js';
import { readRuns } from '../dist/lab/index.js';
import { dropBlanks } from '../dist/plan/arrival/clean/empty-lines.js';
import { stripEscapeCodes } from '../dist/plan/arrival/clean/escape-codes.js';
import { compactJson } from '../dist/plan/arrival/clean/json.js';
import { unpadLineNumbers } from '../dist/plan/arrival/clean/line-numbers.js';
import { keepLastStates } from '../dist/plan/arrival/clean/overwritten-lines.js';
import { foldRepeatedBlocks } from '../dist/plan/arrival/clean/repeated-blocks.js';
import { writePathsOnce } from '../dist/plan/arrival/clean/search-paths.js';
import { cleanResult } from '../dist/plan/arrival/clean.js';
import { shortenShellOutput } from '../dist/plan/arrival/shell-output.js';
import { shownBy } from '../dist/plan/arrival/shown-by.js';

const EVERYTHING = ['file', 'search', 'shell', 'other'];
const OUTPUT = ['search', 'shell', 'other'];
const isJson = (text) => compactJson(text) !== undefined;
const outsideJson = (rule) => (text) => (isJson(text) ? text : rule(text));
const RULES = [
  ['escape codes', EVERYTHING, stripEscapeCodes],
  ['JSON', OUTPUT, (text) => compactJson(text) ?? text],
  ['overwritten lines', OUTPUT, outsideJson(keepLastStates)],
  ['trailing blanks, empty lines', OUTPUT, outsideJson(dropBlanks)],
  ['repeated blocks', OUTPUT, outsideJson(foldRepeatedBlocks)],
  ['paths of searches', ['search', 'shell'], outsideJson(writePathsOnce)],
  ['blanks before line numbers', EVERYTHING, (text, shows) => unpadLineNumbers(text, { onlyRising: shows === 'file' })],
];

const results = await readResults(process.argv[2] ?? '../shared/corpus');
const characters = sum(results, ({ text }) => text.length);
const kinds = EVERYTHING.map((kind) => `${kind} ${percent(sum(of(kind), ({ text }) => text.length))}`);
console.log(`${results.length} results, ${characters} characters: ${kinds.join(', ')}`);

let texts = results;
for (const [name, kinds, rule] of RULES) {
  const next = texts.map(({ text, shows }) => ({ shows, text: kinds.includes(shows) ? rule(text, shows) : text }));
  console.log(`${percent(saved(texts, next))}  ${name}`);
  texts = next;
}
const cleaned = results.map(({ text, shows }) => ({ shows, text: cleanResult(text, shows) }));
console.log(`${percent(saved(results, cleaned))}  all rules`);
const asOutput = results.map(({ text }) => ({ text: cleanResult(text, 'shell') }));
console.log(`${percent(saved(results, asOutput))}  all rules, if files were cleaned like the output of a shell`);
const counter = (text) => text.length / 4;
const short = cleaned.map(({ text, shows }) => ({
  text: (shows === 'shell' ? shortenShellOutput(text, { counter }) : undefined) ?? text,
}));
console.log(`${percent(saved(cleaned, short))}  shell output above 2000 tokens, after cleaning`);

async function readResults(folder) {
  const found = [];
  for await (const { messages } of readRuns([folder])) {
    const calls = new Map();
    for (const { kind, callId, tool, text } of chat.view(messages)) {
      if (kind === 'action') calls.set(callId, text);
      const shows = kind === 'observation' && callId ? shownBy(tool, calls.get(callId) ?? '') : undefined;
      if (shows) found.push({ text, shows });
    }
  }
  return found;
}

function of(kind) {
  return results.filter(({ shows }) => shows === kind);
}

function sum(list, pick) {
  return list.reduce((total, item) => total + pick(item), 0);
}

function saved(before, after) {
  return sum(before, ({ text }) => text.length) - sum(after, ({ text }) => text.length);
}

function percent(part) {
  return `${((100 * part) / characters).toFixed(2)} %`;
}
