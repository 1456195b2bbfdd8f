import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chat } from '../../../src/formats/chat.ts';
import { toLine } from '../../../src/manager/session/log/event-line.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { never } from '../../../src/plan/policies/never.ts';
import {
  call,
  eventsOf,
  openChat,
  reply,
  result,
  temporaryFolders,
  turns,
  user,
} from '../../support/manager/sessions.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';

const freshFolder = temporaryFolders();
const quiet = { onProblem: () => {} };
const full = (): never => {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
};

/** Closed after some messages; answers the path of a file of it. */
async function written(messages = 5): Promise<{ directory: string; path: (name: string) => string }> {
  const directory = freshFolder();
  const session = await openChat({ directory, id: 'chat' });
  for (let i = 0; i < messages; i++) await session.add(user(`message ${i}`));
  await session.close();
  return { directory, path: (name) => join(directory, 'chat', name) };
}

const said = (count: number): unknown[] => Array.from({ length: count }, (_, i) => user(`message ${i}`));

describe('a disk that is full', () => {
  it('refuses the message with a clear error, and takes it once there is room', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('message 0'));
    disk.onWrite = full;
    const refused = session.add(user('message 1'));
    await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('ENOSPC') });
    expect(session.messages()).toEqual(said(1));
    disk.onWrite = undefined;
    await session.add(user('message 1'));
    await session.close();
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.files) });
    expect(again.messages()).toEqual(said(2));
    expect((await eventsOf(again)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it('that takes half a line keeps nothing of it', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('message 0'));
    const before = disk.files.get('/s/chat/events.jsonl');
    disk.onWrite = (path, bytes) => {
      disk.onWrite = undefined;
      const file = disk.open(path, 'write');
      file.write(bytes.subarray(0, 20), file.size());
      full();
    };
    await expect(session.add(user('lost'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(disk.files.get('/s/chat/events.jsonl')).toEqual(before);
    await session.add(user('message 1'));
    expect(session.messages()).toEqual(said(2));
  });

  it('keeps what nobody awaits in the queue, and writes it first when there is room: flush_failure_requeues_events', async () => {
    const disk = new RecordingDisk();
    const problems: Error[] = [];
    const session = await openChat({
      directory: '/s',
      id: 'chat',
      disk,
      onProblem: (problem) => problems.push(problem),
    });
    disk.onWrite = full;
    session.record({ type: 'error', message: 'first' });
    session.record({ type: 'error', message: 'second' });
    await expect(session.add(user('refused'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(problems).toHaveLength(1);
    disk.onWrite = undefined;
    await session.add(user('message 0'));
    expect((await eventsOf(session)).map((event) => event.type)).toEqual([
      'session_start',
      'error',
      'error',
      'message',
    ]);
  });

  it('costs no event where only the snapshot or a compaction does not fit', async () => {
    const disk = new RecordingDisk();
    const problems: Error[] = [];
    const session = await openChat({
      directory: '/s',
      id: 'chat',
      disk,
      snapshotEvery: 5,
      onProblem: (p) => problems.push(p),
    });
    disk.onWrite = (path) => (path.endsWith('events.jsonl') ? undefined : full());
    for (let i = 0; i < 12; i++) await session.add(user(`message ${i}`));
    await expect(session.compact()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('ENOSPC'),
    });
    await session.add(user('message 12'));
    expect(problems.length).toBeGreaterThan(0);
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.messages()).toEqual(said(13));
    expect(again.recovery.from).toBe('events');
  });
});

describe('a disk with room for events, and none for a snapshot', () => {
  it('takes events still: the part of the snapshot that fitted is removed', async () => {
    const disk = new RecordingDisk();
    const problems: Error[] = [];
    const session = await openChat({
      directory: '/s',
      id: 'chat',
      disk,
      snapshotEvery: 5,
      onProblem: (p) => problems.push(p),
    });
    await session.add(...Array.from({ length: 60 }, (_, i) => user(`message ${i}`)));
    const used = (): number => [...disk.files.values()].reduce((sum, { length }) => sum + length, 0);
    while (!disk.exists('/s/chat/state.yaml')) await sleep(1);
    const room = used() + 1200;
    disk.onWrite = (path, bytes) => {
      if (used() + bytes.length <= room) return;
      // A part of it still fits, as on a real disk.
      const { onWrite } = disk;
      disk.onWrite = undefined;
      const file = disk.open(path, 'write');
      file.write(bytes.subarray(0, room - used()), file.size());
      disk.onWrite = onWrite;
      full();
    };
    await session.add(...Array.from({ length: 5 }, (_, i) => user(`message ${i}`)));
    while (problems.length === 0) await sleep(1);
    await session.add(user('last'));
    expect(problems).toMatchObject([{ code: 'STORE_FAILED', message: expect.stringContaining('ENOSPC') }]);
    expect(disk.list('/s/chat').filter((name) => name.endsWith('.new'))).toEqual([]);
  });
});

describe('a sync that fails', () => {
  it('fails the session for good, and what was acknowledged before is there when it is opened again', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('message 0'));
    disk.onSync = () => {
      throw new Error('EIO: i/o error, fdatasync');
    };
    await expect(session.add(user('message 1'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    disk.onSync = undefined;
    await expect(session.add(user('message 2'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(() => session.record({ type: 'error', message: 'late' })).toThrow('sync failed');
    const again = await openChat({
      directory: '/s',
      id: 'chat',
      disk: new RecordingDisk(disk.afterPowerLoss(disk.operations.length, { choose: () => 0 })),
    });
    expect(again.messages()).toEqual(said(1));
  });
});

describe('a torn last line', () => {
  it.each([1, 10, 60])('of which %i bytes are there is skipped and cut off, and the rest is there', async (bytes) => {
    const { directory, path } = await written();
    const line = '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"message","message":{"role":"user","content":"x"}}';
    appendFileSync(path('events.jsonl'), line.slice(0, bytes));
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual(said(5));
    expect(again.recovery).toMatchObject({ tornBytes: bytes, damagedLines: 0, missing: [] });
    await again.add(user('message 5'));
    await again.close();
    const third = await openChat({ directory, id: 'chat' });
    expect(third.messages()).toEqual(said(6));
    expect((await eventsOf(third)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await third.close();
  });

  it('in the middle of a character is no character', async () => {
    const { directory, path } = await written();
    const torn = Buffer.from('{"seq":7,"time":"t","type":"error","message":"é').subarray(0, -1);
    appendFileSync(path('events.jsonl'), torn);
    const again = await openChat({ directory, id: 'chat' });
    expect(again.recovery.tornBytes).toBe(torn.length);
    await again.close();
  });

  it('is all there is of a session that was killed while it began', async () => {
    const { directory, path } = await written(0);
    truncateSync(path('events.jsonl'), 20);
    rmSync(path('state.yaml'));
    const again = await openChat({ directory, id: 'chat' });
    expect(again.recovery).toMatchObject({ from: 'nothing', tornBytes: 20 });
    expect((await eventsOf(again)).map(({ type }) => type)).toEqual(['session_start']);
    await again.close();
  });
});

describe('a damaged line in the middle', () => {
  it('is skipped, told, and left where it is; all others are there', async () => {
    const { directory, path } = await written();
    const lines = readFileSync(path('events.jsonl'), 'utf8').split('\n');
    lines[3] = `${lines[3]?.slice(0, 30)}\0\0\0${lines[3]?.slice(33)}`;
    writeFileSync(path('events.jsonl'), lines.join('\n'));
    const problems: Error[] = [];
    const again = await openChat({ directory, id: 'chat', onProblem: (problem) => problems.push(problem) });
    expect(again.messages()).toEqual(said(5).filter((_, i) => i !== 2));
    expect(again.recovery).toMatchObject({ from: 'snapshot', damagedLines: 1, missing: [4] });
    expect(problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
    await again.close();
    expect(readFileSync(path('events.jsonl'), 'utf8')).toContain('\0\0\0');
  });

  it('of a batch that was never synced takes the rest of the batch with it, which is kept beside', async () => {
    const { directory, path } = await written(1);
    rmSync(path('state.yaml'));
    const stamp = '"time":"2026-01-01T00:00:00.000Z"';
    const torn = [
      '\0\0\0"x"}',
      `{"seq":4,${stamp},"batch":3,"type":"error","message":"b"}`,
      `{"seq":5,${stamp},"batch":3,"type":"error","message":"c"}`,
    ];
    appendFileSync(path('events.jsonl'), `${torn.join('\n')}\n`);
    const again = await openChat({ directory, id: 'chat', ...quiet });
    expect(again.messages()).toEqual(said(1));
    expect(again.recovery.missing).toEqual([]);
    expect((await eventsOf(again)).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(readFileSync(path('events.torn.jsonl'), 'utf8')).toBe(`${torn.join('\n')}\n`);
    await again.close();
  });

  it('a file of nothing but damage is not taken for an empty one', async () => {
    const { directory, path } = await written();
    rmSync(path('state.yaml'));
    writeFileSync(path('events.jsonl'), 'this is\nno log\n');
    await expect(openChat({ directory, id: 'chat' })).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(readFileSync(path('events.jsonl'), 'utf8')).toBe('this is\nno log\n');
  });

  it('a line that is there twice counts once', async () => {
    const { directory, path } = await written();
    const lines = readFileSync(path('events.jsonl'), 'utf8').split('\n');
    appendFileSync(path('events.jsonl'), `${lines[4]}\n${lines[5]}\n`);
    const again = await openChat({ directory, id: 'chat', ...quiet });
    expect(again.messages()).toEqual(said(5));
    await again.add(user('message 5'));
    expect((await eventsOf(again)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await again.close();
    const third = await openChat({ directory, id: 'chat', ...quiet });
    expect(third.messages()).toEqual(said(6));
    await third.close();
  });

  it('a line that somebody took away is told', async () => {
    const { directory, path } = await written();
    rmSync(path('state.yaml'));
    const lines = readFileSync(path('events.jsonl'), 'utf8').split('\n');
    writeFileSync(path('events.jsonl'), lines.filter((_, i) => i !== 3).join('\n'));
    const problems: Error[] = [];
    const again = await openChat({ directory, id: 'chat', onProblem: (problem) => problems.push(problem) });
    expect(again.messages()).toEqual(said(5).filter((_, i) => i !== 2));
    expect(again.recovery).toMatchObject({ damagedLines: 0, missing: [4] });
    expect(problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
    await again.close();
  });

  it('also where it was the first', async () => {
    const { directory, path } = await written();
    rmSync(path('state.yaml'));
    writeFileSync(path('events.jsonl'), readFileSync(path('events.jsonl'), 'utf8').replace(/^.*\n/, ''));
    const again = await openChat({ directory, id: 'chat', ...quiet });
    expect(again.messages()).toEqual(said(5));
    expect(again.recovery.missing).toEqual([1]);
    await again.close();
  });

  it.each([
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"message"}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"message","message":null}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"tools_skipped"}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"session_restart"}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"context_mask","masks":[null]}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"context_cut","cut":{"steps":5}}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"token_usage"}',
    '{"seq":7,"time":"2026-01-01T00:00:00.000Z","type":"checkpoint"}',
    '{"seq":7,"time":"a\\"b","type":"error","message":"x"}',
    '{"seq":9007199254740991,"time":"2026-01-01T00:00:00.000Z","type":"error","message":"x"}',
    '{"seq":-1,"time":"2026-01-01T00:00:00.000Z","type":"error","message":"x"}',
    '{"hello":"world"}',
    '[]',
    'null',
  ])('%s, which is no event of ours, is damage and stops nothing', async (line) => {
    const { directory, path } = await written();
    appendFileSync(path('events.jsonl'), line.startsWith('{') ? toLine(line) : `${line}\n`);
    const again = await openChat({ directory, id: 'chat', ...quiet });
    expect(again.recovery.damagedLines).toBe(1);
    expect(again.messages()).toEqual(said(5));
    await again.add(user('message 5'));
    await again.close();
    rmSync(path('state.yaml'));
    const third = await openChat({ directory, id: 'chat', ...quiet });
    expect(third.messages()).toEqual(said(6));
    await third.close();
  });

  it('an event of a kind that is not known is passed by', async () => {
    const { directory, path } = await written();
    const types = ['from_later', 'toString', '__proto__'];
    const stamp = '"time":"2026-01-01T00:00:00.000Z"';
    for (const [i, type] of types.entries())
      appendFileSync(path('events.jsonl'), toLine(`{"seq":${7 + i},${stamp},"type":"${type}"}`));
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual(said(5));
    expect(again.recovery).toMatchObject({ damagedLines: 0, missing: [] });
    await again.close();
  });

  it('empty lines are no damage', async () => {
    const { directory, path } = await written();
    rmSync(path('state.yaml'));
    writeFileSync(path('events.jsonl'), readFileSync(path('events.jsonl'), 'utf8').replaceAll('\n', '\n\n'));
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual(said(5));
    expect(again.recovery).toMatchObject({ damagedLines: 0, tornBytes: 0 });
    await again.close();
  });
});

describe('a snapshot', () => {
  /** As if the session had written it so. */
  const sealed = (text: string): string => {
    const yaml = text.slice(0, text.lastIndexOf('checksum: '));
    return `${yaml}checksum: "${crc32(yaml).toString(16).padStart(8, '0')}"\n`;
  };

  it.each([
    ['is empty', () => ''],
    ['is no YAML', () => '\t{{{'],
    ['is cut off', (text: string) => text.slice(0, text.length / 2)],
    ['is of another version', (text: string) => sealed(text.replace('version: 1', 'version: 9'))],
    ['names an event that does not end there', (text: string) => sealed(text.replace(/offset: \d+/, 'offset: 17'))],
    ['ends behind the log', (text: string) => sealed(text.replace(/offset: \d+/, 'offset: 999999'))],
    ['names a message where there is none', (text: string) => sealed(text.replace(/^ {2}3 \d+/m, '  3 1'))],
    ['is of another log', (text: string) => sealed(text.replace(/seq: \d+/, 'seq: 3'))],
    ['holds what is no mask', (text: string) => sealed(text.replace("masks: ''", 'masks: |\n  null'))],
    ['has a bit turned over', (text: string) => text.replace('number: 1', 'number: 3')],
    ['somebody took a message out of', (text: string) => text.replace(/^ {2}3 .*\n/m, '')],
  ])('that %s is not used, and the events are enough', async (_what, damage) => {
    const { directory, path } = await written();
    writeFileSync(path('state.yaml'), damage(readFileSync(path('state.yaml'), 'utf8')));
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual(said(5));
    expect(again.recovery.from).toBe('events');
    expect(again.recovery.snapshotProblem).toContain('state.yaml');
    await again.close();
    const third = await openChat({ directory, id: 'chat' });
    expect(third.recovery.from).toBe('snapshot');
    await third.close();
  });

  it('that is gone costs only time, also after a compaction that discarded all else', async () => {
    const directory = freshFolder();
    const options = { directory, id: 'chat', compaction: 'discard', policy: never() } as const;
    const session = await openChat(options);
    await session.add(user('the task'), ...turns(3));
    await session.restart();
    await session.add(reply('here again'));
    await session.compact();
    await session.add(reply('and on'));
    const before = { messages: session.messages(), view: session.view(), number: session.number };
    await session.close();
    rmSync(join(directory, 'chat/state.yaml'));
    const again = await openChat(options);
    expect(again.recovery.from).toBe('events');
    expect({ messages: again.messages(), view: again.view(), number: again.number }).toEqual(before);
    await again.close();
  });
});

describe('a clock that goes backwards', () => {
  it('leaves the events in order, and their times too', async () => {
    const directory = freshFolder();
    const hours = [5, 3, 9, 1, 2];
    let at = 0;
    const now = (): number => Date.UTC(2026, 0, 1, hours[at++ % hours.length]);
    const session = await openChat({ directory, id: 'chat', now });
    for (let i = 0; i < 8; i++) await session.add(user(`message ${i}`));
    const events = await eventsOf(session);
    await session.close();
    const again = await openChat({ directory, id: 'chat', now: () => 0 });
    await again.add(user('message 8'));
    expect(again.messages()).toEqual(said(9));
    const times = (await eventsOf(again)).map(({ time }) => time);
    expect(times).toEqual([...times].sort());
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await again.close();
  });
});

describe('calls that a crash left open', () => {
  const crashed = async (...messages: ChatMessage[]): Promise<RecordingDisk> => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('the task'), ...messages);
    return new RecordingDisk(disk.afterCrash());
  };
  const both = {
    role: 'assistant' as const,
    content: 'both',
    toolCalls: ['a', 'b'].map((id) => ({ id, name: 'bash', arguments: '{}' })),
  };

  it('are answered with an error, each once', async () => {
    const disk = await crashed(both, result('a', 'done', 'bash'));
    const again = await openChat({ directory: '/s', id: 'chat', disk });
    expect(again.recovery.answeredCalls).toBe(1);
    expect(again.messages().slice(2)).toEqual([
      result('a', 'done', 'bash'),
      result('b', 'Error: tool execution interrupted by server restart', 'bash'),
    ]);
    expect(chat.check([...again.messages(), user('next')])).toEqual([]);
    const third = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(third.recovery.answeredCalls).toBe(0);
    expect(third.messages()).toEqual(again.messages());
    expect((await eventsOf(third)).at(-1)).toMatchObject({ type: 'message', recovered: true });
  });

  it('also where a snapshot or a compaction was written right behind the call', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, snapshotEvery: 1, ...quiet });
    await session.add(user('the task'), both);
    await session.compact();
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.recovery.from).toBe('snapshot');
    expect(again.recovery.answeredCalls).toBe(2);
    expect(chat.check([...again.messages(), user('next')])).toEqual([]);
  });

  it('stay open while they wait for a person, and are known', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('the task'), call('a', 'bash'));
    await session.log({ type: 'approval_required', call_id: 'a', tool: 'bash', arguments: { command: 'rm' } });
    const waiting = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(waiting.recovery.answeredCalls).toBe(0);
    expect(waiting.pendingApprovals()).toEqual([{ callId: 'a', tool: 'bash', arguments: { command: 'rm' } }]);
    await waiting.log({ type: 'approval_decision', call_id: 'a', decision: 'approved' });
    expect(waiting.pendingApprovals()).toEqual([]);
  });

  it('of one reply stay open together while one of them waits: none of them was made yet', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('the task'), both);
    await session.log({ type: 'approval_required', call_id: 'b', tool: 'bash' });
    const waiting = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(waiting.recovery.answeredCalls).toBe(0);
    expect(waiting.messages()).toEqual([user('the task'), both]);
  });

  it('that were skipped say why: tools_skipped_replay', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, ...quiet });
    await session.add(user('the task'), both);
    await session.log({ type: 'tools_skipped', call_ids: ['b'], reason: 'the user said stop' });
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(
      again
        .messages()
        .slice(2)
        .map(({ content }) => content),
    ).toEqual(['Error: tool execution interrupted by server restart', 'Skipped: the user said stop']);
  });

  it('are kept open where the caller says so', async () => {
    const disk = await crashed(both);
    const again = await openChat({ directory: '/s', id: 'chat', disk, openCalls: 'keep' });
    expect(again.messages()).toHaveLength(2);
  });
});

