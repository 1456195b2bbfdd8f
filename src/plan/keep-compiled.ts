import { openaiChat } from '../formats/openai-chat.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { Rewriting } from './arrival/clean/rewriting.ts';
import { Numbering } from './arrival/numbered-lines.ts';
import { allParts } from './parts/all-parts.ts';
import { Planner } from './planner.ts';
import { breakEven } from './policies/break-even.ts';
import { slidingWindow } from './policies/sliding-window.ts';
import type { Policy } from './policy.ts';

let kept: unknown;

/**
 * Keeps a few small conversations forever. At a full garbage collection, V8 discards compiled code if no object of its shapes is left.
 * Without this, the first `fit` after a collection takes several times as long.
 */
export function keepCompiled(): void {
  if (kept !== undefined) return;
  const content = 'A result that is longer than the placeholder which hides it. '.repeat(10);
  const file = Array.from({ length: 40 }, (_, i) => `${i + 1}→export const value${i} = compute(${i * i});`);
  const reads = [file.slice(0, 30), file.slice(5, 35), file].map((lines) => lines.join('\n'));
  kept = [
    // The last call stays open, because an open call has its own shape.
    conversation(slidingWindow({ turns: 1, minTokens: 0 }), [content, content, undefined]),
    // Reads that refer to earlier ones, so that results are made smaller and grouped; then all of them are masked.
    conversation(breakEven(), reads),
    conversation(breakEven({ window: 1 }), [...reads, ...reads, `\u001b[1mdone\u001b[0m  \n${content}`]),
    // A temporary object while a result is made smaller.
    new Rewriting(''),
    new Numbering(''),
  ];
}

function conversation(policy: Policy, results: readonly (string | undefined)[]): unknown {
  const planner = new Planner(openaiChat, { policy, parts: allParts, counter: countTokens });
  for (const [i, content] of results.entries()) {
    const [id, words] = [`call_${i}`, `The reply before call ${i}.`];
    const call = { name: 'read', arguments: '{"path":"src/a.ts"}' };
    planner.add({ role: 'assistant', content: words, ...{ tool_calls: [{ id, type: 'function', function: call }] } });
    if (content !== undefined) planner.add({ role: 'tool', content, ...{ tool_call_id: id } });
  }
  return [planner, planner.result(), planner.report()];
}
