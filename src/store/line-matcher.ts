import { spawn } from 'node:child_process';
import { PalimpsestError } from '../errors.ts';
import { searchLimits } from '../limits.ts';
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

/** A plain text is looked for here. A pattern, which may take for ever, in a process that can be killed. */
export function createLineMatcher({ query, regex, ignoreCase }: Pattern): LineMatcher {
  if (!regex && !ignoreCase) return new TextMatcher(query);
  return new PatternMatcher(compile(regex ? query : escapePattern(query), ignoreCase ? 'i' : ''));
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

class PatternMatcher implements LineMatcher {
  readonly #pattern: RegExp;
  #leftMs: number = searchLimits.totalMs;
  #hasStarted = false;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  async match(texts: readonly string[]): Promise<MatchedLines> {
    const { source, flags } = this.#pattern;
    const lines = texts.map((): number[] => []);
    // Between two batches a searcher serves others. A search that has begun is not refused then.
    const searcher = await searchers.take({ mustWait: this.#hasStarted });
    this.#hasStarted = true;
    const startMs = performance.now();
    const job = { source, flags, texts };
    const running = searcher.run(job, {
      mostMs: Math.min(searchLimits.batchMs, this.#leftMs),
      onFound: ([text, line]) => lines[text]?.push(line),
    });
    const ended = await running.finally(() => searchers.giveBack(searcher));
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - startMs));
    if (ended === 'failed') throw gone();
    return { lines, timedOut: ended === 'late' };
  }
}

interface Job {
  readonly source: string;
  readonly flags: string;
  readonly texts: readonly string[];
}

/** A text of the job, and a line in it. */
type FoundLine = readonly [text: number, line: number];

interface RunOptions {
  readonly mostMs: number;
  onFound(found: FoundLine): void;
}

/**
 * A process that runs patterns, one job at a time. Not a thread: V8 compiles some short patterns in exponential time, and only the
 * end of its process stops it.
 */
class Searcher {
  readonly #child = spawn(process.execPath, ['-e', PROGRAM], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    env: { ELECTRON_RUN_AS_NODE: '1' },
  });
  /** False once a job took too long, or the process failed. */
  isAlive = true;

  constructor() {
    this.#rest();
    const die = (): void => {
      this.isAlive = false;
    };
    this.#child.on('error', die).on('exit', die).on('disconnect', die);
  }

  /** Ends the process where the job takes too long, or fails. */
  async run(job: Job, options: RunOptions): Promise<Ended> {
    this.#child.ref();
    this.#child.channel?.ref();
    const ended = await this.#answer(job, options);
    if (ended !== 'done') {
      this.isAlive = false;
      this.#child.kill('SIGKILL');
    }
    this.#rest();
    return ended;
  }

  /** A process without a job keeps nobody from ending. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #answer(job: Job, { mostMs, onFound }: RunOptions): Promise<Ended> {
    const child = this.#child;
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (ended: Ended): void => {
        clearTimeout(timer);
        child.off('message', hear).off('error', fail).off('exit', fail);
        resolve(ended);
      };
      const hear = (message: unknown): void => {
        const said = message as Said;
        if (said === 'done') end(said);
        // The time that a new process takes to start is not the pattern's.
        else if (said === 'started') timer = setTimeout(end, mostMs, 'late');
        else for (const found of said) onFound(found);
      };
      const fail = (): void => end('failed');
      child.on('message', hear).on('error', fail).on('exit', fail);
      // A process that could not be started has no channel.
      if (!this.isAlive || !child.connected) fail();
      else
        child.send(job, (error) => {
          if (error) fail();
        });
    });
  }
}

type Said = 'started' | 'done' | readonly FoundLine[];
type Ended = 'done' | 'late' | 'failed';

/** A fixed number of processes for all searches. Searches wait for one in the order in which they came. */
class Searchers {
  readonly #idle: Searcher[] = [];
  readonly #waiting: ((searcher: Searcher) => void)[] = [];
  #most: number = searchLimits.processes;
  #busy = 0;

  limitTo(most: number): void {
    this.#most = most;
  }

  async take({ mustWait }: { readonly mustWait: boolean }): Promise<Searcher> {
    if (this.#busy < this.#most) {
      this.#busy += 1;
      return this.#next();
    }
    if (!mustWait && this.#waiting.length >= searchLimits.waiting) throw tooMany(this.#waiting.length);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(searcher: Searcher): void {
    if (searcher.isAlive) this.#idle.push(searcher);
    const waiting = this.#waiting.shift();
    if (waiting) waiting(this.#next());
    else this.#busy -= 1;
  }

  #next(): Searcher {
    for (let searcher = this.#idle.pop(); searcher; searcher = this.#idle.pop()) if (searcher.isAlive) return searcher;
    return new Searcher();
  }
}

const searchers = new Searchers();

/** How many patterns may run at the same time. */
export const limitSearchProcesses = (most: number): void => searchers.limitTo(most);

function gone(): PalimpsestError {
  const text = 'Expected to search in a process of its own but it could not be started, or ended; search again';
  return new PalimpsestError('STORE_FAILED', text);
}

function tooMany(waiting: number): PalimpsestError {
  const remedy = 'search again in a moment, or set gateway.limits.search_processes';
  return new PalimpsestError('BUSY', `Expected room for this search but ${waiting} others wait; ${remedy}`);
}

/**
 * Source text, because `node -e` cannot load a TypeScript file. Lines are those of lines.ts. A pattern keeps the process from hearing
 * that its parent is gone: a thread looks after that.
 */
const PROGRAM = `
const { Worker } = require('node:worker_threads');
// The next line may take for ever: the first matches are sent one by one, later ones in batches.
const ONE_BY_ONE = 100;
const SEND_AFTER_MS = 20;
process.on('disconnect', () => process.exit());
new Worker(
  'const parent = process.ppid; setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, 1000)',
  { eval: true },
).unref();
process.on('message', ({ source, flags, texts }) => {
  process.send('started');
  const pattern = new RegExp(source, flags);
  let found = [];
  let count = 0;
  let sentAt = performance.now();
  texts.forEach((text, index) => {
    for (let start = 0, line = 0; start < text.length; line++) {
      const next = text.indexOf('\\n', start);
      const end = next < 0 ? text.length : next;
      if (pattern.test(text.slice(start, end > start && next >= 0 && text[end - 1] === '\\r' ? end - 1 : end))) {
        found.push([index, line]);
        if (++count <= ONE_BY_ONE || performance.now() - sentAt > SEND_AFTER_MS) {
          process.send(found);
          found = [];
          sentAt = performance.now();
        }
      }
      start = end + 1;
    }
  });
  process.send(found);
  process.send('done');
});
`;
