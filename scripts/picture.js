// Draws docs/cost-by-policy.svg, the picture of the README, from the table of docs/what-masking-costs.md, which scripts/costs.js
// writes from replays. --check only compares.
import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = 'docs/what-masking-costs.md';
const FILE = 'docs/cost-by-policy.svg';
const LIST = 'anthropic-5m';

const BARS = [
  ['none', 'send everything'],
  ['sliding-window', 'mask all but the last 10 turns'],
  ['protect-tokens', "OpenCode's rule"],
  ['clear-tool-uses', "Anthropic's rule, clear_tool_uses"],
  ['polling', 'mask every 5 turns'],
  ['break-even', 'Palimpsest, break-even'],
  ['optimum:window-by-kind=true,clean=true,references=true', 'best times, known only afterwards'],
];

/** The change of cost of each policy at a price list. */
export function changesIn(page, list) {
  const table = /<!-- table: savings -->([\s\S]*?)<!-- end -->/.exec(page)?.[1] ?? '';
  const [head, , ...rows] = table.trim().split('\n').map(cellsOf);
  const column = head.indexOf(list);
  if (column < 0) throw new Error(`Expected a column ${list} in the table of savings`);
  return new Map(rows.map((cells) => [cells[0].replaceAll('`', ''), numberOf(cells[column])]));
}

const cellsOf = (line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const numberOf = (cell) => Number(cell.replace('−', '-').replace(' %', '').replace('+', ''));

const [WIDTH, ROW, LEFT, TOP, UNIT] = [720, 34, 300, 62, 3.4];

function draw(changes) {
  const bars = BARS.map(([policy, label], index) => {
    const change = changes.get(policy);
    if (change === undefined) throw new Error(`Expected ${policy} in the table of savings`);
    const cost = 100 + change;
    const y = TOP + index * ROW;
    const kind = policy === 'break-even' ? 'ours' : policy.startsWith('optimum') ? 'bound' : 'other';
    return [
      `  <text class="label" x="${LEFT - 12}" y="${y + 17}" text-anchor="end">${escapeXml(label)}</text>`,
      `  <rect class="${kind}" x="${LEFT}" y="${y}" width="${(cost * UNIT).toFixed(1)}" height="24" rx="3" />`,
      `  <text class="value" x="${(LEFT + cost * UNIT + 8).toFixed(1)}" y="${y + 17}">${cost.toFixed(0)} %</text>`,
    ].join('\n');
  });
  const title = 'Input cost of 45 recorded agent runs under each policy';
  const note = 'Replay of public runs of 30 turns and more, at Anthropic’s 5-minute cache prices. Less is better.';
  const height = TOP + BARS.length * ROW + 14;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">
  <style>
    text { font: 14px system-ui, sans-serif; fill: #1f2328; }
    .title { font-size: 17px; font-weight: 600; }
    .note { font-size: 12px; fill: #59636e; }
    .other { fill: #c4cad2; }
    .ours { fill: #1f7a4d; }
    .bound { fill: none; stroke: #1f7a4d; stroke-dasharray: 4 3; }
    .value { font-weight: 600; }
  </style>
  <rect width="${WIDTH}" height="${height}" fill="#ffffff" rx="8" />
  <text class="title" x="24" y="28">${title}</text>
  <text class="note" x="24" y="48">${note}</text>
${bars.join('\n')}
</svg>
`;
}

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const drawn = draw(changesIn(readFileSync(PAGE, 'utf8'), LIST));
if (!process.argv.includes('--check')) writeFileSync(FILE, drawn);
else if (readFileSync(FILE, 'utf8') !== drawn) {
  console.error(`${FILE} is not what ${PAGE} says. Run: node scripts/picture.js`);
  process.exitCode = 1;
}
