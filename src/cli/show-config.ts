import type { EffectiveLimit } from '../manager/budget/effective-limit.ts';
import { LIMIT_FIELDS } from '../manager/config/config-options.ts';
import type { EffectiveField } from '../manager/config/effective-fields.ts';
import type { Io } from './io.ts';

/** A part of the window; all parts together are the limit. */
export interface WindowLayer {
  readonly name: string;
  readonly tokens: number;
  readonly share: number;
}

/** The window with its layers and thresholds as plain data. */
export interface ConfigWindow {
  readonly limitTokens: number;
  /** The field that sets it. */
  readonly from: string;
  readonly layers: readonly WindowLayer[];
  readonly marks: readonly WindowLayer[];
  /** The configured hard threshold, if the largest request is smaller. */
  readonly hardThreshold?: WindowLayer;
}

/** The sizes at which a run with this limit acts. */
export function windowOf(limit: EffectiveLimit): ConfigWindow {
  const { limitTokens, source, budgetTokens, historyTokens, outputTokens, marginTokens, soft, hard } = limit;
  const part = (name: string, tokens: number): WindowLayer => ({ name, tokens, share: tokens / limitTokens });
  return {
    limitTokens,
    from: LIMIT_FIELDS[source],
    layers: [
      part('history', historyTokens),
      part('tool work', budgetTokens - historyTokens),
      part('answer', outputTokens),
      part('margin', marginTokens),
    ],
    // The loop acts at its budget as at the hard threshold.
    marks: [
      part('soft', soft.tokens),
      part('hard', Math.min(hard.tokens, budgetTokens)),
      part('request', budgetTokens),
    ],
    ...(hard.tokens > budgetTokens ? { hardThreshold: part('hard', hard.tokens) } : {}),
  };
}

const BAR = 76;

const LOOKS: Readonly<Record<string, { readonly glyph: string; readonly color: number; readonly about: string }>> = {
  history: { glyph: '█', color: 36, about: 'the conversation before a run, at most' },
  'tool work': { glyph: '░', color: 32, about: 'calls and results of the run' },
  answer: { glyph: '▒', color: 33, about: 'kept free for the reply of the model' },
  margin: { glyph: '·', color: 90, about: 'kept free because sizes are estimates' },
};

const MARKS: Readonly<Record<string, string>> = {
  soft: 'from here on, results are masked',
  hard: 'the model wraps up, then a restart',
  request: 'the largest request: history and tool work',
};

/** The window as a bar, its layers and thresholds as a table, and every field that has a value. */
export function showConfig(file: string, window: ConfigWindow, fields: readonly EffectiveField[], io: Io): string {
  const { limitTokens, from, layers, marks } = window;
  const row = (mark: string, { name, tokens, share }: WindowLayer, about: string): string =>
    `${mark} ${name.padEnd(14)}${count(tokens).padStart(10)}${percent(share).padStart(9)}  ${about}`;
  return [
    oneLine(file === '-' ? 'standard input' : file, 79),
    '',
    `The window: ${count(limitTokens)} tokens, from ${from}`,
    '',
    `  ${drawBar(layers, io)}`,
    ...marks.filter(({ name }) => name !== 'request').map((mark) => `  ${drawMark(mark)}`.trimEnd()),
    '',
    ...layers
      .filter(({ tokens }) => tokens > 0)
      .map((layer) => row(glyphOf(layer, io), layer, LOOKS[layer.name]?.about ?? '')),
    `? ${'system, tools'.padEnd(14)}${'unknown'.padStart(10)}${' '.repeat(9)}  they take from history and tool work`,
    row(' ', { name: 'limit', tokens: limitTokens, share: 1 }, ''),
    '',
    ...marks.map((mark) => row(' ', mark, MARKS[mark.name] ?? '')),
    '',
    ...notesOn(window),
    'Every field that has a value (* default):',
    ...fields.map(showField),
    '',
  ]
    .map((line) => line.trimEnd())
    .join('\n');
}

function notesOn({ hardThreshold }: ConfigWindow): string[] {
  if (!hardThreshold) return [];
  const { tokens, share } = hardThreshold;
  return [
    `hard_threshold_pct is at ${count(tokens)} tokens (${percent(share)}). A run acts before that,`,
    'at the largest request, so that nothing has to be dropped.',
    '',
  ];
}

/** Each layer has at least one cell, taken from the largest layer. */
function drawBar(layers: readonly WindowLayer[], io: Io): string {
  const cells = layers.map(({ tokens, share }) => (tokens > 0 ? Math.max(1, Math.round(share * BAR)) : 0));
  const largest = cells.indexOf(Math.max(...cells));
  const others = cells.reduce((sum, n, i) => (i === largest ? sum : sum + n), 0);
  cells[largest] = BAR - others;
  return layers.map((layer, i) => glyphOf(layer, io, cells[i])).join('');
}

function glyphOf({ name }: WindowLayer, io: Io, times = 1): string {
  const { glyph = ' ', color = 0 } = LOOKS[name] ?? {};
  const text = glyph.repeat(times);
  return io.color && times > 0 ? `\u001b[${color}m${text}\u001b[0m` : text;
}

function drawMark({ name, tokens, share }: WindowLayer): string {
  const at = Math.min(BAR - 1, Math.round(share * BAR));
  const label = `${name} ${count(tokens)}`;
  return at + 2 + label.length <= BAR ? `${' '.repeat(at)}^ ${label}` : `${label} ^`.padStart(at + 1);
}

function showField({ field, value, from }: EffectiveField): string {
  const start = `${from === 'default' ? '*' : ' '} ${field.padEnd(38)} `;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return start + oneLine(text, Math.max(20, 79 - start.length));
}

const count = (tokens: number): string => tokens.toLocaleString('en-US');
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Names and values come from outside: no control characters reach the terminal. */
function oneLine(text: string, room: number): string {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length <= room ? line : `${line.slice(0, room - 1)}…`;
}
