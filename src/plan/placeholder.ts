import { isRecord } from '../formats/lens.ts';
import { MAX_PLACEHOLDER } from '../laws/idempotent.ts';
import { badOption } from '../options.ts';
import { clipText, countLines, headOf, quote, tailOf } from '../text.ts';
import { utf8Length } from '../tokens/estimate-tokens.ts';
import { readToolUse, type ToolKind } from './tool-kind.ts';

/** The facts of a hidden result that a placeholder may show. */
export interface HiddenResult {
  /** The turn of the result, counted from 1. */
  readonly turn: number;
  /** The name of the tool, if the history has it. */
  readonly tool: string | undefined;
  /** The text that is hidden. */
  readonly text: string;
  /** The size of the text. */
  readonly tokens: number;
  /** The call that it answers. */
  readonly callId: string;
  /** Whether its call failed. */
  readonly isError: boolean;
  /** The number of images and files that are hidden with the text. */
  readonly media: number;
  /** The bytes of those images and files. */
  readonly mediaBytes: number;
  /** The arguments of the call it answers. */
  readonly args: string;
}

/** A user's own placeholder. */
export type Placeholder = string | ((result: HiddenResult) => string);

/** How a policy writes its placeholders if no handle is shown. */
export interface PlaceholderStyle {
  write(result: HiddenResult): string;
  /** Law 7 recognises its placeholders. A user's own are not recognised: they keep their wording, followed by the handle. */
  readonly known?: boolean;
  /** The user's text, if it is always the same. */
  readonly literal?: string;
  /** Parts of the result that stay readable below the placeholder, in every style. */
  keep?(text: string): readonly string[];
}

/** In the lab a house placeholder counts as 25 tokens at most. */
const MAX_HOUSE = 100;

/** `[read_file src/a.ts: 212 lines, 7431 chars masked · recall p_…]`, in at most 100 characters. */
export function housePlaceholder(result: HiddenResult, handle = ''): string {
  const failure = failureOf(result);
  const size = `${failure || result.media > 0 ? charsOf(result) : linesOf(result)} masked${handle}]`;
  if (failure) {
    const status = failure.exitCode === undefined ? ' failed' : ` failed, exit ${failure.exitCode}`;
    const start = `[${toolName(result, size.length + status.length + 4)}${status}`;
    const line = quote(failure.line, roomFor(start.length + size.length + 7));
    return line === '' ? `${start} — ${size}` : `${start}: "${line}" — ${size}`;
  }
  const tool = toolName(result, size.length + 3);
  const room = roomFor(tool.length + size.length + 4);
  const subject = room < 4 ? '' : quote(subjectOf(result.args), room);
  return subject === '' ? `[${tool}: ${size}` : `[${tool} ${subject}: ${size}`;
}

const roomFor = (taken: number): number => Math.max(0, Math.min(60, MAX_HOUSE - taken));

function toolName({ tool }: HiddenResult, taken: number): string {
  return quote(tool ?? 'result', Math.min(30, Math.max(6, MAX_HOUSE - taken))) || 'result';
}

function charsOf({ text, media, mediaBytes }: HiddenResult): string {
  if (media === 0) return `${text.length} chars`;
  return `${media} file${media === 1 ? '' : 's'}, ${text.length + mediaBytes} chars`;
}

function linesOf({ text }: HiddenResult): string {
  const lines = countLines(text);
  return `${lines} line${lines === 1 ? '' : 's'}, ${text.length} chars`;
}

const SUBJECT_KEYS = ['path', 'file_path', 'filePath', 'file', 'filename', 'command', 'cmd', 'query', 'pattern', 'url'];

/** The subject of a call: a path, a command, a query. */
export function subjectOf(args: string): string {
  if (!args.startsWith('{') || args.length > 100_000) return headOf(args, 240);
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(args);
  } catch {
    return headOf(args, 240);
  }
  return subjectIn(parsed);
}

/** The subject of a call by its arguments. */
export function subjectIn(args: Readonly<Record<string, unknown>>): string {
  const value = subjectBy(args) ?? Object.values(args).find((v) => typeof v === 'string' && v !== '');
  if (Array.isArray(value)) return headOf(value.filter((word) => typeof word === 'string').join(' '), 240);
  return typeof value === 'string' ? headOf(value, 240) : '';
}

function subjectBy(parsed: Readonly<Record<string, unknown>>): unknown {
  for (const key of SUBJECT_KEYS) {
    const value = parsed[key];
    if (value !== undefined && value !== null && value !== '') return value;
  }
  return undefined;
}

interface Failure {
  readonly exitCode: string | undefined;
  readonly line: string;
}

/** What tells a failure. */
type Outcome = Pick<HiddenResult, 'isError' | 'text'> & Partial<Pick<HiddenResult, 'tool'>>;

