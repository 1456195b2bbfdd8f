import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/modules.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The first column of the table under a heading: the names in it, and in `.name` the last part of one. */
function namesIn(page: string, heading: string): string[] {
  const [, section = ''] = new RegExp(`\n## ${heading}\n([\\s\\S]*?)\n## `).exec(page) ?? [];
  const cells = [...section.matchAll(/^\| (`[^|]*?) +\|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name.replace(/^\./, 'signs.')),
  );
}

/** The fields of an interface, as its source has them. */
function fieldsOf(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`\nexport interface ${name} {\n([\\s\\S]*?)\n}`).exec(source) ?? [];
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field = '']) => field);
}

describe('docs/store.md', () => {
  it('lists every field that a record of a request keeps, and no other', () => {
    const source = read('src/report/request-record.ts');
    const signs = fieldsOf(source, 'HarmSigns').map((field) => `signs.${field}`);
    const fields = fieldsOf(source, 'RequestRecord').filter((field) => field !== 'signs');
    expect(fields.length).toBeGreaterThan(15);
    expect(namesIn(read('docs/store.md'), 'Records of requests').sort()).toEqual([...fields, ...signs].sort());
  });
});
