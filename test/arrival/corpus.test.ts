import { beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../../src/formats/chat.ts';
import { breakEven, type ChatMessage, createPlanner, fit } from '../../src/index.ts';
import { readRuns } from '../../src/lab/readers/read-runs.ts';
import { cleanResult } from '../../src/plan/arrival/clean.ts';
import { shortenShellOutput } from '../../src/plan/arrival/shell-output.ts';
import { type Shown, shownBy } from '../../src/plan/arrival/shown-by.ts';
import { estimateTokens } from '../../src/tokens/estimate-tokens.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';

interface Result {
  readonly text: string;
  readonly shows: Shown;
}

describe.skipIf(!hasCorpus)('results of real runs (skipped where ../shared/corpus is absent)', () => {
  const results: Result[] = [];
  beforeAll(async () => {
    for await (const { messages } of readRuns([CORPUS])) results.push(...resultsIn(messages));
  });

  it('become smaller when they are cleaned, and never change again', () => {
    let [before, after] = [0, 0];
    for (const { text, shows } of results) {
      const cleaned = cleanResult(text, shows);
      expect(cleanResult(cleaned, shows)).toBe(cleaned);
      before += text.length;
      after += cleaned.length;
    }
    expect(after).toBeLessThan(before * 0.98);
  });

  it('keep every character of a file but escape codes and blanks before line numbers', () => {
    const files = results.filter(({ text, shows }) => shows === 'file' && !text.includes('\u001b'));
    expect(files.length).toBeGreaterThan(1000);
    const unpadded = (text: string): string => text.replace(/^[ \t]+(?=\d+[→\t])/gm, '');
    for (const { text } of files) expect(unpadded(cleanResult(text, 'file'))).toBe(unpadded(text));
  });

  it('are shortened once, where they are long output of a shell', () => {
    const options = { maxTokens: 2000, counter: estimateTokens, handle: ' · recall p_x' };
    const shortened = results
      .filter(({ shows }) => shows === 'shell')
      .flatMap(({ text }) => shortenShellOutput(cleanResult(text, 'shell'), options) ?? []);
    expect(shortened.length).toBeGreaterThan(10);
    for (const text of shortened) {
      expect(shortenShellOutput(text, options)).toBeUndefined();
      expect(cleanResult(text, 'shell')).toBe(text);
    }
  });
});

describe.skipIf(!hasCorpus)('fitted histories of real runs (skipped where ../shared/corpus is absent)', () => {
  it.each(['anthropic-5m', 'deepseek'] as const)(
    'keep their bytes when they are fed back after each request, at %s prices',
    async (prices) => {
      let [requests, references] = [0, 0];
      let run = 0;
      for await (const { messages } of readRuns([CORPUS])) {
        // A third of the runs: enough to find a difference, in seconds.
        if (run++ % 3 !== 0) continue;
        const options = { format: 'chat', policy: breakEven({ prices }) } as const;
        const planner = createPlanner<ChatMessage>(options);
        let fedBack: ChatMessage[] = [];
        for (const part of requestsOf(messages)) {
          planner.add(...part);
          // A copy: `fit` remembers lists of messages that it has seen.
          fedBack = fit(structuredClone([...fedBack, ...part]), options).messages;
          expect(fedBack).toEqual(planner.messages());
          requests += 1;
        }
        references += JSON.stringify(fedBack).split(': same as ').length - 1;
      }
      expect(requests).toBeGreaterThan(1000);
      expect(references).toBeGreaterThan(50);
    },
    120_000,
  );
});

/** The messages that each request of a run adds. */
function requestsOf(messages: readonly ChatMessage[]): ChatMessage[][] {
  const starts = messages.flatMap(({ role }, i) => (i === 0 || role === 'assistant' ? [i] : []));
  return starts.map((start, i) => messages.slice(start, starts[i + 1]));
}

function resultsIn(messages: Parameters<typeof chat.view>[0]): Result[] {
  const args = new Map<string | undefined, string>();
  return chat.view(messages).flatMap(({ kind, callId, tool, text }) => {
    if (kind === 'action') args.set(callId, text);
    if (kind !== 'observation' || callId === undefined) return [];
    const shows = shownBy(tool, args.get(callId) ?? '');
    return shows === undefined ? [] : [{ text, shows }];
  });
}
