import { openaiChat } from '../formats/openai-chat.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { allParts } from './parts/all-parts.ts';
import { Planner } from './planner.ts';
import { slidingWindow } from './policies/sliding-window.ts';

let kept: unknown;

/**
 * Keeps one small conversation for ever. V8 throws compiled code away at a full collection when no object of the shapes
 * it was compiled for is left: without this, the first `fit` after one takes several times as long.
 */
export function keepCompiled(): void {
  if (kept !== undefined) return;
  const planner = new Planner(openaiChat, {
    policy: slidingWindow({ turns: 1, minTokens: 0 }),
    parts: allParts,
    counter: countTokens,
  });
  const content = 'A result that is longer than the placeholder which hides it. '.repeat(10);
  for (const id of ['a', 'b', 'c']) {
    const tool_calls = [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }];
    planner.add({ role: 'assistant', content, ...{ tool_calls } });
    // The last call stays open: that too has a shape.
    if (id !== 'c') planner.add({ role: 'tool', content, ...{ tool_call_id: id } });
  }
  kept = [planner, planner.result(), planner.report()];
}
