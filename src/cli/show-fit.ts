import type { FitOptions, FitResult, Report, Segment } from '../index.ts';
import { detectFormat, formatByName } from '../index.ts';
import type { Io } from './io.ts';

/** A readable before/after: a line for each piece of the history, with what became of it. */
export function showFit(messages: readonly object[], fitted: FitResult<object>, options: FitOptions, io: Io): string {
  const name = typeof options.format === 'string' ? options.format : detectFormat(messages);
  const segments = formatByName(name ?? 'chat').view(messages);
  const fate = fatesOf(fitted, segments);
  const room = Math.max(30, io.columns - 44);
  const lines = segments.map((segment, index) => {
    const after = fate.get(index);
    const before = sizeOf(segment.text);
    const size = after === undefined ? before : `${before} → ${after === 'dropped' ? '0' : sizeOf(after)}`;
    const text =
      after === undefined ? oneLine(label(segment), room) : after === 'dropped' ? 'left out' : oneLine(after, room);
    const line = `${String(segment.turn).padStart(4)}  ${segment.kind.padEnd(12)}${size.padStart(16)}  ${text}`;
    return after === undefined ? line : paint(line, io);
  });
  return [`turn  ${'what'.padEnd(12)}${'characters'.padStart(16)}`, ...lines, '', showReport(fitted.report)].join('\n');
}

const sizeOf = (text: string): string => text.length.toLocaleString('en');
const paint = (line: string, { color }: Io): string => (color ? `\u001b[33m${line}\u001b[0m` : line);
const label = (segment: Segment): string =>
  segment.kind === 'action' ? `${segment.tool} ${segment.text}` : segment.text;

function oneLine(text: string, room: number): string {
  const line = text
    .slice(0, 4 * room)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= room ? line : `${line.slice(0, room - 1)}…`;
}

function fatesOf({ plan }: FitResult<object>, segments: readonly Segment[]): Map<number, string> {
  const fates = new Map<number, string>();
  for (const edit of plan.edits) {
    if (edit.kind === 'replace') fates.set(edit.segment, edit.text);
    if (edit.kind !== 'drop') continue;
    for (const [index, segment] of segments.entries()) {
      if (edit.from <= segment.message && segment.message < edit.to) fates.set(index, 'dropped');
    }
  }
  return fates;
}

/** What was done, and why. */
export function showReport(report: Report): string {
  const { tokens, edits, decision, requires } = report;
  const share = tokens.before === 0 ? 0 : Math.round((1 - tokens.after / tokens.before) * 100);
  const count = (n: number): string => n.toLocaleString('en');
  const did = [
    `${edits.mask} results masked`,
    ...(edits.clip ? [`${edits.clip} clipped`] : []),
    ...(edits.drop ? [`${edits.drop} messages left out`] : []),
  ];
  return [
    `before   ${count(tokens.before)} tokens`,
    `after    ${count(tokens.after)} tokens (−${share} %)`,
    `did      ${did.join(', ')} in ${report.epoch} epochs`,
    `decision ${decision.act}: ${decision.because}`,
    ...requires.map((need) => `requires ${need.field}: '${need.value}' and ${need.header}: ${need.headerValue}`),
    '',
  ].join('\n');
}
