// Writes the table of list prices in docs/money.md. Needs dist/: npm run build first. --check only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { modelPrices } from '../dist/money/model-prices.js';

const FILE = 'docs/money.md';
const MARKS = /(<!-- made by: node scripts\/money.js -->\n)[\s\S]*?(<!-- end -->)/;

const page = readFileSync(FILE, 'utf8');
const made = page.replace(MARKS, (_, begin, end) => `${begin}\n${table()}\n\n${end}`);
if (!process.argv.includes('--check')) writeFileSync(FILE, made);
else if (page !== made) {
  console.error(`${FILE} is not what src/money/model-prices.ts says. Run: node scripts/money.js`);
  process.exitCode = 1;
}

/** Aligned as a formatter aligns it. */
function table() {
  const head = ['model', 'input', 'output', 'cached', 'source', 'read on'];
  const rows = Object.entries(modelPrices).flatMap(([model, price]) => [
    [`\`${model}\``, ...ratesOf(price), `[${nameOf(price.source)}](${price.source})`, price.date],
    ...(price.above ?? []).map((long) => [`above ${long.tokens / 1000}k`, ...ratesOf(long), '', '']),
  ]);
  const isNumber = (column) => column >= 1 && column <= 3;
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => String(cells[column]).length)));
  const align = (cells) =>
    cells.map((cell, i) => (isNumber(i) ? `${cell}`.padStart(widths[i]) : `${cell}`.padEnd(widths[i])));
  const rule = widths.map((width, i) => (isNumber(i) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [align(head), rule, ...rows.map(align)].map(row).join('\n');
}

function ratesOf({ input, output, cacheRead }) {
  return [input, output, cacheRead ?? ''];
}

function row(cells) {
  return `| ${cells.join(' | ')} |`;
}

function nameOf(source) {
  const { hostname, pathname } = new URL(source);
  return hostname === 'github.com' ? pathname.split('/')[2] : hostname;
}
