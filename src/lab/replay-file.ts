import type { ChatMessage } from '../message.ts';
import { type LogSetting, settingFor } from './context-setting.ts';
import { sizeOf } from './layout.ts';
import { readLog } from './readers/read-runs.ts';
import { type PolicyRun, type ReplaySetting, replayContext } from './replay-context.ts';
import type { MaskedResult, PolicyResult, RunResult, Schedule } from './replay-result.ts';
import type { Context, RunFormat } from './run.ts';
import { RunFacts } from './run-facts.ts';
import { splitAtFalls } from './split-at-falls.ts';

/** How the runs of a file are replayed. */
export interface FileSetting extends LogSetting {
  /** The format of the log. @default detected */
  readonly format?: RunFormat | undefined;
  /** The content of the file `-`. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  /** Whether to keep the requests of each run for the page. */
  readonly keepSchedules: boolean;
}

/** One run: its figures, and its requests for the page. */
export interface ReplayedRun {
  /** The figures of the run under each policy. */
  readonly result: RunResult;
  /** The requests of the run by policy and price list. Empty unless `keepSchedules`. */
  readonly schedules: Readonly<Record<string, Schedule>>;
}

/** The runs of one file. */
export interface ReplayedFile {
  /** The runs that could be read, in the order of the file. */
  readonly runs: readonly ReplayedRun[];
  /** Why the file, or a part of it, could not be read. */
  readonly skipped: readonly string[];
}

/** Replays all runs in one log, and reports unreadable parts. */
export async function replayFile(file: string, setting: FileSetting): Promise<ReplayedFile> {
  const { format, stdin } = setting;
  const runs: RunSum[] = [];
  const skipped: string[] = [];
  try {
    const onDamage = (_file: string, reason: string): void => void skipped.push(reason);
    for await (const context of readLog(file, { format, stdin, onDamage })) {
      // Not only the last one: the runs of subagents may end between two contexts of the run that they belong to.
      let run = runs.find((known) => known.run === context.run);
      if (!run) {
        run = new RunSum(context, setting);
        runs.push(run);
      }
      for (const part of setting.usage ? splitAtFalls(context) : [context]) run.add(part);
    }
  } catch (error) {
    skipped.push(error instanceof Error ? error.message : String(error));
  }
  return { runs: runs.map((run) => run.finish()), skipped };
}

/** One run, context by context. */
class RunSum {
  readonly run: number;
  readonly #context: Context;
  readonly #setting: FileSetting;
  readonly #sums = new Map<string, PolicySum>();
  readonly #schedules = new Map<string, ScheduleSum>();
  #turns = 0;
  #tokens = 0;
  #observed = 0;
  readonly #facts = new RunFacts();
  /** The words of the previous context. A compaction may carry them over. */
  #said = new Set<string>();

  constructor(context: Context, setting: FileSetting) {
    this.run = context.run;
    this.#context = context;
    this.#setting = setting;
    for (const { name } of setting.policies) this.#sums.set(name, new PolicySum());
  }

