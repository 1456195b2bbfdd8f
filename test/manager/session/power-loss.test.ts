import { describe, expect, it } from 'vitest';
import { chat } from '../../../src/formats/chat.ts';
import { toLine } from '../../../src/manager/session/log/event-line.ts';
import type { Session } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { slidingWindow } from '../../../src/plan/policies/sliding-window.ts';
import { call, eventsOf, openChat, result, user } from '../../support/manager/sessions.ts';
import { RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 40);

const open = (
  disk: RecordingDisk,
  compaction: 'archive' | 'discard' | 'off' = 'archive',
): Promise<Session<ChatMessage>> =>
  openChat({
    directory: '/s',
    id: 'chat',
    disk,
    compaction,
    snapshotEvery: 3,
    compactAfterBytes: 1500,
    maxInputTokens: 1000,
    policy: slidingWindow({ turns: 3 }),
    onProblem: () => {},
  });

/** What was done, and after how many operations of the disk it was acknowledged. */
interface Done {
  readonly text: string;
  readonly at: number;
}

/** Adds, masks, restarts and compacts at random. */
async function work(disk: RecordingDisk, random: () => number): Promise<{ begun: string[]; done: Done[] }> {
  const session = await open(disk);
  const begun: string[] = [];
  const done: Done[] = [];
  let number = 0;
  const add = async (...messages: ChatMessage[]): Promise<void> => {
    const texts = messages.map(({ content }) => content);
    begun.push(...texts);
    await session.add(...messages);
    for (const text of texts) done.push({ text, at: disk.operations.length });
  };
  const text = (): string => `<${number++}>${'more of it '.repeat(Math.floor(random() ** 3 * 150))}`;
  for (let step = 0; step < 40; step++) {
    const dice = random();
    if (dice < 0.4) {
      const id = `c${number}`;
      await add({ ...call(id), content: text() });
      await add(result(id, text()));
    } else if (dice < 0.6) await Promise.all([add(user(text())), add(user(text()), user(text())), add(user(text()))]);
    else if (dice < 0.75) await add(user(text()));
    else if (dice < 0.82) await session.mask(1);
    else if (dice < 0.92) await session.compact();
    else await session.restart();
  }
  return { begun, done };
}

async function textsIn(disk: RecordingDisk): Promise<{ texts: string[]; session: Session<ChatMessage> }> {
  const session = await open(disk);
  const events = await eventsOf(session);
  const texts = events.flatMap((event) =>
    event.type === 'message' && !event.recovered ? [event.message.content] : [],
  );
  expect(events.map(({ seq }) => seq)).toEqual([...new Set(events.map(({ seq }) => seq))].sort((a, b) => a - b));
  return { texts, session };
}

describe('a disk whose power is cut', () => {
  it(`at any of its operations, ${RUNS} times, has every acknowledged message once and in order, and nothing from the middle is missing`, async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const random = randomFrom(seed);
      const disk = new RecordingDisk();
      const { begun, done } = await work(disk, random);
      for (let cut = 0; cut < 12; cut++) {
        const length = Math.floor(random() * (disk.operations.length + 1));
        const { texts, session } = await textsIn(new RecordingDisk(disk.afterPowerLoss(length, { choose: random })));
        const acknowledged = done.filter(({ at }) => at <= length).length;
        expect(texts, `seed ${seed}, ${length} operations`).toEqual(begun.slice(0, texts.length));
        expect(texts.length).toBeGreaterThanOrEqual(acknowledged);
        expect(session.recovery.missing).toEqual([]);
        expect(chat.check([...session.view(), user('next')])).toEqual([]);
      }
    }
  }, 120_000);

  it('and again while it recovers and goes on, brings nothing back that was cut off', async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const random = randomFrom(seed * 31);
      const first = new RecordingDisk();
      const { begun } = await work(first, random);
      for (let cut = 0; cut < 6; cut++) {
        const length = Math.floor(random() * (first.operations.length + 1));
        const second = new RecordingDisk(first.afterPowerLoss(length, { choose: random }));
        const { session, texts: known } = await textsIn(second);
        const added = [`<a>${'x'.repeat(Math.floor(random() * 900))}`, '<b>', '<c>'];
        const done: number[] = [];
        for (const text of added) {
          await session.add(user(text));
          done.push(second.operations.length);
        }
        const later = Math.floor(random() * (second.operations.length + 1));
        const third = new RecordingDisk(second.afterPowerLoss(later, { choose: random }));
        const { texts, session: last } = await textsIn(third);
        const acknowledged = done.filter((at) => at <= later).length;
        const old = texts.filter((text) => !added.includes(text));
        expect(old, `seed ${seed}, ${length}, ${later}`).toEqual(begun.slice(0, old.length));
        expect(old.length).toBeGreaterThanOrEqual(acknowledged > 0 ? known.length : 0);
        expect(texts.slice(old.length)).toEqual(added.slice(0, texts.length - old.length));
        expect(texts.length - old.length).toBeGreaterThanOrEqual(acknowledged);
        expect(last.recovery.missing).toEqual([]);
      }
    }
  }, 120_000);

  it('while a damaged batch is cut off the log has it in one place at least: where it was, or kept beside', async () => {
    const whole = new RecordingDisk();
    await (await open(whole)).add(user('message 0'));
    const event = '{"seq":4,"time":"2026-01-01T00:00:00.000Z","batch":3,"type":"error","message":"b"}';
    const torn = `\0\0\0"x"}\n${toLine(event)}`;
    const log = Buffer.concat([whole.files.get('/s/chat/events.jsonl') ?? Buffer.alloc(0), Buffer.from(torn)]);
    const disk = new RecordingDisk(new Map([['/s/chat/events.jsonl', log]]));
    await open(disk);
    for (let length = 0; length <= disk.operations.length; length++) {
      for (let seed = 1; seed <= 20; seed++) {
        const files = disk.afterPowerLoss(length, { choose: randomFrom(seed) });
        const kept = ['events.jsonl', 'events.torn.jsonl'].map((name) => String(files.get(`/s/chat/${name}`) ?? ''));
        expect(
          kept.some((text) => text.includes(torn)),
          `${length} operations, seed ${seed}`,
        ).toBe(true);
      }
    }
  });
});
