import { recallLimits } from '../../limits.ts';
import { clipText, takeLines } from '../../text.ts';
import { Lines } from '../lines.ts';
import { outlineJson } from './outline-json.ts';

/** An overview of a text: a few of its lines with their numbers, or the keys of its JSON. */
export interface Outline {
  /** The name of the lines: `definitions`, `headings`. */
  readonly kind: string;
  readonly lines: readonly string[];
  /** The number of lines of that kind. */
  readonly total: number;
}

const { outlineLines: MOST, outlineChars } = recallLimits;
const LINE_CHARS = 80;
/** Only the start of a longer line is examined. */
const LOOK_AT_CHARS = 200;

/**
 * Outlines a text by the first kind that fits: JSON, a diff, failures, code or Markdown; else lines at even distances. The lines
 * take at most `room` characters.
 */
export function outlineOf(text: string, room: number): Outline {
  const lines = new Lines(text);
  if (text.length > outlineChars) return outlineOfAny(lines, [], room);
  const json = outlineJson(text, lines, MOST);
  return json ? { ...json, lines: takeLines(json.lines, room) } : outlineOfLines(lines, room);
}

type Kind = 'hunks' | 'failures' | 'definitions' | 'headings' | 'mentions';

interface Found {
  readonly line: number;
  /** Deeper lines are left out first. */
  readonly depth: number;
}

function outlineOfLines(lines: Lines, room: number): Outline {
  const { hunks, failures, definitions, headings, mentions } = findLines(lines);
  const outline = (kind: string, found: readonly Found[], choose: Choose): Outline => {
    const shown = fitting(room, (most) => choose(found, most).map(({ line }) => showLine(lines, line)));
    return { kind, lines: shown, total: found.length };
  };
  if (hunks.some(isPlace)) return outline('changed files and places', withoutSecondNames(hunks), shallowest);
  if (failures.length > 0 && failures.length * 2 >= definitions.length)
    return outline('lines about failures', failures, firstAndLast);
  if (definitions.length >= 3) return outline('definitions', definitions, shallowest);
  if (headings.length >= 2) return outline('headings', headings, shallowest);
  return outlineOfAny(lines, mentions, room);
}

/** Lines with words of failures, and lines at even distances. */
function outlineOfAny(lines: Lines, mentions: readonly Found[], room: number): Outline {
  const kind = mentions.length > 0 ? 'lines, about failures or at even distances' : 'lines, at even distances';
  const shown = fitting(room, (most) => {
    const even = Math.floor(most * EVEN_SHARE);
    const chosen = [...evenLines(lines, even), ...firstAndLast(mentions, most - even).map(({ line }) => line)];
    return [...new Set(chosen)].sort((a, b) => a - b).map((line) => showLine(lines, line));
  });
  return { kind, lines: shown, total: lines.count };
}

/** As many lines as fit. Long lines leave room for fewer. */
function fitting(room: number, choose: (most: number) => readonly string[]): readonly string[] {
  for (let most: number = MOST; most > 1; most = Math.floor(most * 0.8)) {
    const shown = choose(most);
    if (takeLines(shown, room).length === shown.length) return shown;
  }
  return [];
}

function findLines(lines: Lines): Record<Kind, Found[]> {
  const found: Record<Kind, Found[]> = { hunks: [], failures: [], definitions: [], headings: [], mentions: [] };
  let isFenced = false;
  for (let [line, start, next] = [0, 0, 0]; line < lines.count; line++, start = next) {
    next = lines.start(line + 1);
    if (next - start < 3) continue;
    const content = lines.text
      .slice(start, Math.min(next, start + LOOK_AT_CHARS))
      .replace(NUMBER, '')
      .trimEnd();
    if (FENCE.test(content)) isFenced = !isFenced;
    const kind = kindOf(content, isFenced);
    if (kind !== undefined) found[kind].push({ line, depth: depthOf(kind, content) });
  }
  return found;
}

