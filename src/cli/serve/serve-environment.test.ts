import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Io } from '../io.ts';
import { variableOf, withEnvironment } from './serve-environment.ts';
import { serveOptions } from './serve-options.ts';

function read(env: Readonly<Record<string, string>>, values: object = {}) {
  let stderr = '';
  const io = { env, stderr: (text: string) => (stderr += text) } as unknown as Io;
  return { values: withEnvironment({ ...values }, serveOptions, io), stderr };
}

describe('variables of serve', () => {
  it('are read as the options of the command line are', () => {
    const env = {
      PALIMPSEST_PORT: '9000',
      PALIMPSEST_ALLOW_HOST: 'a, b',
      PALIMPSEST_SHADOW: 'true',
      PALIMPSEST_QUIET: '0',
    };
    const values = { port: '9000', 'allow-host': ['a', 'b'], shadow: true, quiet: false };
    expect(read(env)).toEqual({ values, stderr: '' });
  });

  it('come after the command line, and count as not set where they are empty', () => {
    const env = { PALIMPSEST_PORT: '9000', PALIMPSEST_HOST: '' };
    expect(read(env, { port: '1' }).values).toEqual({ port: '1' });
  });

  it('are refused where a flag is neither true nor false', () => {
    expect(() => read({ PALIMPSEST_SHADOW: 'maybe' })).toThrow(
      "expected $PALIMPSEST_SHADOW to be true or false but found 'maybe'",
    );
  });

  it('that are misspelt get the nearest right one, and those of other commands do not', () => {
    const { stderr } = read({ PALIMPSEST_PROT: '1', PALIMPSEST_TOKEN: 'x', PATH: '/bin' });
    expect(stderr).toBe('palimpsest serve: $PALIMPSEST_PROT is no variable of it; did you mean $PALIMPSEST_PORT?\n');
  });

  it('are not those that Kubernetes sets for a service called palimpsest', () => {
    const env = {
      PALIMPSEST_PORT: 'tcp://10.0.0.7:8787',
      PALIMPSEST_PORT_8787_TCP: 'tcp://10.0.0.7:8787',
      PALIMPSEST_PORT_8787_TCP_ADDR: '10.0.0.7',
      PALIMPSEST_SERVICE_HOST: '10.0.0.7',
      PALIMPSEST_SERVICE_PORT: '8787',
      PALIMPSEST_SERVICE_PORT_HTTP: '8787',
      PALIMPSEST_GATEWAY_PORT: 'tcp://10.0.0.8:8787',
    };
    expect(read(env)).toEqual({ values: {}, stderr: '' });
  });

  it('are those of the docs, one for each option', () => {
    const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `(PALIMPSEST_\w+)`\s*\| `--([\w-]+)`\s*\| `([^`]+)`/gm)];
    const options = Object.keys(serveOptions).sort();
    expect(rows.map(([, variable, option]) => [variable, option]).sort()).toEqual(
      options.map((name) => [variableOf(name), name]).sort(),
    );
    const examples = Object.fromEntries(rows.map(([, variable = '', , example = '']) => [variable, example]));
    expect(Object.keys(read(examples).values).sort()).toEqual(options);
  });
});
