import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { afterStored, withoutStore } from '../../../src/gateway/decide/decide.ts';
import type { Decision, Facts } from '../../../src/gateway/decide/decision.ts';
import { makePolicy, readSpec } from '../../../src/plan/policies/index.ts';
import { bodyOf, isShaped, type Turn, textOf } from '../../support/gateway/arrival-requests.ts';
import { Desk, isMasked, type Json, parsed, resultsIn, successor } from '../../support/gateway/requests.ts';

const turn = fc.record({
  shows: fc.constantFrom<Turn['shows']>('file', 'file', 'shell', 'twice', 'unlike'),
  from: fc.constantFrom(1, 5, 20, 30, 200),
});

const POLICIES = [
  ...[undefined, undefined, undefined],
  'break-even:references=false',
  'break-even:clean=false,references=false',
  'break-even:shell-output=200,window=3',
  'break-even:max-result-tokens=300',
  'sliding-window:turns=5',
  'sliding-window:turns=4,clean=true,references=true',
  'never:clean=true,references=true',
];

/** What may change from one request to the next, beside the conversation. */
const circumstances = fc.record({
  turn,
  idleMinutes: fc.constantFrom(0, 0, 0, 0, 8, 90),
  systemWords: fc.constantFrom(100, 100, 100, 3000),
  maxTokens: fc.constantFrom(undefined, undefined, undefined, 6000),
  policy: fc.constantFrom(...POLICIES),
  keepsPolicy: fc.constantFrom(true, true, true, true, false),
  store: fc.constantFrom('fine', 'fine', 'fine', 'fine', 'store-slow', 'store-full'),
  isAnswered: fc.constantFrom(true, true, true, false),
  isRestarted: fc.constantFrom(false, false, false, true),
  /** The provider manages the context of this request itself: nothing new is masked. */
  isManaged: fc.constantFrom(false, false, false, false, true),
  isCounted: fc.boolean(),
  side: fc.constantFrom(undefined, undefined, 'late', 'fork', 'model'),
});

type Circumstances = typeof circumstances extends fc.Arbitrary<infer T> ? T : never;

/** As `serve --policy` makes it. */
function policyFor(spec: string | undefined): Facts['policy'] {
  if (spec === undefined) return undefined;
  const { name, options } = readSpec(spec);
  return (prices) => makePolicy({ name, options: name === 'break-even' ? { ...options, prices } : options });
}

const MANAGED = { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } };

function sideOf(turns: readonly Turn[], side: string): Json {
  const body = bodyOf(turns.slice(0, Math.max(1, turns.length - (side === 'late' ? 2 : 0))));
  if (side === 'model') return { ...body, model: 'claude-haiku-4-5' };
  const more = [
    { role: 'assistant', content: 'Hm.' },
    { role: 'user', content: 'Go on.' },
  ];
  return side === 'fork' ? { ...body, messages: [...(body.messages as Json[]), ...more] } : body;
}

const USUAL: Circumstances = {
  ...{ turn: { shows: 'file', from: 1 }, idleMinutes: 0, systemWords: 100, maxTokens: undefined, policy: undefined },
  ...{ keepsPolicy: true, store: 'fine', isAnswered: true, isRestarted: false, isManaged: false, isCounted: false },
  side: undefined,
};

/** A mask of a cut result is held back, the answer is not seen, then the policy changes while the store is slow. */
const HELD_BACK: Circumstances[] = [
  { ...USUAL, policy: 'break-even:max-result-tokens=300', keepsPolicy: false },
  { ...USUAL, turn: { shows: 'unlike', from: 1 } },
  ...[USUAL, USUAL],
  { ...USUAL, policy: 'sliding-window:turns=4,clean=true,references=true', keepsPolicy: false },
  { ...USUAL, isManaged: true, isAnswered: false },
  { ...USUAL, keepsPolicy: false, store: 'store-slow' },
  ...[USUAL, USUAL],
];

/** The second policy looks at kinds of tools, the first does not: a newer read covers an older one for the second only. */
const COVERED: Circumstances[] = [
  { ...USUAL, turn: { shows: 'twice', from: 1 }, store: 'store-full' },
  { ...USUAL, turn: { shows: 'twice', from: 30 }, store: 'store-slow' },
  { ...USUAL, policy: 'sliding-window:turns=4,clean=true,references=true', keepsPolicy: false },
  USUAL,
  { ...USUAL, keepsPolicy: false },
  ...[USUAL, USUAL],
];

