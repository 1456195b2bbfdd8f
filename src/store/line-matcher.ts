import { spawn } from 'node:child_process';
import { PalimpsestError } from '../errors.ts';
import { searchLimits } from '../limits.ts';
import { Lines } from './lines.ts';
import { type SlotOptions, Slots, walks } from './slots.ts';

export interface Pattern {
  readonly query: string;
  readonly regex: boolean;
  readonly ignoreCase: boolean;
}

/** The matching lines of each text, counted from 0: all, or those found in time. */
export interface MatchedLines {
  readonly lines: readonly (readonly number[])[];
  readonly timedOut: boolean;
  /** How long the texts waited for a process. */
  readonly waitedMs: number;
}

export interface MatchOptions {
  /** A pattern that runs for longer is stopped. */
  readonly mostMs: number;
  /** Once aborted, the pattern is stopped and its reason thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Finds the lines that match. */
export interface LineMatcher {
  match(texts: readonly string[], options: MatchOptions): Promise<MatchedLines>;
}

/** Searches short plain texts in this process. A pattern may run forever, so it runs in a process that can be killed. */
export function createLineMatcher({ query, regex, ignoreCase }: Pattern): LineMatcher {
  if (!regex && !ignoreCase && query.length <= SHORT_CHARS) return new TextMatcher(query);
  return new PatternMatcher(compile(regex ? query : escapePattern(query), ignoreCase ? 'i' : ''));
}

/**
 * V8 finds a text of up to 250 characters in linear time. A longer one can take its length times the length of the searched text.
 */
const SHORT_CHARS = 250;

/** Compiled as Unicode where that is valid. A model's `\-` or `\_` is not valid there, and keeps its old meaning. */
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
    return { lines: texts.map((text) => this.#linesOf(text)), timedOut: false, waitedMs: 0 };
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
  #hasBegun = false;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  async match(texts: readonly string[], { mostMs, signal }: MatchOptions): Promise<MatchedLines> {
    const { source, flags } = this.#pattern;
    const lines = texts.map((): number[] => []);
    const askedMs = performance.now();
    let startMs = askedMs;
    const job = { source, flags, texts };
    const run = (searcher: Searcher): Promise<Ended> => {
      startMs = performance.now();
      this.#hasBegun = true;
      return searcher.run(job, { mostMs, signal, onFound: ([text, line]) => lines[text]?.push(line) });
    };
    // Between two batches a searcher serves others.
    const ended = await searchers.use(run, { hasBegun: this.#hasBegun, signal });
    signal?.throwIfAborted();
    if (ended === 'failed') throw gone();
    return { lines, timedOut: ended === 'late', waitedMs: startMs - askedMs };
  }
}

interface Job {
  readonly source: string;
  readonly flags: string;
  readonly texts: readonly string[];
}

/** A text of the job, and a line in it. */
type FoundLine = readonly [text: number, line: number];

interface RunOptions extends MatchOptions {
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

  /** Ends the process if the job takes too long, fails or is no longer wanted. */
  async run(job: Job, options: RunOptions): Promise<Ended> {
    this.#child.ref();
    this.#child.channel?.ref();
    const ended = await this.#answer(job, options);
    if (ended !== 'done') {
      this.isAlive = false;
      // A process that could not be started has no id. To kill it would kill id 0: every process of this group.
      if (this.#child.pid !== undefined) this.#child.kill('SIGKILL');
    }
    this.#rest();
    return ended;
  }

  /** Lets this process exit while a searcher has no job. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #answer(job: Job, { mostMs, signal, onFound }: RunOptions): Promise<Ended> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (ended: Ended): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', fail);
        child.off('message', hear).off('error', fail).off('exit', fail);
        resolve(ended);
      };
      const hear = (message: unknown): void => {
        const said = message as Said;
        if (said === 'done') end(said);
        // The start of a new process does not count as the pattern's time.
        else if (said === 'started') {
          clearTimeout(timer);
          timer = setTimeout(end, mostMs, 'late');
        } else for (const found of said) onFound(found);
      };
      const fail = (): void => end('failed');
      let timer = setTimeout(fail, searchLimits.startMs);
      signal?.addEventListener('abort', fail, { once: true });
      child.on('message', hear).on('error', fail).on('exit', fail);
      // A process that could not be started has no channel.
      if (!this.isAlive || !child.connected || signal?.aborted) fail();
      else
        child.send(job, (error) => {
          if (error) fail();
        });
    });
  }
}

type Said = 'started' | 'done' | readonly FoundLine[];
type Ended = 'done' | 'late' | 'failed';

/** A fixed number of processes for all searches. They are kept for later searches. */
class Searchers {
  readonly #slots = new Slots({
    most: searchLimits.processes,
    waiting: searchLimits.waiting,
    setting: 'gateway.limits.search_processes',
  });
  readonly #idle: Searcher[] = [];

  limitTo(most: number): void {
    this.#slots.limitTo(most);
  }

  /** Gives the slot back even if no process can be started. */
  use<T>(work: (searcher: Searcher) => Promise<T>, options: SlotOptions): Promise<T> {
    return this.#slots.run(async () => {
      const searcher = this.#next();
      try {
        return await work(searcher);
      } finally {
        if (searcher.isAlive) this.#idle.push(searcher);
      }
    }, options);
  }

  #next(): Searcher {
    for (let searcher = this.#idle.pop(); searcher; searcher = this.#idle.pop()) if (searcher.isAlive) return searcher;
    try {
      return new Searcher();
    } catch (cause) {
      throw gone(cause);
    }
  }
}

const searchers = new Searchers();

/** Sets how many patterns may run at the same time in this process. A walk may need one, so as many walks may run. */
export function limitSearchProcesses(most: number): void {
  searchers.limitTo(most);
  walks.limitTo(Math.max(searchLimits.walks, most));
}

function gone(cause?: unknown): PalimpsestError {
  const text = 'Expected to search in a process of its own but it could not be started in time, or ended; search again';
  return new PalimpsestError('STORE_FAILED', text, cause === undefined ? {} : { cause });
}

/**
 * Source text, because `node -e` cannot load a TypeScript file. Lines are those of lines.ts. While a pattern runs, the process does
 * not notice that its parent has ended, so a thread checks that.
 */
const PROGRAM = `
const { Worker } = require('node:worker_threads');
// The next line may take forever: the first matches are sent one by one, later ones in batches.
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
