import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOptionsOf, policyOf, sessionOptionsOf, storeOptionsOf, sweepOptionsOf } from './config-options.ts';
import { configJsonSchema, configSchema } from './config-schema.ts';
import { checkConfig, loadConfig, readConfig, showProblem } from './read-config.ts';

const problemsOf = (yaml: string): string[] => readConfig(yaml).problems.map(showProblem);

/** Every field there is. */
const whole = `
model:   { provider: anthropic, name: claude-sonnet-5, base_url: https://api.anthropic.com,
           max_input_tokens: 150000, max_output_tokens: 8192, context_windows: { my-model: 32768 } }
session:
  directory: .palimpsest/sessions
  on_disconnect: pause                  # or continue
  max_tool_iterations: 25
  tool_timeout_ms: 0
  compaction: archive
  snapshot_every: 50
  ttl_hours: 168
  context: { max_history_tokens: 20000, max_tool_result_tokens: 8000, tool_result_truncation: head,
             tool_result_keep_first: 2, tool_result_keep_last: 5 }
context: { limit: 200000, soft_threshold_pct: 0.70, hard_threshold_pct: 0.90, carryover_turns: 5, carryover_tokens: 9000,
           mask_batch: 3, auto_restart: true, max_restarts: 20 }
policy:  { name: break-even, prices: anthropic-5m, window: 10 }
store:   { path: .palimpsest }
gateway: { port: 8787, host: 127.0.0.1, upstreams: { anthropic: "https://api.anthropic.com" }, tokens: { team: secret },
           allowed_hosts: [gateway.local], max_tokens: 150000, prices: { read: 0.1, write: 1.25 }, bound_thinking: keep, holdout: 10%, shadow: false,
           limits: { body_bytes: 1, json_values: 1, scan_ms: 1, answer_bytes: 1, search_processes: 1 } }
`;

