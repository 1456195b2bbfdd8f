import { headOf, quote, tailOf } from '../../text.ts';
import { remembered } from '../tool-kind/remembered.ts';

/** How a reference names a text that the model can see. */
export interface About {
  readonly kind: 'result' | 'call';
  readonly tool?: string | undefined;
  /** A path, a command, a query. */
  readonly subject?: string | undefined;
  /** For a call: the argument that the text is. */
  readonly argument?: string | undefined;
}

/**
 * Lines from 1, both ends included. `file`: by the numbers that are printed before them. `output`, or the name of an argument: counted from
 * the top of the text.
 */
export interface PrintedLines {
  readonly unit: string;
  readonly from: number;
  readonly to: number;
}

/** Lines of a result that are left out because a text above has them. */
export interface Reference {
  /** The lines left out, as the whole result would show them. */
  readonly lines: PrintedLines;
  readonly kind: About['kind'];
  /** Tool and subject of the text above. */
  readonly label: string;
  /** The number of newer texts above with the same name. */
  readonly newer: number;
  readonly targetLines: PrintedLines;
}

/** Texts with the same name are distinguished by their order. */
export const nameOf = (about: About): string => toName(about.kind, labelOf(about), countedUnit(about));

/** The name of the text that a reference is about. */
export const targetName = (reference: Reference): string =>
  toName(reference.kind, reference.label, targetUnit(reference));

/** The unit of lines that are counted from the top of that text. */
export const targetUnit = ({ kind, targetLines }: Reference): string =>
  kind === 'call' ? targetLines.unit : countedUnit({ kind });

const toName = (kind: About['kind'], label: string, unit: string): string => `${kind} ${label} ${unit}`;

/** The tool and subject of a text, short and on one line. */
export function labelOf({ tool = '', subject = '', kind }: About): string {
  const name = quote(tool, 30) || (kind === 'call' ? 'a tool' : 'result');
  const about = shorten(subject);
  return about === '' ? name : `${name} ${about}`;
}

/** The unit of lines that are counted from the top of a text. */
export function countedUnit({ kind, argument = '' }: About): string {
  return kind === 'result' ? 'output' : unitOf(argument);
}

const unitOf = remembered((argument) => quote(argument, 24).replace(/[ ,]/g, '_') || 'argument');

const LONGEST_SUBJECT = 40;
const SUBJECT_HEAD = 14;

/** The beginning and the end of a long subject: the end of a path or a command is often more informative. */
function shorten(subject: string): string {
  const line = quote(subject, MOST_OF_SUBJECT);
  if (line.length <= LONGEST_SUBJECT) return line;
  return `${headOf(line, SUBJECT_HEAD)}…${tailOf(line, LONGEST_SUBJECT - SUBJECT_HEAD - 1)}`;
}

/** The rest of a longer subject is ignored. */
const MOST_OF_SUBJECT = 1000;

/** `[file lines 40–96: same as lines 38–94 of the last read_file src/a.ts above]` */
export function writeReference({ lines, kind, label, newer, targetLines }: Reference): string {
  const last = newer === 0 ? 'last' : `${ordinal(newer + 1)} last`;
  const where = kind === 'call' ? `your ${last} call of ${label}` : `the ${last} ${label}`;
  const isSameUnit = kind === 'result' && lines.unit === targetLines.unit;
  const unit = isSameUnit ? '' : `${targetLines.unit} `;
  return `[${lines.unit} ${writeRange(lines)}: same as ${unit}${writeRange(targetLines)} of ${where} above]`;
}

const writeRange = ({ from, to }: PrintedLines): string => `lines ${from}–${to}`;

function ordinal(n: number): string {
  const isTeen = n % 100 >= 11 && n % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${ending}`;
}

const RANGE = String.raw`lines (\d{1,9})–(\d{1,9})`;
// A unit has no blank and a label no bracket, so the parts can be separated whatever a label says.
const REFERENCE = new RegExp(
  String.raw`^\[(file|output) ${RANGE}: same as (?:([^[\]\n ]+) )?${RANGE} of (the|your) (?:(\d{1,9})(?:st|nd|rd|th) )?last ([^[\]\n]+) above\]$`,
);
const LONGEST_REFERENCE = 300;

/** The reference in a line. Undefined for other lines. */
export function readReference(line: string): Reference | undefined {
  const match = line.length <= LONGEST_REFERENCE ? REFERENCE.exec(line) : null;
  if (!match) return undefined;
  const [, unit = '', from, to, targetUnit = unit, targetFrom, targetTo, whose, place = '1', label = ''] = match;
  const reference: Reference = {
    lines: { unit, from: Number(from), to: Number(to) },
    kind: whose === 'your' ? 'call' : 'result',
    label: whose === 'your' ? label.replace(/^call of /, '') : label,
    newer: Number(place) - 1,
    targetLines: { unit: targetUnit, from: Number(targetFrom), to: Number(targetTo) },
  };
  return writeReference(reference) === line ? reference : undefined;
}

const SAME = ': same as ';
const NONE: readonly Reference[] = [];

/** The references in a text that was sent. Several parts of the planner ask about the same text in a row. */
export function readReferences(text: string): readonly Reference[] {
  if (lastRead.text !== text) lastRead = { text, references: findReferences(text) };
  return lastRead.references;
}

let lastRead = { text: '', references: NONE };

function findReferences(text: string): readonly Reference[] {
  // The dash first: a text of one byte for each character has none, which is known without a search. From the end: V8 searches from
  // the start by the larger byte of U+2013, and stops at each blank, which is 0x20 too.
  let at = text.lastIndexOf('–') >= 0 ? text.indexOf(SAME) : -1;
  if (at < 0) return NONE;
  const references: Reference[] = [];
  while (at >= 0) {
    const end = text.indexOf('\n', at);
    const line = text.slice(text.lastIndexOf('\n', at) + 1, end < 0 ? text.length : end);
    const reference = readReference(line);
    if (reference) references.push(reference);
    at = end < 0 ? -1 : text.indexOf(SAME, end);
  }
  return references;
}