describe('an archive', () => {
  it('of which only a part was synced when the power went is written again from there', async () => {
    const { directory, path } = await written();
    const lines = readFileSync(path('events.jsonl'), 'utf8').split('\n');
    // Whole at its end, with a hole in the middle: its last line tells nothing of what is before it.
    writeFileSync(path('events.archive.jsonl'), lines.with(2, '\0'.repeat(40)).join('\n'));
    const session = await openChat({ directory, id: 'chat' });
    expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    await session.reset();
    await session.compact();
    const messages = (await eventsOf(session)).flatMap((event) => (event.type === 'message' ? [event.message] : []));
    expect(messages).toEqual(said(5));
    await session.close();
    expect(readFileSync(path('events.archive.jsonl'), 'utf8')).not.toContain('\0');
  });

  it('that somebody took away begins anew', async () => {
    const { directory, path } = await written();
    const session = await openChat({ directory, id: 'chat' });
    await session.compact();
    rmSync(path('events.archive.jsonl'));
    await session.add(user('message 5'));
    await session.compact();
    const messages = (await eventsOf(session)).flatMap((event) => (event.type === 'message' ? [event.message] : []));
    expect(messages).toEqual(said(6));
    await session.close();
  });

  it('has lines that somebody wrote with other spaces, each once', async () => {
    const { directory, path } = await written();
    const lines = readFileSync(path('events.jsonl'), 'utf8').replaceAll('{"seq":', '{ "seq": ');
    writeFileSync(path('events.jsonl'), lines);
    const session = await openChat({ directory, id: 'chat', ...quiet });
    await session.compact();
    await session.reset();
    await session.compact();
    await session.compact();
    expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 8]);
    const archived = readFileSync(path('events.archive.jsonl'), 'utf8').split('\n');
    expect(archived.filter((line) => line.includes('"message"'))).toHaveLength(5);
    await session.close();
  });
});

