import { KINDS, LANGUAGE_NAMES } from '../corpora.js';
import { count, percent, ratio, time } from './table.js';

const SPEED_TARGET = 100;
const ERROR_TARGET = 0.1;
const HOSTILE_TARGET_MS = 1;

/** @returns {Generator<import('./table.js').Table>} */
export function* counterTables({ measure, quick }) {
  const maxChars = quick ? 3e5 : 1e6;
  const rounds = quick ? 9 : 25;
  const kinds = KINDS.map((kind) => ({ kind, found: measure('counter.js', { task: 'kind', kind, maxChars, rounds }) }));
  yield {
    title: 'countTokens: error against o200k in total, and speed',
    note: `texts of this machine in pieces of 2,000 characters; targets: within ±10 %, at ${SPEED_TARGET} MB/s and more`,
    columns: ['kind', 'files', 'KB', 'o200k', 'error', 'MB/s', 'bytes/4: error', 'MB/s', ''],
    rows: kinds.map(kindRow),
  };
  const languages = LANGUAGE_NAMES.map((kind) => ({
    kind,
    found: measure('counter.js', { task: 'language', kind, maxChars }),
  }));
  yield {
    title: 'countTokens: error against o200k in total, by language',
    note: 'translations on this machine in pieces of 2,000 characters, then line by line; target: within ±10 %',
    columns: ['language', 'files', 'KB', 'o200k', 'error', 'lines', 'error', 'bytes/4: error', ''],
    rows: languages.map(languageRow),
  };
  const hostile = measure('counter.js', { task: 'hostile', rounds });
  yield {
    title: 'countTokens on 50 KB of one unbroken run',
    note: '',
    columns: ['run', 'median', 'worst', 'tokens per character', 'target', ''],
    rows: hostile.map(({ name, median, worst, tokensPerCharacter }) => ({
      cells: [name, time(median), time(worst), ratio(tokensPerCharacter), `<= ${HOSTILE_TARGET_MS} ms`],
      met: median <= HOSTILE_TARGET_MS,
      values: { name, median, worst, tokensPerCharacter },
    })),
  };
}

function kindRow({ kind, found }) {
  const { files, bytes, tokens, error, megabytesPerSecond, estimateError, estimateMegabytesPerSecond } = found;
  if (files === 0) return notFound(kind);
  return {
    cells: [
      kind,
      count(files),
      count(Math.round(bytes / 1000)),
      count(tokens),
      percent(error),
      count(Math.round(megabytesPerSecond)),
      percent(estimateError),
      count(Math.round(estimateMegabytesPerSecond)),
    ],
    met: Math.abs(error) <= ERROR_TARGET && megabytesPerSecond >= SPEED_TARGET,
    values: { kind, ...found },
  };
}

function languageRow({ kind, found }) {
  const { files, bytes, tokens, error, lines, lineError, estimateError } = found;
  if (files === 0) return notFound(kind);
  return {
    cells: [
      kind,
      count(files),
      count(Math.round(bytes / 1000)),
      count(tokens),
      percent(error),
      count(lines),
      percent(lineError),
      percent(estimateError),
    ],
    met: Math.abs(error) <= ERROR_TARGET,
    values: { kind, ...found },
  };
}

function notFound(kind) {
  return { cells: [kind, 'not found on this machine', '', '', '', '', '', ''], values: { kind, files: 0 } };
}
