import { describe, expect, it } from 'vitest';
import type { Session, SessionEvent } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { never } from '../../../src/plan/policies/never.ts';
import { call, eventsOf, openChat, reply, result, turns, user } from '../../support/manager/sessions.ts';
import { type Files, RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';

const FLIPS = Number(process.env.PALIMPSEST_RUNS ?? 1600);
const LOG = '/s/chat/events.jsonl';

interface Opened {
  readonly session: Session<ChatMessage>;
  readonly problems: Error[];
}

async function open(disk: RecordingDisk, snapshotEvery = 1000): Promise<Opened> {
  const problems: Error[] = [];
  const onProblem = (problem: Error): unknown => problems.push(problem);
  const options = { directory: '/s', id: 'chat', disk, snapshotEvery, policy: never(), openCalls: 'keep' } as const;
  return { session: await openChat({ ...options, onProblem }), problems };
}

const messagesIn = (events: readonly SessionEvent<ChatMessage>[]): ChatMessage[] =>
  events.flatMap((event) => (event.type === 'message' ? [event.message] : []));

interface Flip {
  readonly path: string;
  readonly byte: number;
  readonly bit: number;
}

function flipped(files: Files, { path, byte, bit }: Flip): RecordingDisk {
  const bytes = Buffer.from(files.get(path) as Buffer);
  bytes[byte] = (bytes[byte] as number) ^ (1 << bit);
  return new RecordingDisk(new Map([...files, [path, bytes]]));
}

interface Written {
  readonly files: Files;
  readonly events: readonly SessionEvent<ChatMessage>[];
  readonly messages: readonly ChatMessage[];
}

/** Batches of one and of many, a restart, a compaction with its archive, and more behind it. */
async function written({ isClosed }: { readonly isClosed: boolean }): Promise<Written> {
  const disk = new RecordingDisk();
  const { session } = await open(disk);
  await session.add(user('the task: äöü € 😀 J***J'));
  await session.add(...turns(4, { lines: 2 }));
  session.manager.recordUsage({ inputTokens: 500, outputTokens: 20 });
  await session.add(reply('done so far'));
  await session.restart();
  await session.compact();
  await session.add(user('go on'));
  await session.add(call('d1'), result('d1', 'one JJ ** result'), call('d2'), result('d2', 'another'));
  await session.log({ type: 'x_mine', crc32: '01234567', v: 2 });
  await session.add(user('the last'), reply('of all'));
  const [events, messages] = [await eventsOf(session), session.messages()];
  if (isClosed) await session.close();
  return { files: disk.afterCrash(), events, messages };
}

/** The events in the line to which a byte of a file belongs; none for a file that is no log. */
function seqsAt(files: Files, { path, byte }: Flip): number[] {
  if (!path.endsWith('.jsonl')) return [];
  const bytes = files.get(path) as Buffer;
  const start = byte === 0 ? 0 : bytes.lastIndexOf(10, byte - 1) + 1;
  return [JSON.parse(bytes.subarray(start, bytes.indexOf(10, byte)).toString('utf8')).seq];
}

function* flipsOf(files: Files): Generator<Flip> {
  const paths = [...files.keys()];
  for (const path of paths)
    for (const [byte, value] of (files.get(path) as Buffer).entries())
      if (value === 10) for (let bit = 0; bit < 8; bit++) yield { path, byte, bit };
  const random = randomFrom(FLIPS);
  const size = paths.reduce((sum, path) => sum + (files.get(path) as Buffer).length, 0);
  for (let i = 0; i < FLIPS / 2; i++) {
    let byte = Math.floor(random() * size);
    const path = paths.find((name) => {
      const { length } = files.get(name) as Buffer;
      if (byte < length) return true;
      byte -= length;
      return false;
    }) as string;
    yield { path, byte, bit: Math.floor(random() * 8) };
  }
}

describe('a flipped bit', () => {
  it(`anywhere in the files of a session that was closed or killed, ${FLIPS} times, costs the damaged line at most, and that is told`, async () => {
    for (const isClosed of [true, false]) {
      const session = await written({ isClosed });
      for (const flip of flipsOf(session.files)) await checkFlip(session, flip);
    }
  }, 240_000);
});

async function checkFlip({ files, events, messages }: Written, flip: Flip): Promise<void> {
  const where = JSON.stringify(flip);
  const { session, problems } = await open(flipped(files, flip));
  const found = new Map((await eventsOf(session)).map((event) => [event.seq, event]));
  const damaged = seqsAt(files, flip);
  const different = events.filter((event) => JSON.stringify(found.get(event.seq)) !== JSON.stringify(event));
  const wrong = different.filter(({ seq }) => !damaged.includes(seq) || found.has(seq));
  expect(wrong, where).toEqual([]);
  const lost = events.filter(({ seq }) => damaged.includes(seq)).flatMap(textsOf);
  const texts = session.messages().map(({ content }) => content);
  const expected = messages.map(({ content }) => content);
  const missing = expected.filter((text) => !texts.includes(text) && !lost.includes(text));
  expect(missing, where).toEqual([]);
  if (different.length > 0 || texts.join() !== expected.join())
    expect(problems, where).toContainEqual(expect.objectContaining({ code: 'STORE_DAMAGED' }));
}

const textsOf = (event: SessionEvent<ChatMessage>): string[] => {
  if (event.type === 'message') return [event.message.content];
  return event.type === 'session_restart' ? event.messages.map(({ content }) => content) : [];
};

const said = (from: number, to: number): ChatMessage[] =>
  Array.from({ length: to - from }, (_, i) => user(`message ${from + i}`));

/** Four messages one by one, then fifty in one batch. */
async function withBatch({ isClosed }: { readonly isClosed: boolean }): Promise<Files> {
  const disk = new RecordingDisk();
  const { session } = await open(disk);
  for (const message of said(0, 4)) await session.add(message);
  await session.add(...said(4, 54));
  if (isClosed) await session.close();
  return disk.afterCrash();
}

describe.each([
  ['closed', true],
  ['killed', false],
])('one damaged byte in an acknowledged batch of a session that was %s', (_how, isClosed) => {
  it.each([10, 53])('costs message %i, moves nothing away, and is told at every open', async (lost) => {
    const files = await withBatch({ isClosed });
    const byte = (files.get(LOG) as Buffer).indexOf(`message ${lost}"`);
    let disk = flipped(files, { path: LOG, byte, bit: 0 });
    const damaged = disk.files.get(LOG) as Buffer;
    for (let time = 0; time < 3; time++) {
      const { session, problems } = await open(disk);
      expect(session.messages()).toEqual(said(0, 54).filter((_, i) => i !== lost));
      expect(session.recovery).toMatchObject({ tornBytes: 0, damagedLines: 1, missing: [lost + 2] });
      expect(problems).toMatchObject([{ code: 'STORE_DAMAGED', message: expect.stringContaining(`${lost + 2}`) }]);
      await session.close();
      expect(disk.files.get(LOG)?.subarray(0, damaged.length)).toEqual(damaged);
      expect(disk.files.has('/s/chat/events.torn.jsonl')).toBe(false);
      disk = new RecordingDisk(disk.files);
    }
  });
});

describe('a digit of a sequence number that changed', () => {
  it('costs its line only, and none behind it', async () => {
    const files = await withBatch({ isClosed: true });
    const byte = (files.get(LOG) as Buffer).indexOf('"seq":12,') + '"seq":'.length;
    const { session, problems } = await open(flipped(files, { path: LOG, byte, bit: 3 }));
    expect(session.messages()).toEqual(said(0, 54).filter((_, i) => i !== 10));
    expect(problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
    await session.add(user('next'));
    expect(messagesIn(await eventsOf(session)).at(-1)).toEqual(user('next'));
  });
});

describe('damage that was acknowledged', () => {
  it('is no longer reported, and newer damage is', async () => {
    const files = await withBatch({ isClosed: true });
    const disk = flipped(files, { path: LOG, byte: (files.get(LOG) as Buffer).indexOf('message 10"'), bit: 0 });
    const { session } = await open(disk);
    await session.acknowledgeDamage();
    await session.close();
    const log = disk.files.get(LOG) as Buffer;
    for (const name of ['state.yaml', 'nothing']) {
      const kept = new Map([...disk.files].filter(([path]) => !path.endsWith(name)));
      const again = await open(new RecordingDisk(kept));
      expect(again.session.messages()).toEqual(said(0, 54).filter((_, i) => i !== 10));
      expect(again.session.recovery).toMatchObject({ damagedLines: 0, missing: [] });
      expect(await eventsOf(again.session)).toHaveLength(55);
      expect(again.problems).toEqual([]);
      const newer = flipped(kept, { path: LOG, byte: log.indexOf('message 20"'), bit: 0 });
      expect((await open(newer)).problems).toMatchObject([
        { code: 'STORE_DAMAGED', message: expect.stringContaining('1 damaged lines, and missing events (22)') },
      ]);
    }
  });

  it('stays so after a compaction, and damage that was not stays reported', async () => {
    const files = await withBatch({ isClosed: true });
    const log = files.get(LOG) as Buffer;
    for (const isAcknowledged of [true, false]) {
      const disk = flipped(files, { path: LOG, byte: log.indexOf('message 10"'), bit: 0 });
      const { session } = await open(disk);
      if (isAcknowledged) await session.acknowledgeDamage();
      await session.reset();
      await session.compact();
      await session.close();
      for (const name of ['state.yaml', 'nothing']) {
        const kept = new Map([...disk.files].filter(([path]) => !path.endsWith(name)));
        const again = await open(new RecordingDisk(kept));
        expect(again.session.recovery.missing).toEqual(isAcknowledged ? [] : [12]);
        expect(messagesIn(await eventsOf(again.session))).toEqual(said(0, 54).filter((_, i) => i !== 10));
        expect(again.problems.length > 0).toBe(!isAcknowledged);
      }
      // The damaged line is in the archive, as it was.
      expect(disk.files.get('/s/chat/events.archive.jsonl')?.includes('lessage 10"')).toBe(true);
    }
  });
});

describe('an archive', () => {
  it('whose last line is damaged keeps it, and the next compaction appends behind it', async () => {
    const disk = new RecordingDisk();
    const { session } = await open(disk);
    await session.add(user('one'), user('two'));
    await session.reset();
    await session.log({ type: 'error', message: 'the last' });
    await session.compact();
    await session.close();
    const path = '/s/chat/events.archive.jsonl';
    const archive = disk.files.get(path) as Buffer;
    const damaged = flipped(disk.files, { path, byte: archive.indexOf('the last'), bit: 0 });
    const again = await open(damaged);
    await again.session.add(user('three'));
    await again.session.compact();
    expect(damaged.files.get(path)?.subarray(0, archive.length).includes('uhe last')).toBe(true);
    expect(messagesIn(await eventsOf(again.session))).toEqual([user('one'), user('two'), user('three')]);
    expect(again.problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
  });
});

describe('a log that lost its end', () => {
  it('of which the snapshot knows is reported, and no number is used twice', async () => {
    const files = await withBatch({ isClosed: true });
    const log = files.get(LOG) as Buffer;
    const kept = log.subarray(0, log.indexOf('\n', log.indexOf('message 49"')) + 1);
    const disk = new RecordingDisk(new Map([...files, [LOG, kept]]));
    const { session, problems } = await open(disk);
    expect(session.messages()).toEqual(said(0, 50));
    expect(session.recovery.missing).toEqual([52, 53, 54, 55]);
    expect(problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
    await session.add(user('next'));
    expect((await eventsOf(session)).at(-1)?.seq).toBe(56);
  });

  it('and all else is begun again, and reported', async () => {
    const files = await withBatch({ isClosed: true });
    const { session, problems } = await open(new RecordingDisk(new Map([...files, [LOG, Buffer.alloc(0)]])));
    expect(problems).toMatchObject([{ code: 'STORE_DAMAGED' }]);
    expect(await eventsOf(session)).toMatchObject([{ seq: 56, type: 'session_start' }]);
  });
});

describe('a log without checksums', () => {
  it('is refused and stays as it is', async () => {
    const event = { seq: 1, time: '2026-01-01T00:00:00.000Z', type: 'session_start', id: 'chat', format: 'chat' };
    const log = Buffer.from(`${JSON.stringify(event)}\n`);
    const disk = new RecordingDisk(new Map([[LOG, log]]));
    await expect(open(disk)).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(disk.files.get(LOG)).toEqual(log);
  });
});
