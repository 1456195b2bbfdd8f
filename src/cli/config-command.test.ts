import { describe, expect, it } from 'vitest';
import { palimpsest } from '../../test/support/memory-io.ts';
import type { Io } from './io.ts';

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
    const { code, stdout } = await palimpsest(['config', 'check', '-'], { stdin });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^standard input: /)]);
  });

  it.each([
    [
      'model: { provider: antropic }',
      'line 1: model.provider: Expected a provider but found "antropic"; did you mean anthropic?',
    ],
    ['policy: { name: breakeven }', '"breakeven"; did you mean break-even?'],
    ['policy: { prices: antropic-5m }', '"antropic-5m"; did you mean anthropic-5m?'],
    ['session: { compaction: archiv }', '"archiv"; did you mean archive?'],
  ])('suggests what was meant: %s', async (yaml, said) => {
    const { code, stdout } = await check(yaml);
    expect([code, stdout]).toEqual([1, expect.stringContaining(said)]);
  });

  it('lists problems in the order of the file, each at the line of its field', async () => {
    const yaml =
      'context:\n  limit: 0\n  soft_threshold_pct:\n    - 4\nmodel:\n  nam:\n    x: 1\n  max_output_tokens: 0\n';
    const { stdout } = await check(yaml);
    expect(stdout.match(/line \d+: [\w.]+/g)).toEqual([
      'line 2: context.limit',
      'line 3: context.soft_threshold_pct',
      'line 6: model.nam',
      'line 8: model.max_output_tokens',
    ]);
  });

  it.each([
    [
      'store: { path: a, postgres: "postgres://b/c" }',
      'store.path: palimpsest serve does not use it, as store.postgres is set too',
    ],
    [
      'session: { directory: a, database: "postgres://b/c" }',
      'session.directory: sessions do not use it, as session.database is set too',
    ],
    ['model: { provider: bedrock-of-mine }', 'model.provider: unknown; known are anthropic, '],
    ['model: { name: zork-1 }', 'model.name: the context window of zork-1 is not known, so 128000 tokens are assumed'],
  ])('warns of what has another effect than meant: %s', async (yaml, said) => {
    const { code, stdout } = await check(yaml);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`warning: ${said}`)]);
  });

  it('does not warn of an unknown model whose window is set', async () => {
    for (const window of ['context: { limit: 64000 }', 'model: { name: zork-1, max_input_tokens: 64000 }'])
      expect((await check(`${window}\n`)).stdout).toBe('palimpsest.yaml: nothing is wrong\n');
    expect((await check('model: { name: zork-1, context_windows: { zork: 64000 } }')).stdout).not.toContain('warning');
    expect((await show('model: { name: zork-1 }')).stdout).toContain(
      '128,000 tokens, from the default, as model.name is not known',
    );
  });

  it('does not call a file missing that it cannot read', async () => {
    const readFile = async () => new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(0xff, 0xfe));
    const { code, stderr } = await palimpsest(['config', 'check', 'picture.png'], { readFile });
    expect([code, stderr]).toEqual([1, 'palimpsest config: cannot read picture.png: it is not UTF-8 text\n']);
    expect(stderr).not.toContain('found none');
  });

  it('exits with 1 where there is no file', async () => {
    const { code, stderr } = await palimpsest(['config', 'check']);
    expect(code).toBe(1);
    expect(stderr).toContain('Expected a configuration at palimpsest.yaml but found none');
  });

  it('refuses an answer that leaves no room for a request, and names both fields', async () => {
    const { code, stdout } = await check('model:\n  max_input_tokens: 10000\n  max_output_tokens: 12000\n');
    expect([code, stdout]).toEqual([
      1,
      'palimpsest.yaml: line 3: model.max_output_tokens: ' +
        'Expected below nine tenths of model.max_input_tokens (10000) but found 12000\n',
    ]);
  });

  it('warns of a limit in which the default answer leaves a run no room', async () => {
    const { code, stdout } = await check('context: { limit: 1000 }');
    expect([code, stdout]).toEqual([
      0,
      'palimpsest.yaml: nothing is wrong\npalimpsest.yaml: warning: model.max_output_tokens: ' +
        '4096 leaves a run no room for a request: set less than nine tenths of context.limit (1000)\n',
    ]);
  });

  it('exits with 2 where it is called wrongly', async () => {
    for (const args of [['config'], ['config', 'shw'], ['config', 'check', 'a', 'b'], ['config', 'check', '--jsn']])
      expect((await palimpsest(args)).code).toBe(2);
  });
});

