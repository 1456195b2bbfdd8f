import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/gateway/bytes/json-scan.ts';
import { apis, wires } from '../../../src/gateway/wire/index.ts';
import type { Wire } from '../../../src/gateway/wire/wire.ts';
import { isPlaceholder, type Policy, slidingWindow } from '../../../src/index.ts';
import { bytesOf, type OddBody, writeOddly } from '../../support/gateway/odd-writer.ts';
import { Desk, type Json } from '../../support/gateway/requests.ts';
import { longStory, write } from '../../support/histories.ts';

const policy = (): Policy => slidingWindow({ turns: 2, minTokens: 0 });

/** Takes an edited body apart: every byte between results must stand there as it came. Answers the original again. */
function undo(edited: Buffer, { gaps, contents }: OddBody, stored: ReadonlyMap<string, string>) {
  const pieces: Buffer[] = [];
  let at = 0;
  let masked = 0;
  for (const [i, gap] of gaps.entries()) {
    expect(edited.subarray(at, at + gap.length).equals(gap)).toBe(true);
    at += gap.length;
    const content = contents[i];
    pieces.push(gap, content ?? Buffer.alloc(0));
    if (!content) continue;
    if (edited.subarray(at, at + content.length).equals(content)) at += content.length;
    else {
      const end = new JsonScan().scan(edited, at);
      const placeholder = textOf(JSON.parse(edited.subarray(at, end).toString()));
      expect(isPlaceholder(placeholder)).toBe(true);
      // What its handle recalls is the text itself, or what was written, to the byte.
      const recalled = stored.get(/p_[a-z2-7]{26}/.exec(placeholder)?.[0] ?? '');
      expect([content.toString(), textOf(JSON.parse(content.toString()))]).toContain(recalled);
      at = end;
      masked += 1;
    }
  }
  expect(at).toBe(edited.length);
  return { original: Buffer.concat(pieces), masked };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const one = (Array.isArray(content) ? content[0] : content) as Json;
  return String(one.text ?? one.output ?? one.error ?? one.stdout);
}

describe.each(apis)('an edited %s request', (api) => {
  const { format, messages: list, envelope }: Wire = wires[api];

  it('is the original but for masked contents, whatever the JSON', () => {
    let masked = 0;
    fc.assert(
      fc.property(longStory, fc.integer(), (story, seed) => {
        const { head, turns } = write(story, format.name);
        const desk = new Desk({ policy });
        for (const length of [Math.ceil(turns.length / 2), turns.length]) {
          const messages = withoutFiles([...head, ...turns.slice(0, length).flat()]);
          const inner = { [list]: messages };
          const request = envelope === undefined ? inner : { [envelope]: inner };
          const body = writeOddly({ model: 'claude-sonnet-5', ...request, stream: true }, format.name, seed);
          const bytes = bytesOf(body);
          const asked = desk.ask(bytes, { api });
          expect(asked.explanation.reason).toBeUndefined();
          const undone = undo(asked.out, body, new Map(asked.hidden.map(({ handle, text }) => [handle, text])));
          expect(undone.original.equals(bytes)).toBe(true);
          expect(undone.masked).toBe(asked.explanation.masked);
          masked += undone.masked;
        }
      }),
      { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 60) },
    );
    expect(masked).toBeGreaterThan(100);
  });
});

/** The files in and behind a response of Gemini's are looked at by a test of their own. */
function withoutFiles(messages: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(messages), (key, value) => {
    if (key === 'functionResponse') delete value.parts;
    return key === 'parts' ? value.filter((part: Json) => part.inlineData === undefined) : value;
  });
}
