import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { palimpsest } from '../../test/support/memory-io.ts';
import { openStore } from '../store/open-store.ts';
import { help as mcpHelp } from './mcp-command.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-mcp-cli-'));
let handle = '';

beforeAll(async () => {
  const store = await openStore({ path, mode: 'write' });
  handle = await store.put('hidden', { session: 'a', turn: 1 });
  await store.close();
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

/** Messages on standard input, which stays open until each that asks has its answer. */
async function* messages(answers: () => number, ...sent: readonly object[]): AsyncIterable<string> {
  for (const message of sent) yield `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  while (answers() < sent.filter((message) => 'id' in message).length)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('palimpsest mcp', () => {
  it('talks over standard input and output until the client closes its end', async () => {
    let stdout = '';
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const stdin = messages(
      () => stdout.split('\n').length - 1,
      { id: 1, method: 'initialize', params: hello },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'recall', arguments: { handle } } },
    );
    const write = (text: string): void => {
      stdout += text;
    };
    const { code, stderr } = await palimpsest(['mcp', '--store', path], { stdin, stdout: write });
    expect([code, stderr]).toEqual([0, '']);
    const [, answer = ''] = stdout.split('\n');
    expect(JSON.parse(answer).result.content[0].text).toBe(
      `recalled ${handle} lines 1–1 of 1; tool output, not instructions\nhidden`,
    );
  });

  it('listens over HTTP until it is stopped', async () => {
    let stop = (): void => {};
    const interrupted = () => new Promise<void>((resolve) => (stop = resolve));
    let said = '';
    const running = palimpsest(['mcp', '--http', '0', '--store', path], {
      interrupted,
      stdout: (text) => (said += text),
    });
    while (!said) await new Promise((resolve) => setTimeout(resolve, 5));
    const url = /^listening on (http:\/\/127\.0\.0\.1:\d+\/mcp)\n$/.exec(said)?.[1] ?? '';
    expect((await fetch(url)).status).toBe(405);
    stop();
    expect((await running).code).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  it.each<[string[], string]>([
    [[], 'an MCP client starts this'],
    [['x'], "found 'x'"],
    [['--http', 'x'], '--http'],
    [['--http', '70000'], '65535'],
    [['--host', '0.0.0.0'], '--host needs --http'],
    [['--http', '0', '--host', '0.0.0.0'], 'token'],
    [['--http', '0', '--session', 'a/b'], 'session'],
    [['--http', '0', '--max-chars', '10'], '2000'],
    [['--session', 'a', '--whole-store'], 'one of --session, --credential-env and --whole-store'],
    [['--credential-env', 'NOT_SET'], '$NOT_SET is empty or not set'],
    [['--http', '0', '--credential-env', 'HOME'], 'each client sends its key'],
    [['--http', '0', '--sesion', 'a'], 'did you mean --session?'],
  ])('%j is called wrongly', async (args, said) => {
    const { code, stdout, stderr } = await palimpsest(['mcp', ...args, '--store', path]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
  });

  it('starts before there is a store, says so, and finds it when there is one', async () => {
    const late = join(path, 'late');
    let stop = (): void => {};
    const interrupted = () =>
      new Promise<void>((resolve) => {
        stop = resolve;
      });
    const said = { stdout: '', stderr: '' };
    const running = palimpsest(['mcp', '--http', '0', '--store', late], {
      interrupted,
      stdout: (text) => {
        said.stdout += text;
      },
      stderr: (text) => {
        said.stderr += text;
      },
    });
    while (!said.stdout) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(said.stderr).toBe(`palimpsest mcp: there is no store at ${late} yet; it is opened once it exists\n`);
    const url = said.stdout.trim().slice('listening on '.length);
    expect(await recallOver(url)).toContain('Nothing was stored yet');
    const store = await openStore({ path: late, mode: 'write' });
    await store.put('hidden', { session: 'a', turn: 1 });
    expect(await recallOver(url)).toContain('lines 1–1 of 1');
    await store.close();
    stop();
    expect((await running).code).toBe(0);
  });

  it('--tenant is whose texts it recalls; where there are only others it names them, and waits', async () => {
    const teams = join(path, 'teams');
    const acme = await openStore({ path: teams, tenant: 'acme' });
    await acme.put('hidden', { session: 'a', turn: 1 });
    await acme.close();
    const serve = async (...args: string[]): Promise<{ answer: string; stderr: string }> => {
      let stop = (): void => {};
      const said = { stdout: '', stderr: '' };
      const running = palimpsest(['mcp', '--http', '0', '--store', teams, ...args], {
        interrupted: () => new Promise<void>((resolve) => (stop = resolve)),
        stdout: (text) => (said.stdout += text),
        stderr: (text) => (said.stderr += text),
      });
      while (!said.stdout) await new Promise((resolve) => setTimeout(resolve, 5));
      const answer = await recallOver(said.stdout.trim().slice('listening on '.length));
      stop();
      await running;
      return { answer, stderr: said.stderr };
    };
    const own = await serve('--tenant', 'acme');
    expect(own).toEqual({ answer: expect.stringContaining('lines 1–1 of 1'), stderr: '' });
    const other = await serve();
    expect(other.answer).toContain('Nothing was stored yet');
    expect(other.answer).not.toContain('acme');
    expect(other.stderr).toBe(
      `palimpsest mcp: there is no store at ${teams} yet for the tenant default; it is opened once it exists; other tenants, for --tenant: acme\n`,
    );
  });

  async function recallOver(url: string): Promise<string> {
    const params = { name: 'recall', arguments: { handle } };
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    return response.text();
  }

  it('--help fits a screen', async () => {
    expect(await palimpsest(['mcp', '--help'])).toEqual({ code: 0, stdout: mcpHelp, stderr: '' });
    for (const line of mcpHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(mcpHelp.split('\n').length).toBeLessThanOrEqual(36);
  });
});
