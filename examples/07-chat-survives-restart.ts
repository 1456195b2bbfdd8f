// A chat on disk: each process opens it, adds a turn and is killed without any warning, and the next one goes on.
// What `add` has acknowledged is there again, the call that a kill left open is answered, and the task is not forgotten.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSession } from 'palimpsest/manager';

const [, program, directory] = process.argv;

if (directory === undefined) await watch();
else await chat(directory);

/** One process of the chat. Nothing is closed: it dies while its tool runs. */
async function chat(directory: string): Promise<void> {
  const session = await openSession({ directory, id: 'chat' });
  const { answeredCalls } = session.recovery;
  if (session.messages().length === 0) await session.add({ role: 'user', content: 'Count how often you were killed.' });
  console.log(`opened with ${session.messages().length} messages, ${answeredCalls} call answered`);
  const id = `call_${session.turns + 1}`;
  await session.add({ role: 'assistant', content: '', toolCalls: [{ id, name: 'count', arguments: '{}' }] });
  process.kill(process.pid, 'SIGKILL');
}

async function watch(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-chat-'));
  for (let i = 0; i < 3; i++) {
    // With the options of this process: tsx is one of them.
    const args = [...process.execArgv, program ?? fileURLToPath(import.meta.url), directory];
    const { signal, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(signal, 'SIGKILL');
    process.stdout.write(stdout);
  }

  const session = await openSession({ directory, id: 'chat' });
  const results = session.messages().filter(({ role }) => role === 'tool');
  assert.equal(session.messages()[0]?.content, 'Count how often you were killed.');
  assert.equal(session.turns, 3);
  assert.equal(results.length, 3);
  assert.deepEqual(session.format.check(session.messages()), []);
  console.log(`after three kills: ${session.messages().length} messages, each call with its answer`);
  console.log(`the last one says: ${results.at(-1)?.content}`);

  await session.close();
  rmSync(directory, { recursive: true });
}
