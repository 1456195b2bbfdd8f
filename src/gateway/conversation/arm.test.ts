import { describe, expect, it } from 'vitest';
import { type Assignment, armOf, chooseArm, drawArm, TREATED } from './arm.ts';
import { Conversation } from './conversation.ts';
import type { Found, GatewayEvent } from './events.ts';

const HELD: Assignment = { arm: 'held-out', share: 0.1 };
const DRAWN: Assignment = { arm: 'treated', share: 0.1 };
const SETTINGS = { kind: 'settings', prefix: 'p', order: 1, model: 'm' } as unknown as GatewayEvent;

const found = (...events: readonly GatewayEvent[]): Found[] =>
  events.map((event) => ({ event, messages: 1, pieces: 1 }));
const armEvent = (assignment: Assignment): GatewayEvent => ({ kind: 'arm', prefix: 'p', order: 1, ...assignment });

describe('chooseArm', () => {
  it('takes treated of several records, first the one in no comparison, in whatever order they come', () => {
    const all = [HELD, DRAWN, TREATED];
    for (const records of [all, all.toReversed(), [DRAWN, HELD, TREATED]]) expect(chooseArm(records)).toBe(TREATED);
    expect([chooseArm([HELD, DRAWN]), chooseArm([DRAWN, HELD])]).toEqual([DRAWN, DRAWN]);
    expect([chooseArm([HELD]), chooseArm([])]).toEqual([HELD, undefined]);
  });
});

describe('drawArm', () => {
  it('holds out none at 0, all at 1, and at a larger share every session of a smaller one', () => {
    const sessions = Array.from({ length: 500 }, (_, i) => `session ${i}`);
    const heldOut = (share: number): string[] => sessions.filter((s) => drawArm('key', s, share).arm === 'held-out');
    expect([heldOut(0).length, heldOut(1).length]).toEqual([0, 500]);
    expect(heldOut(0.5)).toEqual(expect.arrayContaining(heldOut(0.1)));
  });
});

describe('armOf', () => {
  const options = { starting: HELD, started: TREATED };
  const of = (events: readonly Found[], arms: object = {}, isLate = false): Assignment =>
    armOf(events, new Conversation(), { arms: { ...options, ...arms }, session: 'own', isUnderWay: () => isLate });

  it('follows the options only where nothing is recorded', () => {
    expect([of([]), of([], {}, true)]).toEqual([HELD, TREATED]);
    expect(of([], { recorded: DRAWN })).toEqual(DRAWN);
    expect(armOf([], new Conversation(), { arms: undefined, session: 'own', isUnderWay: () => false })).toEqual(
      TREATED,
    );
  });

  it('takes the record on the prefix before that of the session, and then compares nothing', () => {
    expect(of(found(armEvent(HELD)))).toEqual(HELD);
    expect(of(found(armEvent(HELD)), { recorded: HELD })).toEqual(HELD);
    expect(of(found(armEvent(HELD)), { recorded: DRAWN })).toEqual({ arm: 'held-out' });
  });

  it('names the session that began, and not the own one', () => {
    const [first, own] = [
      { ...HELD, root: 'first' },
      { ...HELD, root: 'own' },
    ];
    expect(of(found(armEvent(first)))).toEqual(first);
    expect(of(found(armEvent(own)))).toEqual(HELD);
    expect(of([], { recorded: first })).toEqual(first);
    expect(of(found(armEvent(own)), { recorded: first })).toEqual(first);
  });

  it('keeps a conversation treated that has masks, but for masks that were never sent', () => {
    expect(of(found(SETTINGS))).toEqual(TREATED);
    expect(of(found(SETTINGS), { recorded: HELD })).toEqual(TREATED);
    expect(of(found(SETTINGS), { recorded: DRAWN })).toEqual(DRAWN);
    const unsent = new Conversation();
    unsent.decide([SETTINGS]);
    const given = { arms: { ...options, recorded: HELD }, session: 'own', isUnderWay: () => true };
    expect(armOf(found(SETTINGS), unsent, given)).toEqual(HELD);
  });
});
