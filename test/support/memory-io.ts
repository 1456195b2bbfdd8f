import type { Io } from '../../src/cli/io.ts';
import { run } from '../../src/cli/run.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in memory. */
export async function palimpsest(argv: readonly string[], given: Partial<Io> = {}): Promise<Ran> {
  const written = { stdout: '', stderr: '' };
  const io: Io = {
    stdin: undefined,
    stdout: (text) => {
      written.stdout += text;
    },
    stderr: (text) => {
      written.stderr += text;
    },
    readFile: () => Promise.reject(new Error('ENOENT: no such file')),
    writeFile: async () => {},
    color: false,
    columns: 100,
    isTerminal: false,
    ...given,
  };
  return { code: await run(argv, io), ...written };
}
