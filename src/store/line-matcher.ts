import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PalimpsestError } from '../errors.ts';
import { searchLimits } from '../limits.ts';
import { lineAt, lineStarts } from './lines.ts';

export interface Pattern {
  readonly query: string;
  readonly regex: boolean;
  readonly ignoreCase: boolean;
}

/** For each text the lines that match, counted from 0: all, or those found in time. */
export interface MatchedLines {
  readonly lines: readonly (readonly number[])[];
  readonly timedOut: boolean;
}

/** Says which lines match a pattern, in bounded time. */
export interface LineMatcher {
  match(texts: readonly string[]): Promise<MatchedLines>;
  close(): Promise<void>;
}

/** A plain text is looked for here. A pattern, which may take for ever, in a worker that can be ended. */
export function createLineMatcher({ query, regex, ignoreCase }: Pattern): LineMatcher {
  if (!regex && !ignoreCase) return new TextMatcher(query);
  return new WorkerMatcher(compile(regex ? query : escapePattern(query), ignoreCase ? 'i' : ''));
}

/** What is valid as Unicode is taken as such; a model's `\-` or `\_` is not, and means what it always meant. */
function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    return compilePlain(source, flags);
  }
}

function compilePlain(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw badPattern(source, cause);
  }
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

function badPattern(source: string, cause: unknown): PalimpsestError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  const found = source.length > 200 ? `${source.slice(0, 200)}…` : source;
  return new PalimpsestError('BAD_OPTION', `Expected a regular expression but found '${found}'${why}`, { cause });
}

class TextMatcher implements LineMatcher {
  readonly #query: string;

  constructor(query: string) {
    this.#query = query;
  }

  async match(texts: readonly string[]): Promise<MatchedLines> {
    return { lines: texts.map((text) => this.#linesOf(text)), timedOut: false };
  }

  #linesOf(text: string): number[] {
    if (!text.includes(this.#query)) return [];
    const starts = lineStarts(text);
    return [...starts.keys()].filter((line) => lineAt(text, starts, line).includes(this.#query));
  }

  async close(): Promise<void> {}
}

class WorkerMatcher implements LineMatcher {
  readonly #pattern: RegExp;
  #worker: Worker | undefined;
  #leftMs: number = searchLimits.totalMs;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  async match(texts: readonly string[]): Promise<MatchedLines> {
    const worker = await this.#start();
    const counts = texts.map((text) => lineStarts(text).length);
    const total = counts.reduce((sum, count) => sum + count, 0);
    // A byte for each line, and one for the end: whatever happens to the worker, what it found stands here.
    const found = new Uint8Array(new SharedArrayBuffer(total + 1));
    const startMs = performance.now();
    worker.ref();
    worker.postMessage({ texts, found });
    await this.#answer(worker);
    worker.unref();
    this.#leftMs -= performance.now() - startMs;
    const timedOut = found[total] === 0;
    if (timedOut) await this.close();
    return { lines: toLines(found, counts), timedOut };
  }

  async #start(): Promise<Worker> {
    if (this.#worker) return this.#worker;
    const { source, flags } = this.#pattern;
    const worker = new Worker(PROGRAM, { eval: true, execArgv: [], env: {}, workerData: { source, flags } });
    this.#worker = worker;
    // It may fail when nobody waits for it any more.
    worker.on('error', () => {});
    await once(worker, 'online');
    return worker;
  }

  /** Resolves when the worker answers or its time is over. */
  async #answer(worker: Worker): Promise<void> {
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(), Math.min(searchLimits.batchMs, Math.max(0, this.#leftMs)));
    try {
      await once(worker, 'message', { signal: timer.signal });
    } catch (cause) {
      if (!timer.signal.aborted) throw badPattern(this.#pattern.source, cause);
    } finally {
      clearTimeout(timeout);
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }
}

/** As source text, because no worker can load a TypeScript file. Lines are those of lines.ts. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const pattern = new RegExp(workerData.source, workerData.flags);
parentPort.on('message', ({ texts, found }) => {
  let line = 0;
  for (const text of texts) {
    for (let start = 0; start < text.length; line++) {
      const next = text.indexOf('\\n', start);
      const end = next < 0 ? text.length : next;
      if (pattern.test(text.slice(start, end > start && next >= 0 && text[end - 1] === '\\r' ? end - 1 : end))) found[line] = 1;
      start = end + 1;
    }
  }
  found[line] = 1;
  parentPort.postMessage('done');
});
`;

function toLines(found: Uint8Array, counts: readonly number[]): number[][] {
  let first = 0;
  return counts.map((count) => {
    const lines: number[] = [];
    for (let line = 0; line < count; line++) if (found[first + line] === 1) lines.push(line);
    first += count;
    return lines;
  });
}
