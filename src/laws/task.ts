import type { Segment } from '../message.ts';

/** Law 5, task: the newest user message that is not a tool result survives every stage, and so its turn does. */
export function newestUserTurn<T extends { readonly hasUser: boolean }>(turns: readonly T[]): T | undefined {
  return turns.findLast((turn) => turn.hasUser);
}

/** The texts that must be found again in an edited history: system prompt, first and newest user message. */
export function protectedTexts(segments: readonly Segment[]): string[] {
  const users = segments.filter((segment) => segment.kind === 'user').map((segment) => segment.text);
  const system = segments
    .filter((segment) => segment.kind === 'system' && segment.turn === 0)
    .map((segment) => segment.text);
  return [...system, ...users.slice(0, 1), ...users.slice(-1)];
}
