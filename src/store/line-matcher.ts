import { Worker } from 'node:worker_threads';
import { PalimpsestError } from '../errors.ts';
import { searchLimits } from '../limits.ts';
import { countLines } from '../text.ts';
import { Lines } from './lines.ts';

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
}

/** A plain text is looked for here. A pattern, which may take for ever, in a thread that can be ended. */
export function createLineMatcher({ query, regex, ignoreCase }: Pattern): LineMatcher {
  if (!regex && !ignoreCase) return new TextMatcher(query);
  return new ThreadMatcher(compile(regex ? query : escapePattern(query), ignoreCase ? 'i' : ''));
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
    const found: number[] = [];
    const lines = new Lines(text);
    for (let line = 0; line < lines.count; line++) if (lines.at(line).includes(this.#query)) found.push(line);
    return found;
  }
}

class ThreadMatcher implements LineMatcher {
  readonly #pattern: RegExp;
  #leftMs: number = searchLimits.totalMs;
  #hasStarted = false;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  async match(texts: readonly string[]): Promise<MatchedLines> {
    const counts = texts.map(countLines);
    const total = counts.reduce((sum, count) => sum + count, 0);
    // A byte for each line, and one for the end: whatever happens to the thread, what it found stands here.
    const found = new Uint8Array(new SharedArrayBuffer(total + 1));
    const { source, flags } = this.#pattern;
    // Between two batches a thread serves others. A search that has begun is not refused then.
    const thread = await threads.take({ mustWait: this.#hasStarted });
    this.#hasStarted = true;
    const startMs = performance.now();
    const ended = await thread.run({ source, flags, texts, found }, Math.min(searchLimits.batchMs, this.#leftMs));
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - startMs));
    threads.giveBack(thread);
    if (ended === 'failed') throw badPattern(source, undefined);
    return { lines: toLines(found, counts), timedOut: found[total] === 0 };
  }
}

interface Job {
  readonly source: string;
  readonly flags: string;
  readonly texts: readonly string[];
  readonly found: Uint8Array;
}

/** A thread that runs patterns, one job at a time. */
class Thread {
  readonly #worker = new Worker(PROGRAM, { eval: true, execArgv: [], env: {} });
  /** False once a job took too long, or failed: the thread is gone then. */
  isAlive = true;

  constructor() {
    this.#worker.unref();
    // A thread may fail while it has no job.
    this.#worker.on('error', () => {
      this.isAlive = false;
    });
  }

  /** Ends the thread where the job takes too long, or fails. */
  async run(job: Job, mostMs: number): Promise<Ended> {
    this.#worker.ref();
    const ended = await this.#answer(job, mostMs);
    this.#worker.unref();
    if (ended === 'done') return ended;
    this.isAlive = false;
    await this.#worker.terminate();
    return ended;
  }

  #answer(job: Job, mostMs: number): Promise<Ended> {
    const worker = this.#worker;
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (ended: Ended): void => {
        clearTimeout(timer);
        worker.off('message', hear).off('error', fail);
        resolve(ended);
      };
      // The time that a new thread takes to start is not the pattern's.
      const hear = (said: 'started' | 'done'): void => {
        if (said === 'done') end(said);
        else timer = setTimeout(end, mostMs, 'late');
      };
      const fail = (): void => end('failed');
      worker.on('message', hear).on('error', fail);
      worker.postMessage(job);
    });
  }
}

type Ended = 'done' | 'late' | 'failed';

/** A fixed number of threads for all searches of the process. Searches wait for one in the order in which they came. */
class Threads {
  readonly #idle: Thread[] = [];
  readonly #waiting: ((thread: Thread) => void)[] = [];
  #most: number = searchLimits.threads;
  #busy = 0;

  limitTo(most: number): void {
    this.#most = most;
  }

  async take({ mustWait }: { readonly mustWait: boolean }): Promise<Thread> {
    if (this.#busy < this.#most) {
      this.#busy += 1;
      return this.#next();
    }
    if (!mustWait && this.#waiting.length >= searchLimits.waiting) throw tooMany(this.#waiting.length);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(thread: Thread): void {
    if (thread.isAlive) this.#idle.push(thread);
    const waiting = this.#waiting.shift();
    if (waiting) waiting(this.#next());
    else this.#busy -= 1;
  }

  #next(): Thread {
    for (let thread = this.#idle.pop(); thread; thread = this.#idle.pop()) if (thread.isAlive) return thread;
    return new Thread();
  }
}

const threads = new Threads();

/** How many patterns may run at the same time in this process. */
export const limitSearchThreads = (most: number): void => threads.limitTo(most);

function tooMany(waiting: number): PalimpsestError {
  const remedy = 'search again in a moment, or set gateway.limits.search_threads';
  return new PalimpsestError('BUSY', `Expected a free thread for this search but ${waiting} others wait; ${remedy}`);
}

/** As source text, because no worker can load a TypeScript file. Lines are those of lines.ts. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ source, flags, texts, found }) => {
  parentPort.postMessage('started');
  const pattern = new RegExp(source, flags);
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
