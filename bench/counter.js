// Speed and error of the default counter on texts of this machine: node --expose-gc bench/counter.js '{"task":"kind","kind":"prose"}'
import { countTokens, estimateTokens } from '../dist/index.js';
import { readFiles } from './corpora.js';
import { collectGarbage, median, sink } from './measure.js';
import { createRandom } from './random.js';

const PIECE_CHARS = 2000;
const HOSTILE_CHARS = 50_000;

const tasks = { kind: measureKind, language: measureLanguage, hostile: measureHostile };
const request = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await tasks[request.task](request)));

/** Total error against o200k, and MB (UTF-8) per second, in messages of 2,000 characters. */
async function measureKind({ kind, maxChars, rounds }) {
  const found = readFiles(kind, maxChars);
  const pieces = found.flatMap(({ text }) => cut(text));
  if (pieces.length === 0) return { files: 0 };
  const bytes = sum(pieces, (piece) => Buffer.byteLength(piece));
  const tokens = sum(pieces, await exactCounter());
  return {
    files: found.length,
    bytes,
    tokens,
    error: sum(pieces, countTokens) / tokens - 1,
    estimateError: sum(pieces, estimateTokens) / tokens - 1,
    megabytesPerSecond: speedOf(countTokens, pieces, { bytes, rounds }),
    estimateMegabytesPerSecond: speedOf(estimateTokens, pieces, { bytes, rounds }),
  };
}

/** Total error against o200k in messages of 2,000 characters, and where each line is counted alone. */
async function measureLanguage({ kind, maxChars }) {
  const found = readFiles(kind, maxChars);
  const pieces = found.flatMap(({ text }) => cut(text));
  if (pieces.length === 0) return { files: 0 };
  const lines = found.flatMap(({ text }) => text.split('\n'));
  const exact = await exactCounter();
  const tokens = sum(pieces, exact);
  return {
    files: found.length,
    bytes: sum(pieces, (piece) => Buffer.byteLength(piece)),
    tokens,
    error: sum(pieces, countTokens) / tokens - 1,
    lines: lines.length,
    lineError: sum(lines, countTokens) / sum(lines, exact) - 1,
    estimateError: sum(pieces, estimateTokens) / tokens - 1,
  };
}

async function exactCounter() {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  return (text) => countTokens(text, { disallowedSpecial: new Set() });
}

/** Never through a surrogate pair, and each piece a string of its own. */
function cut(text) {
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${PIECE_CHARS}}`, 'gu')) ?? [];
  return pieces.map((piece) => Buffer.from(piece, 'utf8').toString('utf8'));
}

function speedOf(count, pieces, { bytes, rounds }) {
  const repeats = Math.max(1, Math.ceil(2e6 / bytes));
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < repeats; i++) sink.last = sum(pieces, count);
    times.push((performance.now() - start) / repeats);
  }
  return bytes / median(times) / 1000;
}

function sum(pieces, count) {
  return pieces.reduce((total, piece) => total + count(piece), 0);
}

/** One unbroken run each, on which every exact tokenizer takes seconds. */
function measureHostile({ rounds }) {
  const random = createRandom(7);
  const repeat = (text) => text.repeat(Math.ceil(HOSTILE_CHARS / text.length)).slice(0, HOSTILE_CHARS);
  const draw = (from, size) =>
    Array.from({ length: HOSTILE_CHARS }, () => String.fromCharCode(from + random(size))).join('');
  const texts = {
    'one letter': repeat('a'),
    'random letters': draw(97, 26),
    'random Han': draw(0x4e00, 20_000),
    spaces: repeat(' '),
    newlines: repeat('\n'),
    digits: draw(48, 10),
    'random ASCII': draw(33, 94),
    base64: Buffer.from(draw(0, 256), 'latin1').toString('base64').slice(0, HOSTILE_CHARS),
    emoji: repeat('😀'),
    'lone surrogates': draw(0xd800, 0x800),
    aA1: repeat('aA1'),
  };
  return Object.entries(texts).map(([name, text]) => {
    collectGarbage();
    const times = Array.from({ length: rounds * 5 }, () => timeOf(text));
    return {
      name,
      median: median(times),
      worst: Math.max(...times),
      tokensPerCharacter: countTokens(text) / text.length,
    };
  });
}

function timeOf(text) {
  const start = performance.now();
  sink.last = countTokens(text);
  return performance.now() - start;
}
