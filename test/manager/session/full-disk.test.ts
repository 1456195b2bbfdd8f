import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession } from '../../../src/manager/index.ts';
import type { Session, SessionOptions } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { nodeDisk } from '../../../src/store/embedded/disk.ts';
import { type SessionTestFunctions, sessionConformance } from '../../../src/testing/index.ts';
import { diskSessions } from '../../support/manager/session-places.ts';
import { temporaryFolders } from '../../support/manager/sessions.ts';
import { failNowAndThen, untilTaken } from '../../support/store/failing-disk.ts';
import { randomFrom } from '../../support/store/recording-disk.ts';

// The whole suite on a log that finds no room for one write in three, and takes a part of it. A caller adds again what was refused, which
// keeps no order of calls at once: those are not refused. faults.test.ts has snapshots and compactions that do not fit; a summary that does
// not fit is made again, and a mask that does not fit holds and is written with the next event.
describe('while the disk is full now and then', () => {
  const real = { ...nodeDisk };
  const failing = failNowAndThen(real, {
    random: randomFrom(5),
    full: 0.35,
    isMeant: (path) => path.endsWith('events.jsonl'),
  });
  let opened = 0;
  let running = 0;
  let isFailing = false;

  const setFailing = (isMeant: boolean): void => {
    if (isMeant && !isFailing) failing.resume();
    if (!isMeant && isFailing) failing.pause();
    isFailing = isMeant;
  };
  const during = async <T>(work: () => Promise<T>, mayFail = true): Promise<T> => {
    running += 1;
    setFailing(mayFail && running === 1);
    try {
      return await untilTaken(work, { waitMs: 0 });
    } finally {
      running -= 1;
      if (running === 0) setFailing(false);
    }
  };

  beforeAll(() => {
    failing.pause();
    Object.assign(nodeDisk, failing.disk);
  });
  afterAll(() => {
    Object.assign(nodeDisk, real);
    expect(failing.refused()).toBeGreaterThan(opened);
  });

  const open = async (options: SessionOptions<ChatMessage>): Promise<Session<ChatMessage>> => {
    opened += 1;
    const session = await during(() => openSession<ChatMessage>(options));
    return new Proxy(session, {
      get(_, name) {
        const found: unknown = Reflect.get(session, name);
        if (typeof found !== 'function') return found;
        const call = (given: unknown[]) => Promise.resolve(found.apply(session, given));
        if (!WRITING.has(name as string)) return found.bind(session);
        return (...given: unknown[]) => during(() => call(given), name !== 'close');
      },
    });
  };

  /** A test that looks at a session in the middle of a write has none that is refused. */
  const itFailing: SessionTestFunctions['it'] = (fact, body, timeoutMs) =>
    it(fact, fact.includes('cannot wait until') ? () => paused(body) : body, timeoutMs);
  const paused = (body: () => Promise<void>): Promise<void> => {
    failing.pause();
    return body().finally(failing.resume);
  };

  sessionConformance(
    { describe, it: itFailing, expect },
    { ...diskSessions(temporaryFolders()), name: 'on a disk that is full now and then', open, runs: 1 },
  );
});

const WRITING = new Set([
  'add',
  'answer',
  'log',
  'restart',
  'reset',
  'windDown',
  'acknowledgeDamage',
  'compact',
  'close',
]);
