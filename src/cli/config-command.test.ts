import { describe, expect, it } from 'vitest';
import { palimpsest } from './memory-io.test-data.ts';

const check = (yaml: string, ...args: string[]) =>
  palimpsest(['config', 'check', ...args], { readFile: async () => yaml });

describe('palimpsest config check', () => {
  it('exits with 0 where nothing is wrong', async () => {
    expect(await check('session: { max_tool_iterations: 40 }\n')).toEqual({
      code: 0,
      stdout: 'palimpsest.yaml: nothing is wrong\n',
      stderr: '',
    });
  });

  it('exits with 1 and names field, line, what was expected and what was found', async () => {
    const { code, stdout } = await check('context:\n  limit: 0\n  soft_treshold_pct: 0.5\n', 'my.yaml');
    expect(code).toBe(1);
    expect(stdout).toBe(
      'my.yaml: line 2: context.limit: Expected a whole number of 1 or more but found 0\n' +
        'my.yaml: line 3: context.soft_treshold_pct: Expected a known field but found soft_treshold_pct; ' +
        'did you mean soft_threshold_pct?\n',
    );
  });

  it('prints JSON', async () => {
    const { code, stdout } = await check('port: 1', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      file: 'palimpsest.yaml',
      problems: [{ field: 'port', text: 'Expected a known field but found port; did you mean gateway.port?', line: 1 }],
      warnings: [],
    });
  });

  it.each(['hybrid', 'graduated, max_input_chars: 5000'])('warns of %s, which a gateway refuses', async (policy) => {
    const yaml = `policy: { name: ${policy} }`;
    const [name] = policy.split(',');
    const { code, stdout } = await check(yaml);
    expect([code, stdout]).toEqual([
      0,
      'palimpsest.yaml: nothing is wrong\n' +
        `palimpsest.yaml: warning: policy: palimpsest serve refuses ${name}, which leaves messages out: a gateway only masks\n`,
    ]);
    expect(JSON.parse((await check(yaml, '--json')).stdout)).toMatchObject({ warnings: [{ field: 'policy' }] });
    const env = { PALIMPSEST_TOKEN: 'a-token-for-tests-only' };
    const served = await palimpsest(['serve', '--config', 'x.yaml'], { readFile: async () => yaml, env });
    expect([served.code, served.stderr]).toEqual([2, expect.stringContaining('one that only masks')]);
  });

  it('reads standard input', async () => {
    const stdin = (async function* () {
      yield 'policy: { name: polling, every: 5 }';
    })();
    expect((await palimpsest(['config', 'check', '-'], { stdin })).code).toBe(0);
  });

  it('exits with 1 where there is no file', async () => {
    const { code, stderr } = await palimpsest(['config', 'check']);
    expect(code).toBe(1);
    expect(stderr).toContain('Expected a configuration at palimpsest.yaml but found none');
  });

  it('exits with 2 where it is called wrongly', async () => {
    for (const args of [['config'], ['config', 'show'], ['config', 'check', 'a', 'b'], ['config', 'check', '--jsn']])
      expect((await palimpsest(args)).code).toBe(2);
  });
});