/** How a result failed, by its flag or by a non-zero exit code in its text; undefined if it did not. */
export function failureOf({ isError, text, tool = '' }: Outcome): Failure | undefined {
  const exitCode = SHOWS_FILES.test(tool) ? undefined : readExitCode(text);
  if (!isError && (exitCode === undefined || exitCode === '0')) return undefined;
  return { exitCode, line: readErrorLine(text) };
}

/** Reads and searches show files: an exit code in their text is part of one. `tool-kind` is too large for the smallest bundle. */
const SHOWS_FILES = /(?:^|[\W_]|(?=[A-Z]))(?:[Rr]ead|[Vv]iew|[Gg]rep|[Ff]ind|[Ss]earch|[Ff]etch|editor)(?![a-z])/;

/** `exit 1` alone is a line of a script. */
const EXIT_CODE = /\bexit(?! *["']?-?\d)(?:ed)?(?: with)?[ _-]?(?:code|status)?["']?[:= ]{1,3}["']?(-?\d{1,5})\b/i;

function readExitCode(text: string): string | undefined {
  // Most texts hold no such word, and this check is faster than the pattern.
  if (!text.includes('xit')) return undefined;
  return EXIT_CODE.exec(headOf(text, 400))?.[1] ?? EXIT_CODE.exec(tailOf(text, 400))?.[1];
}

/** An exception names the cause; a line that merely says "error" or "failed" is the next best. */
const ERROR_LINES = [
  /\b[A-Za-z]+(?:Error|Exception)\b/,
  // Gemini CLI writes `Error: (none)` below the output of every command.
  /\berror\b(?!: \(n)|\bfatal\b|\bpanic\b|not found|denied/i,
  /\bfail(?:ed|ure)?\b/i,
  /\S/,
];

function readErrorLine(text: string): string {
  const ends = text.length <= 3000 ? text : `${headOf(text, 2000)}\n${tailOf(text, 1000)}`;
  const lines = ends.split('\n');
  for (const pattern of ERROR_LINES) {
    const found = lines.find((line) => pattern.test(line));
    if (found !== undefined) return found;
  }
  return '';
}

/**
 * `[{tool} result masked -- …]`, in the words of its kind: a read, an edit or a shell under any common name. The arguments of the call
 * show whether an editor was asked to view.
 */
export function describeResult(tool: string, text: string, args = ''): string {
  return `[${quote(tool, 40) || 'unknown'} result masked -- ${describeText(kindOf(tool, args), text)}]`;
}

/** A shell counts as a shell whatever it runs: its result has an exit code. */
function kindOf(tool: string, args: string): ToolKind {
  const { kind } = readToolUse(tool, '');
  return kind === 'shell' ? kind : readToolUse(tool, args).kind;
}

function describeText(kind: ToolKind, text: string): string {
  if (kind === 'read') return `${countLines(text)} lines, starts with: ${quote(text.split('\n', 1)[0] ?? '', 60)}`;
  if (kind === 'edit') return `${utf8Length(text)} bytes`;
  const shell = kind === 'shell' ? readShellResult(text) : undefined;
  if (shell) return `exit_code=${shell.exitCode}, stdout=${utf8Length(shell.stdout)} bytes`;
  return `${utf8Length(text)} bytes of output`;
}

function readShellResult(text: string): { exitCode: number; stdout: string } | undefined {
  try {
    const result: unknown = JSON.parse(text);
    if (!isRecord(result)) return undefined;
    // Codex writes the code beside the output, in `metadata`.
    const { metadata, output, stdout = output } = result;
    const { exitCode, exit_code: code = exitCode } = { ...(isRecord(metadata) ? metadata : {}), ...result };
    if (code === undefined && stdout === undefined) return undefined;
    return { exitCode: toExitCode(code), stdout: typeof stdout === 'string' ? stdout : '' };
  } catch {
    return undefined;
  }
}

/** A code may be written as a text. -1 where there is none. */
const toExitCode = (code: unknown): number => (/^-?\d{1,5}$/.test(String(code)) ? Number(code) : -1);

/** The placeholder for a result: the policy's own, or the house's if a handle is shown. */
export function writePlaceholder(style: PlaceholderStyle, result: HiddenResult, handle: string): string {
  if (!style.known) return `${clipText(style.write(result), MAX_PLACEHOLDER - handle.length) || '[masked]'}${handle}`;
  if (handle === '') return style.write(result);
  return [housePlaceholder(result, handle), ...(style.keep?.(result.text) ?? [])].join('\n');
}

export const houseStyle: PlaceholderStyle = { write: (result) => housePlaceholder(result), known: true };

export function customStyle(placeholder: Placeholder): PlaceholderStyle {
  if (typeof placeholder === 'string') return { write: () => placeholder, literal: placeholder };
  return {
    write(result) {
      const text: unknown = placeholder(result);
      if (typeof text !== 'string') throw badOption('what the option placeholder answers', 'a text', text);
      return text;
    },
  };
}