describe('a checkpoint that is damaged', () => {
  const compacted = async (...later: ChatMessage[]) => {
    const directory = freshFolder();
    const options = { directory, id: 'chat', policy: never(), ...quiet };
    const session = await openChat(options);
    await session.add(user('the task'), ...turns(3));
    await session.restart();
    await session.log({ type: 'error', message: 'the last that is archived' });
    await session.compact();
    if (later.length > 0) await session.add(...later);
    const before = await eventsOf(session);
    await session.close();
    const path = join(directory, 'chat/events.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"type":"checkpoint"', '"type":"checkpoint'));
    return { options, before };
  };

  it.each([
    ['behind which others stand', [user('later')]],
    ['at the end', []],
  ])('%s costs nothing of the archive, and no event the place of another', async (_where, later) => {
    const { options, before } = await compacted(...later);
    const session = await openChat(options);
    expect(session.recovery.damagedLines).toBe(1);
    await session.add(user('new'));
    expect(await eventsOf(session)).toMatchObject([...before, { type: 'message', message: user('new') }]);
    await session.compact();
    expect(await eventsOf(session)).toMatchObject([...before, { type: 'message', message: user('new') }]);
    expect(session.messages().at(-1)).toEqual(user('new'));
    await session.close();
    const again = await openChat(options);
    expect(again.messages()).toEqual(session.messages());
    await again.close();
  });
});

describe('what is left of an unfinished compaction or snapshot', () => {
  it('is no longer there', async () => {
    const { directory, path } = await written();
    for (const name of ['events.jsonl.new', 'state.yaml.new']) writeFileSync(path(name), 'half');
    const again = await openChat({ directory, id: 'chat' });
    expect(again.messages()).toEqual(said(5));
    await again.compact();
    await again.close();
    for (const name of ['events.jsonl.new', 'state.yaml.new']) expect(existsSync(path(name))).toBe(false);
  });
});
