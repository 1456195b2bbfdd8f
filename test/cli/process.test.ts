import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contextOf } from '../support/logs/contexts.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-process-'));
const MESSAGES = join(folder, 'messages.json');
writeFileSync(MESSAGES, JSON.stringify([{ role: 'user', content: 'x' }]));

const LOG = join(folder, 'run.json');
writeFileSync(LOG, JSON.stringify(contextOf(500, 100, 100, 100, 100, 100).messages));

beforeAll(ensureBuilt, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = [process.execPath, join(ROOT, 'dist/cli/main.js')] as const;

describe('the program, as it is published', () => {
  it.skipIf(!existsSync('/dev/full'))('says in one line that it could not write (needs /dev/full)', () => {
    const [node, main] = program;
    const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
    const { status, stderr } = spawnSync(node, [main, 'fit', MESSAGES], { stdio: [...stdio], encoding: 'utf8' });
    expect(stderr).toMatch(/^palimpsest: could not write to standard output: ENOSPC.*\n$/);
    expect(status).toBe(1);
  });

  it('goes on serving when the reader of its log is gone', async ({ onTestFinished }) => {
    const [node, main] = program;
    const args = [
      'serve',
      '--port',
      '0',
      '--store',
      join(folder, 'store'),
      '--upstream',
      'anthropic=http://127.0.0.1:9',
    ];
    const env = { ...process.env, HOME: folder };
    const gateway = spawn(node, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => {
      gateway.kill('SIGKILL');
    });
    const [line] = await once(gateway.stdout.setEncoding('utf8'), 'data');
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    gateway.stderr.destroy();
    const ask = () => fetch(`${address}/v1/messages`, { method: 'POST', body: '{"model":"m","messages":[]}' });
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(502);
    expect(gateway.exitCode).toBeNull();
  });

  it.each(['-', '/dev/stdin', '<(cat "$LOG")', '- <(cat "$LOG")'])('replay %s reads a pipe', (source) => {
    const command = `cat "$LOG" | "$NODE" "$MAIN" replay --policy none --json ${source}`;
    const [NODE, MAIN] = program;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', command], {
      encoding: 'utf8',
      env: { ...process.env, NODE, MAIN, LOG },
    });
    expect([status, stderr]).toEqual([0, '']);
    const { runs } = JSON.parse(stdout);
    expect(runs.map(({ turns }: { turns: number }) => turns)).toEqual(source.startsWith('- ') ? [7, 7] : [7]);
  });
});