describe('readConfig', () => {
  it('knows every field', () => {
    const { config, problems } = readConfig(whole);
    expect(problems).toEqual([]);
    expect(config.session?.context?.max_history_tokens).toBe(20_000);
    expect(config.gateway?.upstreams?.anthropic).toBe('https://api.anthropic.com');
  });

  it('takes an empty file, empty sections and JSON', () => {
    for (const yaml of ['', '# nothing yet\n', 'session:\nmodel:\n', '{}', '{"context": {"limit": 1000}}'])
      expect(problemsOf(yaml)).toEqual([]);
  });

  it.each([
    ['sesion: {}', 'line 1: sesion: Expected a known field but found sesion; did you mean session?'],
    [
      'session:\n  context:\n    max_tool_result_token: 1',
      'line 3: session.context.max_tool_result_token: Expected a known field but found max_tool_result_token; did you mean max_tool_result_tokens?',
    ],
    [
      'session: { soft_threshold_pct: 0.5 }',
      'line 1: session.soft_threshold_pct: Expected a known field but found soft_threshold_pct; did you mean context.soft_threshold_pct?',
    ],
    [
      'store: { colour: red }',
      'line 1: store.colour: Expected a known field but found colour; there is path, postgres, tenant, record_turns, max_age_days, max_bytes',
    ],
    [
      'gateway:\n  policy: polling',
      'line 2: gateway.policy: Expected a known field but found policy; did you mean policy outside of gateway?',
    ],
    ['sesion:', 'line 1: sesion: Expected a known field but found sesion; did you mean session?'],
  ])('finds unknown fields, and the right ones: %s', (yaml, problem) => {
    expect(problemsOf(yaml)).toEqual([problem]);
  });

  it.each([
    ['session: { context: { max_tool_result_tokens: 0 } }', 'a whole number of 1 or more but found 0'],
    ['session: { context: { max_history_tokens: -1 } }', 'a whole number of 0 or more but found -1'],
    ['session: { context: { tool_result_truncation: middle } }', `one of 'head', 'tail', 'both' but found "middle"`],
    ['session: { max_tool_iterations: 2.5 }', 'a whole number of 1 or more but found 2.5'],
    ['session: { on_disconnect: yes }', `one of 'pause', 'continue' but found "yes"`],
    ['model: { max_input_tokens: lots }', 'a whole number of 1 or more but found "lots"'],
    ['model: 5', 'a section with fields but found 5'],
    ['context: { soft_threshold_pct: 70 }', 'a number above 0 and up to 1, such as 0.7 but found 70'],
    ['context: { soft_threshold_pct: 0.95 }', 'below hard_threshold_pct (0.9) but found 0.95'],
    ['context: { hard_threshold_pct: 0.5 }', 'above soft_threshold_pct (0.7) but found 0.5'],
    ['context: { limit: "200000" }', 'a whole number of 1 or more but found "200000"'],
    ['context: { limit: .inf }', 'a whole number of 1 or more but found Infinity'],
    ['policy: polling', 'a section with fields but found "polling"'],
    ['context: { auto_restart: 1 }', 'true or false but found 1'],
    ['store: { postgres: "mysql://x" }', 'a postgres:// address but found "mysql://x"'],
    ['gateway: { port: 70000 }', 'a port of 0 to 65535 but found 70000'],
    ['gateway: { upstreams: { openai: "file:///etc" } }', 'an http or https address but found "file:///etc"'],
    ['model: { base_url: localhost }', 'an http or https address but found "localhost"'],
    ['[]', 'sections with fields but found []'],
    [
      'model: { max_input_tokens: 10000, max_output_tokens: 12000 }',
      'below nine tenths of model.max_input_tokens (10000) but found 12000',
    ],
    [
      'model: { max_output_tokens: 9000 }\ncontext: { limit: 10000 }',
      'below nine tenths of context.limit (10000) but found 9000',
    ],
    [
      'model: { name: gpt-4o, max_output_tokens: 128000 }',
      'below nine tenths of the window of model.name (128000) but found 128000',
    ],
  ])('says what was expected and found: %s', (yaml, said) => {
    const [problem = '', ...more] = problemsOf(yaml);
    expect(problem).toContain(`Expected ${said}`);
    expect(more).toEqual([]);
  });

  it('lets the policy say what its options are', () => {
    expect(problemsOf('policy: { name: sliding-widow }')[0]).toContain("one of 'sliding-window'");
    expect(problemsOf('\npolicy: { name: polling, tuns: 3 }')).toEqual([
      'line 2: policy: Expected an option of polling but found tuns; did you mean turns?',
    ]);
    expect(problemsOf('policy: { prices: gpt-7 }')[0]).toContain("policy.prices: Expected one of 'anthropic-5m'");
    const lookup = problemsOf('gateway: { prices: { read: 0.1, write: 1, lookup: { kind: marker } } }')[0];
    expect(problemsOf('gateway: { prices: { read: 0.1, write: 1, extra: 2 } }')).toEqual([
      'line 1: gateway.prices.extra: Expected a known field but found extra',
    ]);
    expect(lookup).toContain('lookup ({ kind: markers, look_back_blocks } or { kind: prefix, step_tokens })');
  });

  it.each([
    ['policy', '__proto__'],
    ['policy', 'tool_kinds', '__proto__'],
    ['gateway', 'tokens', '__proto__'],
    ['gateway', 'upstreams', '__proto__'],
    ['model', 'context_windows', '__proto__'],
    ['__proto__'],
  ])('names and leaves out __proto__, which JavaScript drops: %s %s %s', (...path) => {
    const yaml = path.reduceRight((inner, name) => `{ ${name}: ${inner} }`, '1');
    expect(problemsOf(yaml)).toEqual([`line 1: ${path.join('.')}: Expected another name but found __proto__`]);
    expect(JSON.stringify(readConfig(yaml).config)).not.toContain('__proto__');
  });

  it('tells the line in which YAML is broken', () => {
    expect(problemsOf('model:\n  name: "x\n')[0]).toMatch(/^line \d: /);
    expect(problemsOf('model: {}\nmodel: {}')[0]).toMatch(/^line 2: .*unique/i);
  });

  it.each([
    ['context: *nowhere', /Unresolved alias.*nowhere/],
    [`a: &a [1,1]\nb: &b [${'*a,'.repeat(60)}]\nc: [${'*b,'.repeat(60)}]`, /alias count/],
    ['model: { name: !env MODEL }', /^line 1: Unresolved tag: !env/],
    ['policy: &all { name: *all }', /one that holds itself/],
    ['&all [*all]', /one that holds itself/],
  ])('tells what cannot be followed: %s', (yaml, said) => {
    expect(problemsOf(yaml)).toEqual([expect.stringMatching(said)]);
  });

  it('follows an alias', () => {
    const { config } = readConfig('model: { name: &name gpt-5, provider: *name }');
    expect(config).toEqual({ model: { name: 'gpt-5', provider: 'gpt-5' } });
  });

  it('tells what two fields say together beside what one says alone', () => {
    expect(problemsOf('context: { soft_threshold_pct: 0.95 }\nmodel: { nam: x }\npolicy: { tuns: 3 }')).toEqual([
      expect.stringContaining('line 1: context.soft_threshold_pct: Expected below'),
      expect.stringContaining('line 2: model.nam: '),
      expect.stringContaining('line 3: policy: '),
    ]);
    expect(problemsOf('context: { soft_threshold_pct: 0.6, hard_threshold_pct: 0.5 }')).toHaveLength(1);
  });

  it('finds and leaves out a field with a dot in its name, and entries of a list', () => {
    const yaml = 'model:\n  context_windows: { gpt-5: 9 ,\n    gpt-4.1: 0 }\ngateway: { allowed_hosts: [5, a, "", b] }';
    const { config, problems } = readConfig(yaml);
    expect(problems.map(({ line }) => line)).toEqual([3, 4, 4]);
    expect(config).toEqual({
      model: { context_windows: { 'gpt-5': 9 } },
      gateway: { allowed_hosts: ['a', 'b'] },
    });
  });

  it('names line and field of an answer that leaves no room for a request, and leaves it out', () => {
    const yaml = 'model:\n  name: gpt-4o\n  max_input_tokens: 10000\n  max_output_tokens: 10000';
    const { config, problems } = readConfig(yaml);
    expect(problems.map(showProblem)).toEqual([
      'line 4: model.max_output_tokens: Expected below nine tenths of model.max_input_tokens (10000) but found 10000',
    ]);
    expect(config).toEqual({ model: { name: 'gpt-4o', max_input_tokens: 10_000 } });
    expect(problemsOf('model: { max_output_tokens: 8999, max_input_tokens: 10000 }')).toEqual([]);
    expect(problemsOf('model: { max_output_tokens: 200000 }')).toEqual([]);
  });

  it('leaves out what is wrong, and only that', () => {
    const { config, problems } = readConfig('context: { limit: 0, max_restarts: 3 }\nstore: { path: x }');
    expect(problems).toHaveLength(1);
    expect(config).toEqual({ context: { max_restarts: 3 }, store: { path: 'x' } });
  });

  it('does not change the object it checks', () => {
    const given = { context: { limit: 0 }, store: null };
    checkConfig(given);
    expect(given).toEqual({ context: { limit: 0 }, store: null });
  });

  it('names a wrong field beside a function', () => {
    const config = { model: { bogus: 1 }, policy: { name: 'break-even', toolKind: () => 'read' } };
    expect(checkConfig(config).problems.map(({ field }) => field)).toContain('model.bogus');
  });
});

