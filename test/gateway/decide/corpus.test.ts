import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/gateway/conversation/events.ts';
import { type Api, wires } from '../../../src/gateway/wire/index.ts';
import { breakEven, type FormatName, fit, handleOf, type Prices, priceLists } from '../../../src/index.ts';
import { corpusHistories, type History, hasCorpus } from '../../support/corpus.ts';
import { Desk, type Json, parsed, successor } from '../../support/gateway/requests.ts';

/** Of a provider that finds a cached prefix wherever it ends: where that is only at markers, a gateway reckons otherwise. */
const prices: Prices = {
  ...priceLists['anthropic-5m'],
  leastTokens: 0,
  lookup: { kind: 'prefix', stepTokens: 1 },
};
const apis: readonly string[] = Object.keys(wires);

/** The requests that a history implies: all before each reply, and the whole. */
function requestsOf({ messages }: History): (readonly unknown[])[] {
  const isReply = (message: unknown): boolean => {
    const { role, type } = message as { role?: string; type?: string };
    return role === 'assistant' || role === 'model' || type === 'function_call' || type === 'reasoning';
  };
  const starts = messages.flatMap((message, i) => (i > 0 && isReply(message) && !isReply(messages[i - 1]) ? [i] : []));
  return [...starts, messages.length].map((length) => messages.slice(0, length));
}

const histories = corpusHistories().filter(
  ({ format, messages }) => apis.includes(format) && messages.length >= 20 && messages.length < 700,
);
/** Every format, the longest first: all of them would take minutes. */
const chosen = apis.flatMap((api) =>
  histories
    .filter(({ format }) => format === api)
    .sort((a, b) => b.messages.length - a.messages.length)
    .slice(0, 4),
);

describe.skipIf(!hasCorpus)('over the histories of the corpus', () => {
  let masks = 0;
  let shaped = 0;

  it.each(chosen.map((history) => [history.name, history] as const))('%s', (_name, history) => {
    const api = history.format as Api & FormatName;
    const field = wires[api].messages;
    const desk = new Desk({ prices });
    const recorded: GatewayEvent[] = [];
    let before: Json[] = [];
    for (const [i, messages] of requestsOf(history).entries()) {
      const body = { model: 'claude-sonnet-5', [field]: messages };
      const asked = desk.ask(body, { api });
      const sent = parsed(asked.out)[field] as Json[];
      // The masks are those of `fit`.
      const options = { format: api, policy: breakEven({ prices }), recall: true, handleOf } as const;
      const parsedMessages = JSON.parse(JSON.stringify(messages)) as Json[];
      expect(sent).toEqual(fit(parsedMessages, { ...options }).messages);
      // Between epochs the new request begins with the whole of the old one.
      if (asked.explanation.newMasks === 0) expect(sent.slice(0, before.length)).toEqual(before);
      before = sent;
      masks += asked.explanation.newMasks;
      shaped += asked.explanation.shaped;
      recorded.push(...asked.events);
      if (i % 8 > 0 && messages.length < history.messages.length) continue;
      // Another process that knows only what was recorded sends the same bytes.
      const other = successor(asked, recorded, { prices }).ask(body, { api });
      expect(Buffer.compare(other.out, asked.out)).toBe(0);
    }
    expect(before.length).toBe(history.messages.length);
  });

  it('masks were made, and results were made smaller when they first went out', () => {
    expect(masks).toBeGreaterThan(100);
    expect(shaped).toBeGreaterThan(100);
  });
});
