import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConversationMemory } from '../../../src/gateway/conversation/conversation-memory.ts';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { afterStored, withoutStore } from '../../../src/gateway/decide/decide.ts';
import type { Facts } from '../../../src/gateway/decide/decision.ts';
import { makePolicy, readSpec } from '../../../src/plan/policies/index.ts';
import {
  anthropicMessages,
  Desk,
  isMasked,
  type Json,
  marked,
  parsed,
  resultsIn,
  successor,
} from '../../support/gateway/requests.ts';

/** What may change from one request to the next, beside the conversation. */
const circumstances = fc.record({
  idleMinutes: fc.constantFrom(0, 0, 0, 0, 3, 8, 90),
  marker: fc.constantFrom('5m', '5m', '5m', '1h', 'none'),
  hasRecall: fc.boolean(),
  systemWords: fc.constantFrom(100, 100, 100, 110, 3000),
  maxTokens: fc.constantFrom(undefined, undefined, undefined, 9000, 14_000),
  policy: fc.constantFrom(undefined, undefined, undefined, 'sliding-window:turns=5', 'break-even:window=3', 'never'),
  store: fc.constantFrom('fine', 'fine', 'fine', 'fine', 'down'),
  isAnswered: fc.constantFrom(true, true, true, false),
  isRestarted: fc.constantFrom(false, false, false, false, true),
  /** A request in between that is none of the main line: an old one, a fork, or one to another model. */
  side: fc.constantFrom(undefined, undefined, 'late', 'fork', 'model'),
  turnsBack: fc.constantFrom(0, 1, 3, 8),
  sideMarker: fc.constantFrom('5m', '1h', 'none'),
});

function bodyOf(turns: number, { marker, hasRecall, systemWords }: Json): Json {
  const messages = anthropicMessages(turns, { lines: 30 });
  const control = marker === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' };
  return {
    model: 'claude-sonnet-5',
    system: 'word '.repeat(systemWords as number),
    tools: [{ name: hasRecall ? 'recall' : 'read' }],
    messages: marker === 'none' ? messages : marked(messages, control),
  };
}

/** As `serve --policy` makes it. */
function policyFor(spec: string | undefined): Facts['policy'] {
  if (spec === undefined) return undefined;
  const { name, options } = readSpec(spec);
  return (prices) => makePolicy({ name, options: name === 'break-even' ? { ...options, prices } : options });
}

const GO_ON = [
  { role: 'assistant', content: 'Hm.' },
  { role: 'user', content: 'Go on.' },
];

/** With tools, system prompt and markers of its own. */
function sideOf(turns: number, { side, turnsBack, sideMarker, hasRecall }: Json): Json {
  const beside = { marker: sideMarker, hasRecall: !hasRecall, systemWords: 500 };
  const body = bodyOf(Math.max(1, turns - (turnsBack as number)), beside);
  if (side === 'model') return { ...body, model: 'claude-haiku-4-5' };
  return side === 'fork' ? { ...body, messages: [...(body.messages as Json[]), ...GO_ON] } : body;
}

describe('a mask that was sent', () => {
  it('stays as it is, whatever else is asked and changes beside it, and is the same elsewhere', () => {
    let masks = 0;
    fc.assert(
      fc.property(fc.array(circumstances, { minLength: 12, maxLength: 36, size: 'max' }), (course) => {
        let desk = new Desk();
        const recorded: GatewayEvent[] = [];
        const sent = new Map<number, unknown>();
        for (const [i, now] of course.entries()) {
          if (now.isRestarted) {
            const { now: clock } = desk;
            desk = new Desk({}, new ConversationMemory());
            desk.now = clock;
          }
          desk.now += now.idleMinutes * 60_000;
          Object.assign(desk.facts, { maxTokens: now.maxTokens, policy: policyFor(now.policy) });
          const isDown = now.store === 'down' && !now.isRestarted;
          const body = bodyOf(i + 1, now);
          const opened = desk.look(body);
          const asked = now.isRestarted ? relearn(desk, opened.conversation, recorded, body) : opened;
          const decided =
            isDown && asked.fresh.length + asked.events.length > 0 ? withoutStore(asked, 'store-slow') : asked;
          if (decided === asked) {
            recorded.push(...asked.events);
            afterStored(asked);
          }
          const contents = resultsIn(decided.body ? parsed(decided.body) : body);
          for (const [index, text] of sent) expect(contents[index]).toEqual(text);
          if (decided === asked && asked.explanation.masked > 0)
            expect(resultsIn(parsed(successor(asked, recorded.toReversed(), desk.facts).look(body).out))).toEqual(
              contents,
            );
          if (!now.isAnswered) continue;
          desk.answer(decided);
          if (now.side) recorded.push(...desk.ask(sideOf(i + 1, now)).events);
          for (const [index, content] of contents.entries()) if (isMasked(content)) sent.set(index, content);
          masks += decided.explanation.newMasks;
        }
      }),
      { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 40) },
    );
    expect(masks).toBeGreaterThan(200);
  });
});

/** A process that has just started learns what was recorded before it decides. */
function relearn(desk: Desk, conversation: string, recorded: readonly GatewayEvent[], body: Json) {
  const fresh = new Desk(desk.facts, new ConversationMemory());
  fresh.memory.learnEvents(conversation, recorded);
  Object.assign(desk, { memory: fresh.memory });
  return desk.look(body);
}
