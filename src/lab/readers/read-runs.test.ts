import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import zlib, { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { logFolder } from '../../../test/support/logs/log-folder.ts';
import { sampleLogs } from '../../../test/support/logs/logs.ts';
import { contextsOf, expectPalimpsestError, expectRead } from '../../../test/support/logs/reader-suite.ts';
import type { SampleLog } from '../../../test/support/logs/sample-log.ts';
import { readLog, readRuns } from './read-runs.ts';

const folder = logFolder();

describe('readLog', () => {
  it.each([
    ['nothing', '', 'found no JSON object'],
    ['text', 'Hello.\nWorld.\n', 'found no JSON object'],
    ['something else', '{"name":"x","version":1}', 'found objects with name, version'],
    ['half an object', '{"messages":[{"role":"user"', 'the JSON that begins in line 1 is cut off'],
    ['a talk without a reply', '[{"role":"user","content":"Hello?"}]', 'in a messages log but found none'],
    ['bytes', Buffer.from([0, 255, 123, 34, 10, 200, 7, 125]), 'found no JSON object'],
    ['half a zip', gzipSync('{"role":"user"}'.repeat(99)).subarray(0, 30), 'ends too early'],
  ])('says what is wrong with %s', async (_, content, reason) => {
    await expect(contextsOf(content)).rejects.toThrow(reason);
    await contextsOf(content).catch(expectPalimpsestError);
  });

  it('says that there is no such file, or that it is a folder', async () => {
    await expect(readLog(join(folder, 'nowhere')).next()).rejects.toThrow('there is no such file');
    await expect(readLog(folder).next()).rejects.toThrow('it is a folder');
  });

  it('reads an object over lines, though some of them are objects too', async () => {
    const message = '{"role":"assistant","content":"Hello."}';
    for (const text of [`{"messages":[\n${message}\n]}`, `{\n"messages":\n[\n${message},\n${message}\n]\n}`])
      expect((await contextsOf(text))[0]?.messages[0]).toEqual({ role: 'assistant', content: 'Hello.' });
  });

  it('reads numbers of Python and an object over lines beside a text of many megabytes', async () => {
    const long = `"${'\\n '.repeat(1e7)}"`;
    const reply = '{"role":"assistant","content":"Hello."}';
    for (const text of [`{"n":NaN,"long":${long},"messages":[${reply}]}`, `{"long":${long},"messages":[\n${reply}\n]}`])
      expect((await contextsOf(text))[0]?.messages[0]).toEqual({ role: 'assistant', content: 'Hello.' });
  });

  it('takes the times that the log has', async () => {
    const times = async (log: SampleLog | undefined) => (await contextsOf(log?.text ?? ''))[0]?.times.slice(0, 3);
    const byName = (name: string) => sampleLogs.find((log) => log.name.startsWith(name));
    expect(await times(byName('Codex: parallel'))).toEqual(Array(3).fill(Date.UTC(2026, 0, 2, 3, 4, 5)));
    expect(await times(byName('goose: lines'))).toEqual(Array(3).fill(1_760_000_000_000));
    expect(await times(byName('mini-swe-agent v1.1: calls'))).toEqual([undefined, undefined, 1_760_000_000_500]);
  });

  it('names the formats there are', async () => {
    await expect(contextsOf('{}', { format: 'cobol' as 'codex' })).rejects.toThrow(
      /one of qwen-code, cursor, droid, claude-code, .* found 'cobol'/,
    );
  });

  it('reads what is compressed with zstd, or says which Node can', async () => {
    const text = JSON.stringify([{ role: 'assistant', content: 'Hello.' }]);
    const { zstdCompressSync } = zlib as { zstdCompressSync?: (text: string) => Buffer };
    const zipped = zstdCompressSync?.(text) ?? Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]);
    const read = contextsOf(zipped).then(
      (contexts) => contexts[0]?.messages[0]?.content,
      (error) => error.message,
    );
    expect(await read).toContain(zstdCompressSync ? 'Hello.' : 'zstd, which needs Node 22.15 or newer');
  });

  it('keeps what it read of a zip that ends too early', async () => {
    const [log] = sampleLogs as [SampleLog];
    const damage: string[] = [];
    const text = `${log.text}{"type":"x","noise":"${Array.from({ length: 1e6 }, (_, i) => (i * i) % 7919).join('')}"}\n`;
    const zipped = gzipSync(text);
    const half = zipped.subarray(0, zipped.length / 2);
    expectRead(log, await contextsOf(half, { onDamage: (_file, reason) => damage.push(reason) }));
    expect(damage).toEqual([expect.stringContaining('its gzip data ends too early')]);
  });
});

describe('readRuns', () => {
  it('reads all logs, tells of those it cannot read, and goes on', async () => {
    const skipped: string[] = [];
    const files: string[] = [];
    const onSkip = (file: string, reason: string) => skipped.push(`${file.slice(folder.length + 1)}: ${reason}`);
    for await (const { file } of readRuns([folder, join(folder, 'gone')], { onSkip }))
      files.push(file.slice(folder.length + 1));
    expect(files).toEqual(['a/[x]/1.json', 'a/deep/er/run.traj', 'b/10.jsonl', 'b/2.json', 'b/3.json.gz']);
    expect(skipped).toEqual([
      'gone: there is no such file',
      'b/broken.json: Expected the log of an agent but found no JSON object; the JSON that begins in line 1 is cut off',
    ]);
  });

  it('throws for a format that there is not, which is a mistake of the caller', async () => {
    await expect(readRuns([join(folder, 'gone')]).next()).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('gone but there is no such file'),
    });
    await expect(readRuns([join(folder, '*.nothing')]).next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(readRuns([folder], { format: 'cobol' as 'codex' }).next()).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
  });

  it('refuses a single path: its letters are no paths', async () => {
    await expect(readRuns(folder as never).next()).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('a list of texts'),
    });
  });
});

describe('a session of Claude Code that an older version resumed in a new file', () => {
  const line = (sessionId: string, type: string, content: unknown): string =>
    JSON.stringify({
      type,
      sessionId,
      uuid: `${type} ${content}`,
      message: { id: `m ${content}`, role: type, content },
    });
  const first = [line('one', 'user', 'Fix it.'), line('one', 'assistant', 'Done.')];
  const resumed = [...first, line('two', 'user', 'More.'), line('two', 'assistant', 'Done too.')];

  async function carriedIn(files: Readonly<Record<string, readonly string[]>>): Promise<Record<string, number>> {
    const logs = mkdtempSync(join(tmpdir(), 'palimpsest-resumed-'));
    for (const [name, lines] of Object.entries(files)) writeFileSync(join(logs, name), lines.join('\n'));
    const carried: Record<string, number> = {};
    for await (const { file, carriedTurns } of readRuns([logs])) carried[basename(file)] = carriedTurns;
    rmSync(logs, { recursive: true });
    return carried;
  }

  it('carries the lines of the other session if that has a file', async () => {
    const files = { 'one.jsonl': first, 'two.jsonl': resumed };
    expect(await carriedIn(files)).toEqual({ 'one.jsonl': 0, 'two.jsonl': 1 });
  });

  it('counts them if this is their only file, or the file of a subagent', async () => {
    expect(await carriedIn({ 'two.jsonl': resumed })).toEqual({ 'two.jsonl': 0 });
    const files = { 'one.jsonl': first, 'agent-a.jsonl': first };
    expect(await carriedIn(files)).toEqual({ 'one.jsonl': 0, 'agent-a.jsonl': 0 });
  });
});
