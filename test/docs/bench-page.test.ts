import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/modules.ts';

const { writeBenchmarks } = (await import(`${ROOT}bench/write-benchmarks.js`)) as {
  writeBenchmarks(page: string, name: string, run: object): string;
};

const page = readFileSync(`${ROOT}docs/benchmarks.md`, 'utf8');
const run = {
  command: 'npm run bench -- store --quick',
  date: '2026-11-18',
  machine: '2 × a processor',
  versions: { node: 'v20.0.0', lmdb: '3.5.6' },
  tables: [
    {
      title: 'store: load',
      note: 'in one run',
      columns: ['what', 'ratio', ''],
      rows: [
        { cells: ['ours | lmdb', '0.5'], met: true, values: {} },
        { cells: ['ours beside a file', '2.0'], met: false, values: {} },
        { cells: ['growth', '1.0'], values: {} },
      ],
    },
  ],
};

describe('docs/benchmarks.md', () => {
  it('has a section for each part that can be run', () => {
    const source = readFileSync(`${ROOT}bench/run.js`, 'utf8');
    const parts = Array.from(source.matchAll(/^ {2}(\w+): \w+Tables,$/gm), ([, name]) => name);
    expect(parts.length).toBeGreaterThan(5);
    expect(Array.from(page.matchAll(/^<!-- bench: (\w+) -->$/gm), ([, name]) => name)).toEqual(parts);
  });

  it('gets the section of a part that ran, and keeps the others', () => {
    const written = writeBenchmarks(page, 'store', run);
    const [before = '', section = '', after = ''] = written.split(
      /(?<=<!-- bench: store -->\n)|(?=<!-- bench: gateway -->)/,
    );
    expect(page.startsWith(before) && page.endsWith(after)).toBe(true);
    expect(section).toContain(
      '`npm run bench -- store --quick`, 2026-11-18. 2 × a processor. node v20.0.0, lmdb 3.5.6.',
    );
    expect(section).toContain('1 of 2 targets met, 1 missed.\n\n- missed: store: load: ours beside a file');
    expect(section).toContain(
      '| ours \\| lmdb | 0.5 | met |\n| ours beside a file | 2.0 | **missed** |\n| growth | 1.0 |  |',
    );
    expect(writeBenchmarks(written, 'store', run)).toBe(written);
  });

  it('refuses a part that the page has no section for', () => {
    expect(() => writeBenchmarks(page, 'colours', run)).toThrow('a section for colours');
  });
});
