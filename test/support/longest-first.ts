import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Runs files of `test/` before those beside their source (the project `beside` of vitest.config.ts), each by size. Long files are
 * all in `test/`: one at the end of the run would leave all workers but one idle.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isBeside = ({ project }: TestSpecification): boolean => project.name === 'beside';
    return [...sorted.filter((file) => !isBeside(file)), ...sorted.filter(isBeside)];
  }
}