describe('the JSON schema', () => {
  const published = z.fromJSONSchema(configJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);

  it.each([
    { model: { base_url: 'file:///etc' } },
    { model: { base_url: 'localhost:11434' } },
    { model: { context_windows: { own: 0 } } },
    { session: { context: { max_tool_result_tokens: 0 } } },
    { session: { context: { colour: 'red' } } },
    { context: { soft_threshold_pct: 0 } },
    { context: { limit: 2.5 } },
    { policy: { prices: { read: 1 } } },
    { policy: { name: 'sliding-widow' } },
    { store: { postgres: 'mysql://x' } },
    { gateway: { port: 70_000 } },
    { gateway: { tokens: { team: '' } } },
    { gateway: { allowed_hosts: [''] } },
    { gateway: { allowed_hosts: ['https://gateway.example'] } },
    { sesion: {} },
  ])('refuses what the program refuses: %o', (config) => {
    expect(checkConfig(config).problems).toHaveLength(1);
    expect(published.safeParse(config).success).toBe(false);
  });

  it('names no default for keep_first and keep_last: only first-and-last has them, and says so', () => {
    const { properties } = configJsonSchema() as Property;
    const context = properties?.session?.properties?.context?.properties ?? {};
    for (const [name, byDefault] of [
      ['tool_result_keep_first', 2],
      ['tool_result_keep_last', 5],
    ] as const) {
      expect(context[name]?.default).toBeUndefined();
      expect(context[name]?.description).toMatch(/^An option of the policy first-and-last: /);
      expect(context[name]?.description).toContain(`where it is ${byDefault} if not given`);
    }
    expect(properties?.policy?.properties?.name?.default).toBe('break-even');
  });

  it('takes what the program takes', () => {
    expect(published.safeParse(readConfig(whole).config).success).toBe(true);
  });
});

describe('docs/configuration.md', () => {
  const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];

  it('shows every field, and nothing that is wrong', () => {
    const { config, problems } = readConfig(yaml);
    expect(problems).toEqual([]);
    expect(missing(configSchema.shape, config)).toEqual([]);
  });

  it('shows the defaults that the schema tells', () => {
    expect(otherDefaults(configJsonSchema() as Property, readConfig(yaml).config)).toEqual([]);
  });
});

interface Property {
  readonly default?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Property>>;
}

function otherDefaults({ properties = {}, default: byDefault }: Property, shown: unknown, path = ''): string[] {
  const inner = Object.entries(properties).flatMap(([name, property]) =>
    otherDefaults(property, (shown as Record<string, unknown> | undefined)?.[name], `${path}.${name}`),
  );
  return byDefault === undefined || byDefault === shown ? inner : [...inner, path];
}

