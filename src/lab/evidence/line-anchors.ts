import type { Argument } from './call-arguments.ts';
import { isShellCommand } from './edit-quotes.ts';
import { sedEdits } from './shell-edits.ts';

/** A line number that a call edits, and the file if the call names one. */
export interface LineAnchor {
  readonly line: number;
  readonly baseName: string | undefined;
}

/** An observation, and the call it answers. */
export interface ShownLines {
  readonly text: string;
  readonly call: string;
}

export function lineAnchorsOf(args: readonly Argument[]): LineAnchor[] {
  const commands = args.filter(isShellCommand).map(({ text }) => text);
  const anchors = [...insertAnchors(args), ...commands.flatMap(rangeAnchors), ...commands.flatMap(sedAnchors)];
  // Line 1 needs no source. A range of one line names it once.
  const meant = anchors.filter(({ line }) => line >= 2);
  return [...new Map(meant.map((anchor) => [`${anchor.line} ${anchor.baseName}`, anchor])).values()];
}

/** Whether an observation shows the line with its number, in the file of the anchor. */
export function showsLine({ line, baseName = '' }: LineAnchor): (shown: ShownLines) => boolean {
  const digits = String(line);
  const numbered = new RegExp(`^[ \\t]*${digits}(?::|→|\\t|\\||  )|:${digits}:`, 'm');
  return ({ text, call }) =>
    text.includes(digits) && (text.includes(baseName) || call.includes(baseName)) && numbered.test(text);
}

/** Whether a text of the model names the number. */
export function mentionsLine({ line }: LineAnchor): (text: string) => boolean {
  const digits = String(line);
  const number = new RegExp(`\\b${digits}\\b`);
  return (text) => text.includes(digits) && number.test(text);
}

function insertAnchors(args: readonly Argument[]): LineAnchor[] {
  const path = args.find(({ keys }) => PATH_KEYS.has(keys.at(-1) ?? ''))?.text;
  return args
    .filter(({ keys }) => keys.at(-1) === 'insert_line')
    .map(({ text }) => ({ line: Number(text), baseName: baseNameOf(path) }));
}

const PATH_KEYS = new Set(['path', 'file_path', 'filePath', 'file', 'filename']);

/** `edit 10:12` of SWE-agent edits the file that is open, and does not name it. */
function rangeAnchors(command: string): LineAnchor[] {
  return [...command.matchAll(/\bedit\s+(\d+):(\d+)/g)].flatMap(([, ...lines]) =>
    lines.map((line) => ({ line: Number(line), baseName: undefined })),
  );
}

function sedAnchors(command: string): LineAnchor[] {
  return sedEdits(command)
    .flatMap((sed) => [...sed.matchAll(SED_SCRIPT)])
    .flatMap(([, , from, to = from, file]) =>
      [from, to].map((line) => ({ line: Number(line), baseName: baseNameOf(file) })),
    );
}

/** A script that begins with one line or a range, and the file after it. */
const SED_SCRIPT = /\s(['"])(\d+)(?:,(\d+))?[sdica](?:(?!\1)[\s\S])*\1(?:\s+([^\s;&|-][^\s;&|]*))?/g;

function baseNameOf(path: string | undefined): string | undefined {
  const name = path?.replace(/["']/g, '').split('/').at(-1);
  return name === '' ? undefined : name;
}