/** A late request is forced to mask, which longer requests were sent without. Then a fork takes the plan of the longest one. */
const LATE: Circumstances[] = [
  ...Array.from(
    { length: 13 },
    (_, i): Circumstances => ({ ...USUAL, turn: { shows: 'unlike', from: i % 2 ? 1 : 5 } }),
  ),
  { ...USUAL, maxTokens: 6000, store: 'store-slow', side: 'late' },
  { ...USUAL, side: 'fork' },
  ...[USUAL, USUAL],
];

const EXAMPLES: [Circumstances[], number][] = [HELD_BACK, COVERED, LATE].map((requests) => [requests, 0]);

describe('a result that was sent', () => {
  it('keeps its bytes until it is masked, shaped or whole, and a restart sends the same', () => {
    const seen = { shaped: 0, whole: 0, masks: 0 };
    const course = fc.array(circumstances, { minLength: 10, maxLength: 24, size: 'max' });
    fc.assert(
      fc.property(course, fc.constantFrom(0, 0, 0, 4), (requests, skipped) => {
        let desk = new Desk();
        let policy: string | undefined;
        const recorded: GatewayEvent[] = [];
        const sent = new Map<number, string>();
        for (const [i, now] of requests.entries()) {
          if (i < skipped) continue;
          if (!now.keepsPolicy) policy = now.policy;
          const facts = { maxTokens: now.maxTokens, policy: policyFor(policy) };
          const turns = requests.slice(0, i + 1).map((one) => one.turn);
          const more = { system: 'word '.repeat(now.systemWords), ...(now.isManaged ? MANAGED : {}) };
          const body = bodyOf(turns, more);
          const restarted = now.isRestarted ? restart(desk, body, recorded) : desk;
          desk = restarted;
          desk.now += now.idleMinutes * 60_000;
          Object.assign(desk.facts, facts);
          const counted = now.isCounted && !now.isManaged ? desk.look(body, { isCountTokens: true }) : undefined;
          if (counted) desk.now -= 60_000;
          const asked = desk.look(body);
          if (counted) expect(resultsIn(parsed(counted.out))).toEqual(resultsIn(parsed(asked.out)));
          // A process that has just started does not know what is stored: while the store is down, it masks and shapes nothing.
          const isDown = now.store !== 'fine' && !now.isRestarted;
          const isKept = !isDown || asked.fresh.length + asked.events.length === 0;
          const decided = isKept ? asked : heldBack(asked, now.store as 'store-slow' | 'store-full');
          recorded.push(...decided.events, ...decided.laterEvents);
          if (isKept) afterStored(asked);
          const contents = resultsIn(decided.body ? parsed(decided.body) : body).map(textOf);
          for (const [index, text] of sent)
            if (isMasked(text) || !isMasked(contents[index])) expect(contents[index]).toBe(text);
          if (isKept) {
            const other = successor(asked, recorded.toReversed(), desk.facts).look(body);
            const others = resultsIn(parsed(other.out)).map(textOf);
            // Masks of a request without an answer are not repeated where none may be added.
            const isMaskOnly = (text: string, at: number): boolean =>
              now.isManaged && isMasked(text) !== isMasked(contents[at]);
            expect(others.map((text, at) => (isMaskOnly(text, at) ? contents[at] : text))).toEqual(contents);
          }
          for (const [index, text] of contents.entries()) if (now.isAnswered || !isMasked(text)) sent.set(index, text);
          seen.shaped += contents.filter(isShaped).length;
          seen.masks += decided.explanation.newMasks;
          seen.whole += decided.laterEvents.length;
          if (!now.isAnswered) continue;
          desk.answer(decided);
          if (now.side) recorded.push(...desk.ask(sideOf(turns, now.side)).events);
        }
      }),
      { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 30), examples: EXAMPLES },
    );
    expect(seen.shaped).toBeGreaterThan(300);
    expect(seen.masks).toBeGreaterThan(50);
    expect(seen.whole).toBeGreaterThan(10);
  });
});

/** As the gateway does it: a full store is offered the texts of masks that were sent, and here it takes none. */
function heldBack(asked: Decision, trouble: 'store-slow' | 'store-full'): Decision {
  const held = withoutStore(asked, trouble);
  return trouble === 'store-full' && held.fresh.length > 0 ? withoutStore(held, 'store-failed') : held;
}

/** A process that has just started learns what was recorded before it decides. */
function restart(desk: Desk, body: Json, recorded: readonly GatewayEvent[]): Desk {
  const { conversation } = new Desk().look(body);
  const next = successor({ conversation }, recorded, desk.facts);
  next.now = desk.now;
  return next;
}