function missing(shape: object, shown: unknown, path = ''): string[] {
  return Object.entries(shape).flatMap(([name, type]) => {
    const found = (shown as Record<string, unknown> | undefined)?.[name];
    const inner = (type as { unwrap(): { shape?: object } }).unwrap().shape;
    if (found === undefined) return [`${path}${name}`];
    return inner ? missing(inner, found, `${path}${name}.`) : [];
  });
}

describe('loadConfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-config-'));

  it('reads a file', async () => {
    const path = join(folder, 'good.yaml');
    writeFileSync(path, whole);
    expect((await loadConfig(path)).model?.name).toBe('claude-sonnet-5');
  });

  it('throws everything that is wrong with it at once', async () => {
    const path = join(folder, 'bad.yaml');
    writeFileSync(path, 'model: { nam: x }\ncontext: { limit: 0 }');
    await expect(loadConfig(path)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/model\.nam: .*\n.*context\.limit: /),
    });
  });

  it('refuses bytes that are no text', async () => {
    const path = join(folder, 'picture.png');
    writeFileSync(path, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe]));
    await expect(loadConfig(path)).rejects.toMatchObject({ message: expect.stringContaining('utf-8') });
    expect(problemsOf('model:\n  name: "a\u0000b"')).toEqual([
      'line 2: Expected YAML or JSON but found a byte that no text has; is this the right file?',
    ]);
  });

  it('says where it looked', async () => {
    await expect(loadConfig(join(folder, 'none.yaml'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a configuration becomes options', () => {
  const { config } = readConfig(whole);

  it('of a session', () => {
    expect(sessionOptionsOf(config)).toMatchObject({
      directory: '.palimpsest/sessions',
      model: 'claude-sonnet-5',
      maxInputTokens: 150_000,
      maxOutputTokens: 8192,
      contextLimit: 200_000,
      softThreshold: 0.7,
      hardThreshold: 0.9,
      maskBatch: 3,
      carryoverTurns: 5,
      carryoverTokens: 9000,
      maxRestarts: 20,
      maxToolResultTokens: 8000,
      toolResultTruncation: 'head',
      compaction: 'archive',
      snapshotEvery: 50,
    });
  });

  it('of a run', () => {
    expect(agentOptionsOf(config)).toEqual({
      maxInputTokens: 150_000,
      maxOutputTokens: 8192,
      maxHistoryTokens: 20_000,
      maxToolIterations: 25,
      toolTimeoutMs: 0,
      onDisconnect: 'pause',
      autoRestart: true,
    });
  });

  it('of a store and of a sweep', () => {
    expect(storeOptionsOf(config)).toEqual({ path: '.palimpsest' });
    expect(storeOptionsOf({ store: { path: 'x', tenant: 'a' } })).toEqual({ path: 'x', tenant: 'a' });
    expect(storeOptionsOf({ store: { postgres: 'postgres://x' } })).toBeUndefined();
    expect(sweepOptionsOf(config)).toEqual({ directory: '.palimpsest/sessions', ttlHours: 168 });
  });

  it('of sessions in a database, which goes before a folder', () => {
    const session = { directory: 'x', database: 'postgres://x' };
    expect(sessionOptionsOf({ session })).toEqual({ database: 'postgres://x' });
    expect(sweepOptionsOf({ session })).toEqual({ database: 'postgres://x' });
    expect(problemsOf('session: { database: mysql://x }')).toEqual([
      expect.stringContaining('session.database: Expected a postgres:// address but found'),
    ]);
  });

  it('leaves to its default what it does not say', () => {
    expect(sessionOptionsOf({})).toEqual({});
    expect(agentOptionsOf({})).toEqual({});
  });

  it('own prices are those of the policy', () => {
    const lookup = { kind: 'markers', look_back_blocks: 20 } as const;
    expect(policyOf({ policy: { prices: { read: 0.1, write: 1.25, life_ms: 5, lookup } } })?.prices).toMatchObject({
      lifeMs: 5,
      lookup: { kind: 'markers', lookBackBlocks: 20 },
    });
  });

  it('keep_first and keep_last choose the policy first-and-last, unless another is named', () => {
    const context = { tool_result_keep_first: 1, tool_result_keep_last: 3 };
    expect(policyOf({})).toBeUndefined();
    expect(policyOf({ session: { context } })?.name).toBe('first-and-last');
    expect(policyOf({ session: { context: { tool_result_keep_last: 3 } } })?.name).toBe('first-and-last');
    expect(policyOf({ session: { context }, policy: {} })?.name).toBe('first-and-last');
    expect(problemsOf('session: { context: { tool_result_keep_last: 3 } }\npolicy: { window: 4 }')).toEqual([
      expect.stringContaining('line 2: policy: Expected an option of first-and-last but found window'),
    ]);
    expect(policyOf({ session: { context }, policy: { name: 'polling', turns: 4 } })?.name).toBe('polling');
  });
});
