import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { variableOf } from '../src/cli/serve/serve-environment.ts';
import { serveOptions } from '../src/cli/serve/serve-options.ts';
import { TOKEN } from './support/gateway/gateway.ts';
import { startProcess } from './support/gateway/processes.ts';
import { ensureBuilt, ROOT } from './support/modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-deploy-'));
const read = (file: string): string => readFileSync(join(ROOT, 'deploy', file), 'utf8');
const VARIABLES = [...Object.keys(serveOptions).map(variableOf), 'PALIMPSEST_TOKEN'];
const isAbsent = (program: string): boolean => spawnSync(program, ['--version']).error !== undefined;

beforeAll(() => ensureBuilt(), 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('every file of deploy/', () => {
  it.each(['compose.yaml', 'palimpsest.service', 'Dockerfile'])('%s names only variables that there are', (file) => {
    const named = [...read(file).matchAll(/PALIMPSEST_[A-Z_]+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !VARIABLES.includes(name))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  interface Service {
    readonly environment?: Readonly<Record<string, string>>;
    readonly healthcheck?: { readonly test: readonly string[] };
    readonly depends_on?: unknown;
    readonly stop_grace_period?: string;
  }
  const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> };

  it('has two gateways on one database, and gives them time to stop', () => {
    expect(Object.keys(services)).toEqual(['gateway-1', 'gateway-2', 'balancer', 'database']);
    const { environment = {}, stop_grace_period = '' } = services['gateway-1'] as Service;
    expect(environment.PALIMPSEST_STORE).toMatch(/^postgres:\/\/.*@database\/palimpsest$/);
    const stopMs = Number(environment.PALIMPSEST_DRAIN_MS) + Number(environment.PALIMPSEST_GRACE_MS);
    expect(1000 * Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(stopMs);
  });

  it('has a health check that passes for a gateway with these variables, and fails where none listens', {
    timeout: 60_000,
  }, async () => {
    const { environment = {}, healthcheck } = services['gateway-1'] as Service;
    const { PALIMPSEST_HOST = '', PALIMPSEST_ALLOW_HOST = '', PALIMPSEST_DRAIN_MS = '' } = environment;
    const own = {
      PALIMPSEST_PORT: '0',
      PALIMPSEST_STORE: join(folder, 'store'),
      PALIMPSEST_DRAIN_MS: '0',
      PALIMPSEST_TOKEN: TOKEN,
    };
    expect([PALIMPSEST_HOST, PALIMPSEST_ALLOW_HOST, Number(PALIMPSEST_DRAIN_MS)]).toEqual([
      '0.0.0.0',
      'localhost',
      5000,
    ]);
    const gateway = await startProcess([], folder, process.execPath, { ...environment, ...own });
    const [, command = '', ...args] = healthcheck?.test ?? [];
    const check = (): number | null =>
      spawnSync(
        command,
        args.map((arg) => arg.replace('8787', String(gateway.port))),
      ).status;
    expect(check()).toBe(0);
    await gateway.stop();
    expect(check()).toBe(1);
  });

  it.skipIf(isAbsent('nginx'))('has a configuration that nginx takes', () => {
    const config = join(folder, 'nginx.conf');
    const text = read('nginx.conf')
      .replace(/gateway-\d/g, '127.0.0.1')
      .replace('/tmp/nginx.pid', join(folder, 'nginx.pid'));
    writeFileSync(config, text);
    const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', config], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')]);
  });
});

describe('palimpsest.service', () => {
  it.skipIf(isAbsent('systemd-analyze'))('is a unit that systemd takes', () => {
    const unit = join(folder, 'palimpsest.service');
    writeFileSync(unit, read('palimpsest.service'));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    const complaints = stderr.split('\n').filter((line) => line.includes('palimpsest'));
    expect([status, complaints]).toEqual([0, []]);
  });

  it('starts a gateway with its own command line and variables', { timeout: 60_000 }, async () => {
    const unit = read('palimpsest.service');
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    const [, variables = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'palimpsest'), `#!/bin/sh\nexec node ${ROOT}/dist/cli/main.js "$@"\n`, { mode: 0o755 });
    const env = Object.fromEntries(variables.split(' ').map((pair) => pair.replaceAll('%S', folder).split('=', 2)));
    mkdirSync(env.HOME, { recursive: true });
    const child = spawn('sh', ['-c', `exec ${command} --port 0`], {
      env: { PATH: `${bin}:${process.env.PATH}`, ...env },
    });
    const ended = once(child, 'exit');
    let output = '';
    let isTold = false;
    for await (const chunk of child.stdout) {
      output += chunk;
      // Once: a second signal ends the process at once, and the output may come in several pieces. As soon as it can be: a gateway
      // that heard of signals only after its greeting was ended by this one.
      if (!isTold && output.includes('Ctrl-C')) isTold = child.kill('SIGTERM');
    }
    expect(output).toContain(`Masked texts are kept in ${folder}/palimpsest/store`);
    expect(await ended).toEqual([0, null]);
  });
});
