import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { opencodeLogs } from '../../../test/support/logs/opencode.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';
import type { Fields } from '../../../test/support/logs/sample-log.ts';
import { readRuns } from './read-runs.ts';

describeReader('opencode', opencodeLogs());

it('reads the sessions of the storage folder, with their messages and parts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-opencode-'));
  const store = (path: string, value: unknown): void => {
    const file = join(folder, 'storage', `${path}.json`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
  };
  const message = (id: string, role: string, created: number): Fields => ({ id, role, time: { created } });
  const state = { status: 'completed', input: { path: 'a' }, output: 'one' };
  store('session/project/ses_1', { id: 'ses_1', projectID: 'project', title: 'Fix it', time: { created: 1 } });
  store('session/project/ses_2', { id: 'ses_2', projectID: 'project', title: 'Nothing', time: { created: 1 } });
  store('message/ses_1/msg_9', message('msg_9', 'user', 1_760_000_000_000));
  store('message/ses_1/msg_1', message('msg_1', 'assistant', 1_760_000_001_000));
  store('part/msg_9/prt_1', { type: 'text', text: 'Fix it.' });
  store('part/msg_1/prt_1', { type: 'text', text: 'I read.' });
  store('part/msg_1/prt_2', { type: 'tool', tool: 'read', callID: 'c1', state });
  store('todo/ses_1', []);
  const skipped: string[] = [];
  const read: unknown[] = [];
  for await (const { format, messages } of readRuns([folder], { onSkip: (file) => skipped.push(basename(file)) }))
    read.push([format, messages.map(({ role, content }) => `${role}: ${content}`)]);
  rmSync(folder, { recursive: true });
  expect(read).toEqual([['opencode', ['user: Fix it.', 'assistant: I read.', 'tool: one']]]);
  expect(skipped).toEqual(['ses_2.json']);
});
