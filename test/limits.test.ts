import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as groups from '../src/limits.ts';
import { ROOT } from './support/modules.ts';

// `npx vitest run test/limits.test.ts -u` writes the page.
it('docs/limits.md is what src/limits.ts says', async () => {
  await expect(toPage()).toMatchFileSnapshot(join(ROOT, 'docs/limits.md'));
});

it('a limit has its unit in its name, a whole number above 0, and a comment that says what happens beyond it', () => {
  const units = /(?:bytes|chars|ms|tokens|values|depth|ratio|lines|^[a-z]+|[a-z]+Per[A-Z][a-z]+|messages)$/i;
  for (const { limits } of readGroups())
    for (const { name, value, beyond } of limits) {
      expect(name).toMatch(units);
      expect(Number.isSafeInteger(value) && value > 0, name).toBe(true);
      expect(beyond, name).toMatch(/\.$/);
    }
});

interface Group {
  readonly title: string;
  readonly limits: readonly { readonly name: string; readonly value: number; readonly beyond: string }[];
}

/** Values from the module, comments from its source. */
function readGroups(): Group[] {
  const source = readFileSync(join(ROOT, 'src/limits.ts'), 'utf8');
  return Object.entries(groups).map(([group, values]) => {
    const [, title = '', body = ''] =
      new RegExp(`/\\*\\* ([^*]+) \\*/\\nexport const ${group} = \\{\\n(.*?)\\n\\} as const;`, 's').exec(source) ?? [];
    const limits = Object.entries(values).map(([name, value]) => {
      const beyond = new RegExp(`/\\*\\* ([^*]+) \\*/\\n  ${name}: `).exec(body)?.[1] ?? '';
      return { name, value, beyond };
    });
    return { title, limits };
  });
}

function toPage(): string {
  const sections = readGroups().flatMap(({ title, limits }) => [
    `## ${title.replace(/\.$/, '')}`,
    '',
    ...limits.map(({ name, value, beyond }) => `- \`${name}\`: ${show(name, value)}. ${beyond}`),
    '',
  ]);
  return `${[...INTRO, ...sections].join('\n')}`;
}

const INTRO = [
  '# Limits',
  '',
  'Source: [`src/limits.ts`](../src/limits.ts), which this page is made from.',
  '',
  'Everything that comes from outside and is kept or worked on has a limit. Beyond a limit nothing is lost: a request',
  'passes through as it came, and its receipt says why. The few limits that an operator may want to change are settings',
  'of the [configuration](configuration.md):',
  '',
  '```yaml',
  'gateway:',
  '  limits:',
  '    body_bytes: 67108864',
  '    json_values: 100000',
  '    scan_ms: 2000',
  '    answer_bytes: 67108864',
  '    search_processes: 2',
  '```',
  '',
];

function show(name: string, value: number): string {
  if (/bytes$/i.test(name))
    return value >= 1024 * 1024
      ? `${value / 1024 / 1024} MiB`
      : value >= 1024
        ? `${value / 1024} KiB`
        : `${value} bytes`;
  return `${value.toLocaleString('en-US')}${/ms$/i.test(name) ? ' ms' : ''}`;
}
