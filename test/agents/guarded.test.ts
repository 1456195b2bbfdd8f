import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { startGuarded } from './guarded.ts';

const options = { cwd: tmpdir(), env: { PATH: process.env.PATH ?? '' } };

describe('a guarded program', () => {
  it('tells its exit code and all that it wrote', async () => {
    const { ended, output } = startGuarded(['sh', '-c', 'echo one; echo two >&2; exit 3'], options);
    expect(await ended).toBe(3);
    expect(output().split('\n').toSorted()).toEqual(['', 'one', 'two']);
  });

  it('ends with the process that started it, and so do its own children', async () => {
    const { child, ended } = startGuarded(['sh', '-c', 'sleep 600 & sleep 600'], options);
    // The system closes this pipe when a process ends, whatever ended it.
    child.stdio[3]?.destroy();
    // All of them have its output open until they end.
    expect(await ended).toBe(null);
  });
});
