import type { LogReader } from './log-reader.ts';
import { contextOf } from './messages.ts';

/** Results of tau-bench: a list of runs. */
export const tauBench: LogReader = {
  format: 'tau-bench',
  matches: ({ traj }) => Array.isArray(traj),
  async *read(records) {
    let run = 0;
    for await (const { traj } of records) if (Array.isArray(traj)) yield* contextOf(traj, { run: run++ });
  },
};