  add(context: Context): void {
    // Replays before anything is counted: a context that fails must not count in part.
    const about = settingFor(context, this.#setting);
    const { setting, hasCost } = about;
    const all = replayContext(context, setting);
    this.#count(context, setting);
    this.#facts.add(context, about);
    for (const run of all) {
      this.#sums.get(run.policy)?.add(hasCost ? run : withoutCost(run), isFirstOf(setting, run));
      if (this.#setting.keepSchedules) this.#addSchedule(run, context, setting);
    }
  }

  finish(): ReplayedRun {
    const { file, run, format } = this.#context;
    const results = Object.fromEntries([...this.#sums].map(([name, sum]) => [name, sum.result()]));
    const observationShare = this.#tokens === 0 ? 0 : this.#observed / this.#tokens;
    const counts = { turns: this.#turns, tokens: this.#tokens, observationShare };
    const result = { file, run, format, ...counts, ...this.#facts.facts(), results };
    const schedules = Object.fromEntries([...this.#schedules].map(([name, sum]) => [name, sum.schedule()]));
    return { result, schedules };
  }

  #count({ messages, carriedTurns }: Context, { counter }: ReplaySetting): void {
    let turn = 0;
    const isCarried = ({ role, content, toolCalls }: ChatMessage): boolean => {
      if (role === 'assistant' && ++turn <= carriedTurns) return true;
      return toolCalls === undefined && this.#said.has(content);
    };
    const fresh = messages.filter((message) => !isCarried(message));
    this.#turns += messages.filter(({ role }) => role === 'assistant').length - carriedTurns;
    this.#tokens += sizeOf(fresh, counter);
    this.#observed += sizeOf(
      fresh.filter(({ role }) => role === 'tool'),
      counter,
    );
    this.#said = new Set(messages.map(({ content }) => content));
  }

  #addSchedule(run: PolicyRun, context: Context, setting: ReplaySetting): void {
    const name = run.prices === undefined ? run.policy : `${run.policy} @ ${run.prices}`;
    const schedule = this.#schedules.get(name) ?? new ScheduleSum();
    this.#schedules.set(name, schedule);
    schedule.add(run, context, setting);
  }
}

/** If a policy is run once for each price list, its counts are those at the first list. */
const isFirstOf = ({ prices }: ReplaySetting, run: PolicyRun): boolean =>
  run.prices === undefined || run.prices === prices[0]?.name;

const withoutCost = (run: PolicyRun): PolicyRun => ({ ...run, cost: {}, costWithRecalls: {}, dollars: {} });

class PolicySum {
  #tokensSent = 0;
  #peakTokens = 0;
  #masks = 0;
  #epochs = 0;
  readonly #cost: Record<string, number> = {};
  readonly #costWithRecalls: Record<string, number> = {};
  readonly #dollars: Record<string, number> = {};
  readonly #misses = { edit: 0, identifier: 0, any: 0, calls: 0 };

  add({ requests, maskedAt, misses, cost, costWithRecalls, dollars }: PolicyRun, counts: boolean): void {
    addTo(this.#cost, cost);
    addTo(this.#costWithRecalls, costWithRecalls);
    addTo(this.#dollars, dollars);
    if (!counts) return;
    for (const { size, isEpoch } of requests) {
      this.#tokensSent += size;
      this.#peakTokens = Math.max(this.#peakTokens, size);
      if (isEpoch) this.#epochs += 1;
    }
    this.#masks += maskedAt.filter((at) => at !== Number.POSITIVE_INFINITY).length;
    for (const kind of ['edit', 'identifier', 'any', 'calls'] as const) this.#misses[kind] += misses[kind];
  }

  result(): PolicyResult {
    return {
      tokensSent: this.#tokensSent,
      peakTokens: this.#peakTokens,
      masks: this.#masks,
      epochs: this.#epochs,
      cost: this.#cost,
      ...(isEmpty(this.#costWithRecalls) ? {} : { costWithRecalls: this.#costWithRecalls }),
      ...(isEmpty(this.#dollars) ? {} : { dollars: this.#dollars }),
      misses: this.#misses,
    };
  }
}

function addTo(sums: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [list, spent] of Object.entries(more)) sums[list] = (sums[list] ?? 0) + spent;
}

const isEmpty = (sums: object): boolean => Object.keys(sums).length === 0;

/** The number of characters of a hidden text that the page shows. */
const SHOWN_CHARS = 1200;
/** The number of hidden texts of a run on the page, so that a browser can open it. */
const MOST_MASKED = 120;

class ScheduleSum {
  readonly #sizes: number[] = [];
  readonly #epochs: number[] = [];
  readonly #masked: MaskedResult[] = [];

  add(
    { requests, maskedAt, placeholders }: PolicyRun,
    { messages, carriedTurns }: Context,
    { counter }: ReplaySetting,
  ): void {
    const before = this.#sizes.length;
    for (const { size, isEpoch } of requests) {
      if (isEpoch) this.#epochs.push(this.#sizes.length);
      this.#sizes.push(size);
    }
    let [turn, index] = [0, -1];
    for (const { role, content, name } of messages) {
      if (role === 'assistant') turn += 1;
      if (role !== 'tool') continue;
      index += 1;
      const at = maskedAt[index] ?? Number.POSITIVE_INFINITY;
      if (at === Number.POSITIVE_INFINITY || this.#masked.length >= MOST_MASKED) continue;
      this.#masked.push({
        request: before + Math.max(0, at - 1 - carriedTurns),
        turn,
        tool: name ?? 'tool',
        tokens: counter(content),
        placeholder: placeholders.get(index) ?? '[left out with its turn]',
        text: content.slice(0, SHOWN_CHARS),
      });
    }
  }

  schedule(): Schedule {
    return { sizes: this.#sizes, epochs: this.#epochs, masked: this.#masked };
  }
}
