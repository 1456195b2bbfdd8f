import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const costs = readFileSync(join(ROOT, 'docs/what-masking-costs.md'), 'utf8');

/** The cells of a row in one of the tables of the lab. */
function row(table: string, policy: string): string[] {
  const [, body = ''] = new RegExp(`<!-- table: ${table} -->([\\s\\S]*?)<!-- end -->`).exec(costs) ?? [];
  const cells = body.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return cells.find(([, name]) => name === `\`${policy}\``)?.slice(2) ?? [];
}

const percent = (cell = ''): number => Math.round(Math.abs(Number(cell.replace('−', '-').replace(/[+ %]/g, ''))));

describe('README.md', () => {
  it('shows what its example prints', async () => {
    await ensureBuilt();
    const found = /<!-- run: prints the next block -->\n\n```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(readme);
    const [, code = '', shown = ''] = found ?? [];
    // Node 20 reads no types, and the example has one.
    const input = code.replace('(i: number)', '(i)');
    const options = { cwd: ROOT, input, encoding: 'utf8' } as const;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module'], options);
    expect(stderr).toBe('');
    expect(stdout).toBe(shown);
    expect(Number(/after: (\d+)/.exec(shown)?.[1])).toBeLessThan(Number(/before: (\d+)/.exec(shown)?.[1]) / 2);
  });

  it('has the figures of the lab', () => {
    const [saving, worst, misses] = [
      percent(row('savings', 'break-even')[0]),
      percent(row('worst', 'break-even')[0]),
      Math.round(Number(row('hidden', 'break-even').at(-2))),
    ];
    expect(readme).toContain(`**${saving} % less input cost** on 45 public agent runs`);
    expect(readme).toMatch(new RegExp(`The\\s+worst of these runs costs ${worst} % more`));
    expect(readme).toContain(`In ${misses} of 100 calls`);
    expect(readme).toContain(`cost up to ${percent(row('worst', 'sliding-window')[0])} % more there`);
  });

  it.skipIf(!hasCorpus)(
    'has the saving that is left if each miss is recalled (skipped without ../shared/corpus)',
    async () => {
      await ensureBuilt();
      const [, options = ''] = /^npx palimpsest replay ~\/\.claude\/projects (.*)$/m.exec(readme) ?? [];
      const policies = ['--policy', 'none', '--policy', 'break-even'];
      const args = [join(ROOT, 'dist/cli/main.js'), 'replay', CORPUS, ...options.split(' '), ...policies, '--json'];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
      const { runs, total } = JSON.parse(stdout);
      const left = Math.round(-100 * total['break-even'].savingWithRecalls['anthropic-5m']);
      expect(runs).toHaveLength(45);
      expect(readme.replaceAll('\n', ' ')).toContain(
        `if each of these costs a recall of the whole text, ${left} % remain`,
      );
    },
    240_000,
  );

  it('has the picture of these figures', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/picture.js', '--check'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('names the command as it is found after a local install', () => {
    const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, body = '']) => body).join('');
    expect(commands).not.toMatch(/(?<!npx )\bpalimpsest (?:run|serve|fit|replay|mcp)\b/);
    expect(readme).not.toContain('same answers');
  });
});
