import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-memory-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CONTEXTS = 60;
const CONTEXT_MB = 4;

const line = (type: string, message: unknown, more = {}): string =>
  `${JSON.stringify({ type, message, sessionId: 's', isSidechain: false, ...more })}\n`;

/** A session of about 240 MB with many compactions, each context of 4 MB in results of 64 KB. */
function* session(): Generator<string> {
  const result = 'x'.repeat(1 << 16);
  for (let context = 0; context < CONTEXTS; context++) {
    yield line('user', { role: 'user', content: 'Summary.' }, { isCompactSummary: true });
    for (let call = 0; call < CONTEXT_MB << 4; call++) {
      const id = `${context}-${call}`;
      yield line('assistant', { id: `m${id}`, content: [{ type: 'tool_use', id, name: 'Read', input: {} }] });
      yield line('user', { content: [{ type: 'tool_result', tool_use_id: id, content: result + id }] });
    }
  }
}

/** An array of runs on one line. */
function* runs(): Generator<string> {
  const content = 'x'.repeat(CONTEXT_MB << 20);
  for (let run = 0; run < CONTEXTS; run++) {
    const traj = [
      { role: 'user', content: content + run },
      { role: 'assistant', content: 'Done.' },
    ];
    yield `${run === 0 ? '[' : ', '}${JSON.stringify({ traj })}`;
  }
  yield ']';
}

describe('a log larger than the memory', () => {
  beforeAll(ensureBuilt);

  it.each([
    ['lines', 'session.jsonl', session],
    ['lines, zipped', 'session.jsonl.gz', session],
    ['an array on one line', 'runs.json', runs],
  ])('is read context by context: %s', async (_, name, pieces) => {
    const file = join(folder, name);
    const zip = name.endsWith('.gz') ? [createGzip({ level: 1 })] : [];
    await pipeline([Readable.from(pieces()), ...zip, createWriteStream(file)]);
    if (zip.length === 0) expect(statSync(file).size).toBeGreaterThan(200 * 2 ** 20);
    expect(countIn(file)).toBe(String(CONTEXTS));
  });
});

/** Counts the contexts of a file in a process that has 64 MB for them. */
function countIn(file: string): string {
  const program = `
    import { readLog } from './dist/lab/readers/read-runs.js';
    let count = 0;
    for await (const context of readLog(process.argv[1])) count += 1;
    process.stdout.write(String(count));`;
  const options = ['--max-old-space-size=64', '--input-type=module', '--eval', program, file];
  const { stdout, stderr } = spawnSync(process.execPath, options, { cwd: ROOT, encoding: 'utf8' });
  return stdout || stderr;
}
