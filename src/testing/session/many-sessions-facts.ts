import { deleteSession } from '../../manager/session/delete-session.ts';
import { findPlace, type SessionPlaceOptions } from '../../manager/session/find-place.ts';
import { listSessions, type SessionInfo } from '../../manager/session/list-sessions.ts';
import { readSessionEvents } from '../../manager/session/read-session-events.ts';
import { endSession, sweepSessions } from '../../manager/session/sweep-sessions.ts';
import { never } from '../../plan/policies/never.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { call, eventsOf, type SessionSuite, turns, user } from './session-suite.ts';

const DAY = 86_400_000;

/** Lists, sweeps and deletions of the sessions of a place. */
export function manySessionsFacts({ describe, test, expect, open, options }: SessionSuite): void {
  const placeWith = async (...ids: string[]): Promise<SessionPlaceOptions> => {
    const place = await options.newPlace();
    for (const [i, id] of ids.entries()) {
      const session = await open({ ...place, id, now: () => i * DAY });
      await session.add(user(`in ${id}`));
      await session.close();
    }
    return place;
  };

  describe('listSessions', () => {
    test('answers every session by its id', async () => {
      const place = await placeWith('b', 'a');
      expect(await listSessions(place)).toEqual([
        { id: 'a', format: 'chat', status: 'active', number: 1, events: 2, lastActive: '1970-01-02T00:00:00.000Z' },
        { id: 'b', format: 'chat', status: 'active', number: 1, events: 2, lastActive: '1970-01-01T00:00:00.000Z' },
      ]);
    });

    test('answers nothing for a place without sessions', async () => {
      expect(await listSessions(await options.newPlace())).toEqual([]);
    });

    test('knows what came after the snapshot, also of a session that is open, and without a snapshot', async () => {
      const place = await placeWith('a');
      const session = await open({ ...place, id: 'a' });
      await session.restart();
      await session.log({ from: 'active', to: 'paused', type: 'status_change' });
      expect(await listSessions(place)).toMatchObject([{ id: 'a', status: 'paused', number: 2, events: 4 }]);
      await session.compact();
      await options.removeSnapshot(place, 'a');
      expect(await listSessions(place)).toMatchObject([{ id: 'a', status: 'paused', number: 2, events: 5 }]);
      await session.add(user('goes on'));
      expect(await listSessions(place)).toMatchObject([{ id: 'a', status: 'active', number: 2, events: 6 }]);
      await session.reset();
      expect(await listSessions(place)).toMatchObject([{ id: 'a', status: 'active', number: 1, events: 7 }]);
    });
  });

  describe('readSessionEvents', () => {
    test('reads the log of a session that is open elsewhere, archive included', async () => {
      const place = await options.newPlace();
      const session = await open({ ...place, id: 'a' });
      await session.add(user('one'), user('two'));
      await session.reset();
      await session.compact();
      await session.add(user('three'));
      const seen: unknown[] = [];
      for await (const event of readSessionEvents({ ...place, id: 'a' }, { types: ['message'], afterSeq: 2 }))
        seen.push(event);
      expect(seen).toMatchObject([{ message: user('two') }, { message: user('three') }]);
      await session.close();
    });
  });

  describe('deleteSession', () => {
    test('removes a session, and answers whether there was one', async () => {
      const place = await placeWith('a', 'b');
      expect(await deleteSession({ ...place, id: 'a' })).toBe(true);
      expect(await deleteSession({ ...place, id: 'a' })).toBe(false);
      expect((await listSessions(place)).map(({ id }) => id)).toEqual(['b']);
      const again = await open({ ...place, id: 'a' });
      expect([again.messages(), again.recovery.from]).toEqual([[], 'nothing']);
    });

    test('removes none that is open, and knows no id that is none', async () => {
      const place = await placeWith('a');
      const session = await open({ ...place, id: 'a' });
      await expect(deleteSession({ ...place, id: 'a' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await session.close();
      for (const id of ['..', undefined as never])
        await expect(deleteSession({ ...place, id })).rejects.toMatchObject({
          code: 'BAD_OPTION',
          message: expect.stringMatching(
            /^Expected deleteSession option id to be a session id .* but found ('\.\.'|undefined)$/,
          ),
        });
      expect(await listSessions(place)).toHaveLength(1);
    });

    test('leaves nothing to a writer that lost it, also when it was begun again', async () => {
      const place = await placeWith('a');
      const session = await open({ ...place, id: 'a' });
      await options.abandon(place, 'a');
      expect(await deleteSession({ ...place, id: 'a' })).toBe(true);
      const again = await open({ ...place, id: 'a' });
      await again.add(user('again'));
      await expect(session.add(user('too late'))).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await again.close();
      await options.removeSnapshot(place, 'a');
      expect((await open({ ...place, id: 'a' })).messages()).toEqual([user('again')]);
    });
  });

  describe('sweepSessions', () => {
    const now = (): number => 8 * DAY;

    test('ends what is older than 168 hours, and leaves it there', async () => {
      const place = await placeWith('old', 'young');
      expect(await sweepSessions({ ...place, now })).toEqual({ expired: ['old'], removed: [], open: [], failed: [] });
      expect(await listSessions(place)).toMatchObject([
        { id: 'old', status: 'completed' },
        { id: 'young', status: 'active' },
      ]);
      expect((await sweepSessions({ ...place, now })).expired).toEqual([]);
    });

    test('that were ended go on when a message is added', async () => {
      const place = await placeWith('old');
      await sweepSessions({ ...place, now });
      const session = await open({ ...place, id: 'old' });
      expect(session.status).toBe('completed');
      await session.add(user('again'));
      expect(session.status).toBe('active');
      expect(session.messages()).toEqual([user('in old'), user('again')]);
      await session.close();
    });

    test('removes them where it is asked to', async () => {
      const place = await placeWith('old', 'young');
      expect(await sweepSessions({ ...place, now, remove: true })).toEqual({
        expired: [],
        removed: ['old'],
        open: [],
        failed: [],
      });
      expect((await listSessions(place)).map(({ id }) => id)).toEqual(['young']);
    });

    test('keeps a session that continues while others are swept', async () => {
      const options = await placeWith('old');
      const place = await findPlace('sweepSessions', options);
      const [listed] = await place.list();
      const session = await open({ ...options, id: 'old' });
      await session.add(user('again'));
      await session.close();
      expect(await place.delete('old', listed)).toBe(false);
      expect(await endSession(place, listed as SessionInfo, now)).toBe(false);
      expect(await place.list()).toMatchObject([{ status: 'active', events: 3 }]);
      const [again] = await place.list();
      expect(await place.delete('old', again)).toBe(true);
      expect(await place.list()).toEqual([]);
      await place.close();
    });

    test('leaves a session alone that is open, and all of them for 0 hours', async () => {
      const place = await placeWith('old');
      expect(await sweepSessions({ ...place, now, ttlHours: 0 })).toEqual({
        expired: [],
        removed: [],
        open: [],
        failed: [],
      });
      const session = await open({ ...place, id: 'old' });
      expect(await sweepSessions({ ...place, now })).toEqual({ expired: [], removed: [], open: ['old'], failed: [] });
      await session.close();
    });

    test('leaves open calls as they are: a caller may come back for them', async () => {
      const place = await options.newPlace();
      const session = await open({ ...place, id: 'a', now: () => 0 });
      await session.add(user('the task'), call('c1'));
      await session.close();
      await sweepSessions({ ...place, now });
      const again = await open({ ...place, id: 'a', openCalls: 'keep' });
      expect(again.messages()).toHaveLength(2);
      expect((await eventsOf(again)).at(-1)).toMatchObject({ type: 'session_end', reason: 'expired', total_turns: 1 });
      await again.close();
    });

    test('leaves what is shown as it was, whatever the policy, the store and the limits it was opened with', async () => {
      const place = await options.newPlace();
      const settings = {
        ...place,
        id: 'a',
        policy: never(),
        store: createMemoryStore(),
        maxToolResultTokens: 100_000,
        maxInputTokens: 1_000_000,
        now: () => 0,
      };
      const session = await open(settings);
      await session.add(user('the task'), ...turns(60, { lines: 2000 }));
      const view = session.view();
      await session.close();
      expect((await sweepSessions({ ...place, now })).expired).toEqual(['a']);
      const again = await open(settings);
      expect(again.status).toBe('completed');
      expect(JSON.stringify(again.view()) === JSON.stringify(view)).toBe(true);
      await again.close();
    });

    test('ends a session whose clock once was years ahead, by when its log was last written', async () => {
      const place = await options.newPlace();
      const today = Date.UTC(2026, 0, 9);
      for (const [id, days] of [
        ['old', 8],
        ['young', 6],
      ] as const) {
        let at = Date.UTC(2090, 0, 1);
        const session = await open({ ...place, id, now: () => at });
        at = Date.UTC(2026, 0, 1);
        await session.add(user(`in ${id}`));
        await session.close();
        await options.setWritten(place, id, new Date(today - days * DAY));
      }
      expect((await sweepSessions({ ...place, now: () => today })).expired).toEqual(['old']);
      expect((await sweepSessions({ ...place, now: () => today + 2 * DAY })).expired).toEqual(['young']);
    });

    test('ends one whose log and place both are from the future, as long after the first sweep that saw it', async () => {
      const place = await options.newPlace();
      const later = Date.UTC(2090, 0, 1);
      await (await open({ ...place, id: 'a', now: () => later })).close();
      await options.setWritten(place, 'a', new Date(later));
      const today = Date.UTC(2026, 0, 9);
      expect((await sweepSessions({ ...place, now: () => today })).expired).toEqual([]);
      expect((await sweepSessions({ ...place, now: () => today + 6 * DAY })).expired).toEqual([]);
      expect((await sweepSessions({ ...place, now: () => today + 8 * DAY })).expired).toEqual(['a']);
    });

    test('refuses hours that are none', async () => {
      await expect(sweepSessions({ ...(await options.newPlace()), ttlHours: -1 })).rejects.toMatchObject({
        code: 'BAD_OPTION',
      });
    });
  });
}
