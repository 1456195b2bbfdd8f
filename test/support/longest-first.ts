import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that take long. A wrong entry costs time and nothing else. */
const LONG = [
  'gateway/conversation/clients',
  'gateway/conversation/corpus',
  'store/embedded/processes',
  'break-even-laws',
  'adversarial/large',
  'manager/session/postgres-faults',
  'test/doors',
  'faults/bounds-memory',
  'embedded/fence',
  'session/fence',
  'lab/costs-page',
];

/**
 * Runs files of `test/` before those beside their source (the project `beside` of vitest.config.ts), first the long ones, then by size. Long
 * files are all in `test/`: one at the end of the run would leave all workers but one idle.
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

function rankOf({ moduleId, project }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
  if (place >= 0) return place;
  return LONG.length + Number(project.name === 'beside');
}