/** As `cat -n` and the readers of agents write it. */
const NUMBER = /^[ \t]*\d+(?:→|\t|: ?|\| ?)/;
const FENCE = /^\s*(?:```|~~~)/;

function kindOf(line: string, isFenced: boolean): Kind | undefined {
  if (HUNK.test(line)) return 'hunks';
  if (FAILURE.test(line)) return 'failures';
  if (!isFenced && DEFINITION.test(line)) return 'definitions';
  if (!isFenced && HEADING.test(line)) return 'headings';
  return MENTION.test(line) ? 'mentions' : undefined;
}

const HUNK = /^(?:diff --git |\+\+\+ |@@ -\d)/;

/** Lines that report a failure. Code that handles one seldom begins like them. */
const FAILURE =
  /^\s*(?:E {2,}\S|FAIL(?:ED|URE|URES)?\b|ERROR\b|[\w.]*(?:Error|Exception): |error(?:\[\w+\])?: |fatal: |panic: |Traceback \(|thread '.*' panicked|npm ERR!|npm error |[✗×✘✖❌]\s|not ok \d|--- FAIL)|: error(?: TS\d+)?: | failed with exit code \d/;

/** The words by which long shell output is shortened. */
const MENTION = /error|fail|fatal|panic|exception|traceback|assert|not found|cannot|✗/i;

const HEADING = /^#{1,6}\s+\S/;

const MODIFIERS =
  '(?:(?:export|default|declare|public|private|protected|internal|static|async|abstract|final|override|virtual|inline|extern|unsafe|sealed|partial|pub(?:\\([^)]*\\))?)\\s+)*';
const KEYWORDS =
  '(?:function\\*?|class|interface|enum|struct|trait|impl|def|defp|fn|func|namespace|module|defmodule|protocol|record|macro_rules!|const fn|const enum)[\\s<(]+[\\w$&*\'"(<]';
const TYPE = 'type\\s+[\\w$]+(?:<.*>)?\\s*(?:=|struct\\b|interface\\b|func\\b)';
const FUNCTION_VALUE = '(?:const|let|var)\\s+[\\w$]+[^=]*=\\s*(?:async\\s*)?(?:function\\b|\\(|[\\w$]+\\s*=>)';
const EXPORTED_VALUE = 'export\\s+(?:default\\s+)?(?:const|let|var)\\s+[\\w$]+';
const TEST_CASE = '(?:describe|it|test)(?:\\.\\w+)*\\(\\s*[\'"`]';
/** A method, or a function of C and similar languages: words, arguments, and an open brace at the end. */
const BODY =
  '(?!(?:if|for|while|switch|catch|return|else|do|try|with|new)\\b)[\\w$#~][\\w$#~*&:<>, ]*\\([^;{}=]*\\)[^;{}=]*\\{$';

const DEFINITION = new RegExp(
  `^\\s*(?:${EXPORTED_VALUE}|${MODIFIERS}(?:${KEYWORDS}|${TYPE}|${FUNCTION_VALUE}|${TEST_CASE}|${BODY}))`,
);

const isPlace = ({ depth }: Found): boolean => depth === 2;

/** Git names a file twice: in the line `diff --git` and after `+++`. */
function withoutSecondNames(hunks: readonly Found[]): readonly Found[] {
  return hunks.some(({ depth }) => depth === 0) ? hunks.filter(({ depth }) => depth !== 1) : hunks;
}

function depthOf(kind: Kind, line: string): number {
  if (kind === 'hunks') return ['d', '+', '@'].indexOf(line.charAt(0));
  if (kind === 'headings') return line.indexOf(' ');
  return line.search(/\S/);
}

type Choose = (found: readonly Found[], most: number) => readonly Found[];

/** A line with its number, as grep shows it. */
function showLine(lines: Lines, line: number): string {
  const start = lines.start(line);
  const content = lines.text.slice(start, Math.min(lines.start(line + 1), start + LOOK_AT_CHARS)).trimEnd();
  return `${line + 1}:${clipText(content, LINE_CHARS)}`;
}

/** The least deep lines. If a depth has too many, lines of it at even distances. */
function shallowest(found: readonly Found[], most: number): readonly Found[] {
  if (found.length <= most) return found;
  const chosen: Found[] = [];
  for (const level of [...new Set(found.map(({ depth }) => depth))].sort((a, b) => a - b)) {
    const next = found.filter(({ depth }) => depth === level);
    chosen.push(...atDistances(next, most - chosen.length));
    if (chosen.length === most) break;
  }
  return chosen.sort((a, b) => a.line - b.line);
}

/** The first failure is often the cause, and the last ones the summary. */
function firstAndLast(found: readonly Found[], most: number): readonly Found[] {
  if (found.length <= most) return found;
  const first = Math.ceil(most / 2);
  return [...found.slice(0, first), ...found.slice(found.length - most + first)];
}

const EVEN_SHARE = 0.4;

function evenLines(lines: Lines, most: number): number[] {
  const step = Math.max(1, Math.floor(lines.count / Math.max(1, most)));
  const shown: number[] = [];
  for (let line = step; line < lines.count && shown.length < most; line += step)
    if (lines.start(line + 1) - lines.start(line) > 1) shown.push(line);
  return shown;
}

function atDistances<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)] as T);
}
