import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest files, with large heaps or many processes. A wrong entry costs time and nothing else. */
export const LONG = [
  'test/gateway/conversation/clients.test.ts',
  'test/gateway/conversation/corpus.test.ts',
  'test/store/embedded/processes.test.ts',
  'test/break-even-laws.test.ts',
  'test/adversarial/large.test.ts',
  'test/manager/session/postgres-faults.test.ts',
  'test/doors.test.ts',
  'test/gateway/faults/bounds-memory.test.ts',
  'test/store/embedded/fence.test.ts',
  'test/manager/session/fence.test.ts',
  'test/lab/costs-page.test.ts',
  'test/browser/dashboard.test.ts',
  'test/cli/run.test.ts',
  'test/laws.test.ts',
  'test/package.test.ts',
  'test/gateway/operation/team.test.ts',
  'test/gateway/provider/corpus.test.ts',
  'test/gateway/decide/corpus.test.ts',
  'test/gateway/sent-bytes/sent-bytes.test.ts',
  'test/arrival/corpus.test.ts',
];

/** Files that measure their own process: its memory, threads, child processes, open files, or how long it does one thing. */
export const MEASURING = [
  'test/chaos/chaos.test.ts',
  'test/gateway/decide/memory.test.ts',
  'test/gateway/faults/*.test.ts',
  'test/lab/readers-memory.test.ts',
  'test/manager/session/descriptors.test.ts',
  'test/mcp/*.test.ts',
  'test/memory.test.ts',
  'test/store/search-process.test.ts',
];

/**
 * Runs project after project, as vitest.config.ts names them, the long files first, then by size. A long file at the end of the run would
 * leave all workers but one idle, and a worker keeps its process only as long as the next file is of the same project.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted
      .map((file) => ({ file, rank: rankOf(file) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ file }) => file);
  }
}

const PROJECTS = ['alone', 'across', 'beside'];

function rankOf({ moduleId, project }: TestSpecification): number {
  const place = LONG.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place >= 0 ? place : LONG.length + PROJECTS.indexOf(project.name);
}
