import {
  detectFormat,
  type FitOptions,
  type FitResult,
  formatByName,
  type Plan,
  type Report,
  type Segment,
} from '../index.ts';
import type { Io } from './io.ts';

/** A readable before/after: a line for each tool result, with what became of it. */
export function showFit(messages: readonly object[], fitted: FitResult<object>, options: FitOptions, io: Io): string {
  const name = typeof options.format === 'string' ? options.format : detectFormat(messages);
  const segments = formatByName(name ?? 'chat').view(messages);
  const fates = fatesOf(fitted.plan, segments);
  const header = `turn  ${'call'.padEnd(CALL)}  ${'characters'.padStart(SIZE)}  what the model sees`;
  const calls = new Map<string | undefined, string>();
  const lines: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === 'action') calls.set(segment.callId, segment.text);
    if (segment.kind === 'observation')
      lines.push(showResult(segment, calls.get(segment.callId) ?? '', fates.get(index), io));
  }
  return [header, ...lines, '', showReport(fitted.report)].join('\n');
}

const CALL = 28;
const SIZE = 13;
const LEFT_OUT = '(left out)';

function showResult(result: Segment, args: string, after: string | undefined, io: Io): string {
  const before = result.text.length.toLocaleString('en');
  const size = after === undefined ? before : `${before} → ${after === LEFT_OUT ? 0 : after.length}`;
  const start = `${String(result.turn).padStart(4)}  ${oneLine(callOf(result, args), CALL).padEnd(CALL)}  ${size.padStart(SIZE)}  `;
  const line = start + oneLine(after ?? result.text, Math.max(20, io.columns - start.length));
  return io.color && after !== undefined ? `\u001b[33m${line}\u001b[0m` : line;
}

/** The tool and the first text among its arguments. */
function callOf({ tool = 'result' }: Segment, args: string): string {
  return `${tool} ${/(?<=: ?")(?:[^"\\]|\\.)*/.exec(args)?.[0] ?? ''}`;
}

function oneLine(text: string, room: number): string {
  const line = text
    .slice(0, 4 * room)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length <= room ? line : `${line.slice(0, room - 1)}…`;
}

function fatesOf(plan: Plan, segments: readonly Segment[]): Map<number, string> {
  const fates = new Map<number, string>();
  for (const edit of plan.edits) {
    if (edit.kind === 'replace') fates.set(edit.segment, edit.text);
    if (edit.kind !== 'drop') continue;
    for (const [index, segment] of segments.entries()) {
      if (edit.from <= segment.message && segment.message < edit.to) fates.set(index, LEFT_OUT);
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
    `before    ${count(tokens.before)} tokens`,
    `after     ${count(tokens.after)} tokens (−${share} %)`,
    `did       ${did.join(', ')}, in ${report.epoch} step${report.epoch === 1 ? '' : 's'}`,
    ...(report.lastChange ? [`last step ${report.lastChange.act}: ${report.lastChange.because}`] : []),
    `now       ${decision.act}: ${decision.because}`,
    ...requires.map((need) => `requires  ${need.field}: '${need.value}', and ${need.header}: ${need.headerValue}`),
    '',
  ].join('\n');
}
