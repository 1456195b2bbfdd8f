import { countLines } from '../../text.ts';
import { originalHandle } from '../arrival/last-line.ts';
import { readReferences } from '../arrival/reference-line.ts';
import { covers, type LineRange, type ToolUse } from '../tool-kind.ts';
import { isTruncated } from '../truncate-result.ts';
import type { ResultChange } from './request-changes.ts';
import { type Result, Use } from './rows.ts';

/** Recognises the purpose of a call. */
export type ReadToolUse = (tool: string | undefined, args: string) => ToolUse;

/** A shorter answer to a read is a message about the file, not the file. */
const LEAST_SHOWN = 80;

/** Finds reads that show everything of an older read. */
export class ReadCoverage {
  readonly #toolUse: ReadToolUse;
  /** The newest reads of each file, none of which covers another. */
  readonly #reads = new Map<string, Result[]>();

  constructor(toolUse: ReadToolUse) {
    this.#toolUse = toolUse;
  }

  add(result: Result): void {
    const { kind, read, moves } = this.#toolUse(result.tool, result.args);
    result.use = new Use(kind, moves === true, result.isError ? undefined : read);
    this.#cover(result, result.use);
  }

  /** Starts over with these results: a read covers nothing once it is left out or cut. */
  restart(results: readonly Result[]): void {
    this.#reads.clear();
    for (const result of results) {
      if (!result.use) continue;
      result.use.coveredBy = undefined;
      result.use.covers = [];
      this.#cover(result, result.use);
    }
  }

  #cover(result: Result, use: Use): void {
    // In another folder, the same path is another file.
    if (use.moves) for (const path of this.#reads.keys()) if (!/^(?:[/~\\]|\w:)/.test(path)) this.#reads.delete(path);
    const path = use.read?.path;
    if (path === undefined || !showsFile(result)) return;
    const earlier = this.#reads.get(path);
    if (!earlier) {
      this.#reads.set(path, [result]);
      return;
    }
    const covered = earlier.filter((older) => isCovered(older, result));
    for (const older of covered) if (older.use) older.use.coveredBy = result;
    use.covers = covered;
    this.#reads.set(path, [...earlier.filter((older) => !covered.includes(older)), result]);
  }

  /** Whether after these changes a read shows more or less than before. A read that is cut when it is first sent is not a change. */
  isChangedBy(changes: readonly ResultChange[]): boolean {
    return changes.some(({ result }) => result.why !== 'mask' && result.use?.read);
  }
}

/**
 * An answer such as "unchanged" or "no such file" shows no file. A result that was cut, or that refers to another one, does not show
 * the whole file.
 */
const showsFile = ({ text, tokens, masked }: Result): boolean =>
  !masked && tokens > LEAST_SHOWN && !isTruncated(text) && readReferences(text).length === 0;

/** Whether a newer read shows all lines that an older one shows. */
function isCovered(older: Result, newer: Result): boolean {
  const [some, all] = [linesShown(older), linesShown(newer)];
  return some !== undefined && all !== undefined && covers(all, some);
}

/** The lines that a read shows at most: tools may silently stop at some number of lines. Computed on demand. */
function linesShown({ use, text }: Result): LineRange | undefined {
  const { read } = use ?? {};
  const lines = countLines(text) - (originalHandle(text) === undefined ? 0 : 1);
  return read && { ...read, to: Math.min(read.to, read.from + lines - 1) };
}
