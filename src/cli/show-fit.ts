import {
  detectFormat,
  type FitOptions,
  type FitResult,
  formatByName,
  type Plan,
  type ReplaceEdit,
  type Report,
  type Segment,
} from '../index.ts';
import { counted, percentChange } from '../text.ts';
import type { Io } from './io.ts';

/** A readable before/after: a line for each tool result, with its text after `fit`. */
export function showFit(messages: readonly object[], fitted: FitResult<object>, options: FitOptions, io: Io): string {
  const segments = segmentsOf(messages, options);
  const fates = fatesOf(fitted.plan, segments);
  const header = `turn  ${'call'.padEnd(CALL)}  ${'characters'.padStart(SIZE)}  what the model sees`;
  const calls = new Map<string | undefined, string>();
  const lines: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === 'action') calls.set(segment.callId, segment.text);
    if (segment.kind === 'observation')
      lines.push(...showResult(segment, calls.get(segment.callId) ?? '', fates.get(index), io));
  }
  return [header, ...lines, '', showReport(fitted.report)].join('\n');
}

/** A result that `fit` changed. */
export interface ChangedResult {
  readonly turn: number;
  readonly tool: string | undefined;
  readonly why: ReplaceEdit['why'] | 'drop';
  readonly chars: { readonly before: number; readonly after: number };
}

/** Each result that `fit` changed, and why. */
export function changedResults(
  messages: readonly object[],
  { plan }: FitResult<object>,
  options: FitOptions,
): ChangedResult[] {
  const segments = segmentsOf(messages, options);
  const fates = fatesOf(plan, segments);
  return segments.flatMap(({ kind, turn, tool, text }, index) => {
    const fate = kind === 'observation' ? fates.get(index) : undefined;
    return fate ? [{ turn, tool, why: fate.why, chars: { before: text.length, after: fate.text.length } }] : [];
  });
}

function segmentsOf(messages: readonly object[], { format }: FitOptions): readonly Segment[] {
  const name = typeof format === 'string' ? format : detectFormat(messages);
  return formatByName(name ?? 'chat').view(messages);
}

const CALL = 28;
const SIZE = 13;

/** Words for changes whose text does not say what was done. */
const WORDS: Readonly<Partial<Record<ChangedResult['why'], string>>> = {
  drop: '(left out)',
  clean: '(cleaned) ',
  references: '(partly shown above) ',
  'shell-output': '(long shell output) ',
};

/** Below a result that was made smaller on arrival, shows the beginning of the original. */
function showResult(result: Segment, args: string, after: Fate | undefined, io: Io): string[] {
  const before = result.text.length.toLocaleString('en');
  const size = after === undefined ? before : `${before} → ${after.text.length}`;
  const start = `${String(result.turn).padStart(4)}  ${oneLine(callOf(result, args), CALL).padEnd(CALL)}  ${size.padStart(SIZE)}  `;
  const room = Math.max(20, io.columns - start.length);
  if (!after) return [start + oneLine(result.text, room)];
  const words = WORDS[after.why] ?? '';
  const line = start + oneLine(`${words}${after.text}`, room);
  const was =
    words === '' || after.why === 'drop' ? [] : [' '.repeat(start.length) + oneLine(`was: ${result.text}`, room)];
  return [io.color ? `\u001b[33m${line}\u001b[0m` : line, ...was];
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

/** The text of a result as it is sent, and why it is another. */
interface Fate {
  readonly text: string;
  readonly why: ChangedResult['why'];
}

function fatesOf(plan: Plan, segments: readonly Segment[]): Map<number, Fate> {
  const fates = new Map<number, Fate>();
  for (const edit of plan.edits) {
    if (edit.kind === 'replace') fates.set(edit.segment, edit);
    if (edit.kind !== 'drop') continue;
    for (const [index, segment] of segments.entries()) {
      if (edit.from <= segment.message && segment.message < edit.to) fates.set(index, { text: '', why: 'drop' });
    }
  }
  return fates;
}

/** The report of a fit: the changes and their reasons. */
export function showReport(report: Report): string {
  const { tokens, edits, decision, requires } = report;
  const count = (n: number): string => n.toLocaleString('en');
  const did = [
    `${counted(edits.mask, 'result')} masked`,
    ...(edits.shape ? [`${edits.shape} made smaller on arrival`] : []),
    ...(edits.clip ? [`${edits.clip} clipped`] : []),
    ...(edits.drop ? [`${counted(edits.drop, 'message')} left out`] : []),
  ];
  return [
    `before    ${count(tokens.before)} tokens`,
    `after     ${count(tokens.after)} tokens (${percentChange(tokens)})`,
    `did       ${did.join(', ')}, in ${counted(report.epoch, 'step')}`,
    ...(report.lastChange ? [`last step ${report.lastChange.act}: ${report.lastChange.because}`] : []),
    `now       ${decision.act}: ${decision.because}`,
    ...requires.map((need) => `requires  ${need.field}: '${need.value}', and ${need.header}: ${need.headerValue}`),
    '',
  ].join('\n');
}