const show = (yaml: string, args: readonly string[] = [], io: Partial<Io> = {}) =>
  palimpsest(['config', 'show', ...args], { readFile: async () => yaml, ...io });

const SEED = `
model:
  provider: anthropic
  name: claude-sonnet-4-20250514
  max_input_tokens: 150000
  max_output_tokens: 8192
`;

describe('palimpsest config show', () => {
  it('draws the window as a bar, with the share of every layer', async () => {
    const { code, stdout, stderr } = await show(SEED);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').slice(0, 21)).toEqual([
      'palimpsest.yaml',
      '',
      'The window: 150,000 tokens, from model.max_input_tokens',
      '',
      `  ${'█'.repeat(10)}${'░'.repeat(54)}${'▒'.repeat(4)}${'·'.repeat(8)}`,
      `  ${' '.repeat(53)}^ soft 105,000`,
      `  ${'hard 126,808 ^'.padStart(65)}`,
      '',
      '█ history           20,000   13.3 %  the conversation before a run, at most',
      '░ tool work        106,808   71.2 %  calls and results of the run',
      '▒ answer             8,192    5.5 %  kept free for the reply of the model',
      '· margin            15,000   10.0 %  kept free because sizes are estimates',
      '? system, tools    unknown           they take from history and tool work',
      '  limit            150,000  100.0 %',
      '',
      '  soft             105,000   70.0 %  from here on, results are masked',
      '  hard             126,808   84.5 %  the model wraps up, then a restart',
      '  request          126,808   84.5 %  the largest request: history and tool work',
      '',
      'hard_threshold_pct is at 135,000 tokens (90.0 %). A run acts before that,',
      'at the largest request, so that nothing has to be dropped.',
    ]);
  });

  it('prints every field that has a value, and marks defaults', async () => {
    const { stdout } = await show(`${SEED}session: { max_tool_iterations: 7 }\npolicy: { name: polling, every: 5 }\n`);
    const lines = stdout.split('\n');
    for (const line of [
      '  model.max_output_tokens                8192',
      '  session.max_tool_iterations            7',
      '* session.context.max_history_tokens     20000',
      '* context.soft_threshold_pct             0.7',
      '  policy.name                            polling',
      '  policy.every                           5',
    ])
      expect(lines).toContain(line);
    expect(stdout).not.toContain('policy.window');
    expect(stdout).not.toContain('keep_first');
  });

  it('shows the policy that keep_first chooses, and the other option of it', async () => {
    const { stdout } = await show('session: { context: { tool_result_keep_first: 3 } }');
    expect(stdout).toContain(
      '  session.context.tool_result_keep_first 3\n* session.context.tool_result_keep_last  5\n',
    );
    expect(stdout).toContain('  policy.name                            first-and-last\n');
  });

  it.each([
    '',
    SEED,
    'model: { name: grok-4 }',
    'context: { limit: 10000 }',
    'context: { limit: 5000, soft_threshold_pct: 0.01, hard_threshold_pct: 0.02 }',
    'model: { name: gpt-5, max_output_tokens: 300000 }\nsession: { context: { max_history_tokens: 0 } }',
    `model: { name: ${'x'.repeat(300)}, base_url: "https://host/${'y'.repeat(300)}" }`,
    'policy: { keep_tools: [read_file, grep, glob, list_files, search_files, web_search, fetch, edit_file] }',
  ])('fits 80 columns, and the bar is as long as the window: %#', async (yaml) => {
    const { code, stdout } = await show(yaml);
    expect(code).toBe(0);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const [bar = ''] = /[█░▒·]{20,}/.exec(stdout) ?? [];
    expect(bar).toHaveLength(76);
    for (const [glyph] of stdout.matchAll(/^[█░▒·](?= \w)/gm)) expect(bar).toContain(glyph);
  });

  it('prints JSON: the layers add up to the limit, and soft is below hard', async () => {
    const { code, stdout } = await show(SEED, ['--json', 'my.yaml']);
    const { version, file, window, fields } = JSON.parse(stdout);
    expect([code, version, file]).toEqual([0, 1, 'my.yaml']);
    expect(window).toMatchObject({
      limitTokens: 150_000,
      from: 'model.max_input_tokens',
      layers: [
        { name: 'history', tokens: 20_000 },
        { name: 'tool work', tokens: 106_808 },
        { name: 'answer', tokens: 8192 },
        { name: 'margin', tokens: 15_000, share: 0.1 },
      ],
      marks: [
        { name: 'soft', tokens: 105_000, share: 0.7 },
        { name: 'hard', tokens: 126_808 },
        { name: 'request', tokens: 126_808 },
      ],
      hardThreshold: { tokens: 135_000, share: 0.9 },
    });
    expect(fields).toContainEqual({ field: 'model.max_output_tokens', value: 8192, from: 'file' });
    expect(fields).toContainEqual({ field: 'context.mask_batch', value: 3, from: 'default' });
  });

  it('uses colours only where they may be used', async () => {
    const ESC = String.fromCharCode(27);
    expect((await show(SEED)).stdout).not.toContain(ESC);
    const { stdout } = await show(SEED, [], { color: true });
    expect(stdout).toContain(`${ESC}[36m██████████${ESC}[0m`);
    expect(stdout.replaceAll(new RegExp(`${ESC}\\[\\d+m`, 'g'), '')).toBe((await show(SEED)).stdout);
  });

  it('shows no token and no password, and no control character of the file', async () => {
    const yaml = `store: { postgres: "postgres://me:pass:w@rd@host/db" }
gateway: { tokens: { team: secret }, upstreams: { openai: "https://u:hush@host/v1" } }
model: { name: "a\\e[31mb" }`;
    for (const args of [[], ['--json']]) {
      const { stdout } = await show(yaml, args);
      expect(stdout).not.toMatch(/secret|w@rd|hush/);
      expect(stdout).toContain('postgres://me:(hidden)@host/db');
      expect(stdout).toContain('team');
      expect(stdout).not.toContain(String.fromCharCode(27));
    }
  });

  it('shows no window where something is wrong, but what is wrong', async () => {
    const { code, stdout } = await show('contxt: {}');
    expect([code, stdout]).toEqual([
      1,
      'palimpsest.yaml: line 1: contxt: Expected a known field but found contxt; did you mean context?\n',
    ]);
    const small = await show('context: { limit: 1000 }');
    expect([small.code, small.stdout]).toEqual([
      1,
      'palimpsest.yaml: model.max_output_tokens: ' +
        '4096 leaves a run no room for a request: set less than nine tenths of context.limit (1000)\n',
    ]);
    expect(JSON.parse((await show('context: { limit: 1000 }', ['--json'])).stdout)).toMatchObject({
      problems: [{ field: 'model.max_output_tokens' }],
    });
  });

  it('exits with 1 where there is no file, with 2 where it is called wrongly, and hints at the right word', async () => {
    expect((await palimpsest(['config', 'show'])).stderr).toContain('Expected a configuration at palimpsest.yaml');
    expect((await palimpsest(['config', 'show'])).code).toBe(1);
    expect((await show(SEED, ['a', 'b'])).code).toBe(2);
    expect((await palimpsest(['config', 'shw'])).stderr).toContain('did you mean show?');
  });
});
