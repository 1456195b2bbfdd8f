import type { Segment, Violation } from '../message.ts';
import { isNote } from './idempotent.ts';

/** Law 5, task: the newest user message that is not a tool result survives every stage, and so its turn does. */
export function newestUserTurn<T extends { readonly hasUser: boolean }>(turns: readonly T[]): T | undefined {
  return turns.findLast((turn) => turn.hasUser);
}

/** System prompt, first and newest user message are looked for by their text. */
export function checkTask(before: readonly Segment[], after: readonly Segment[]): Violation[] {
  const left = new Set(after.map((segment) => segment.text));
  const said = before.filter((segment) => !isNote(segment.text));
  const users = said.filter((segment) => segment.kind === 'user');
  const system = said.filter((segment) => segment.kind === 'system' && segment.turn === 0);
  const lost = [...system, ...users.slice(0, 1), ...users.slice(-1)].filter((segment) => !left.has(segment.text));
  return lost.map(({ message, kind }) => ({
    law: 'task',
    message,
    text: `The ${kind} message ${message} must survive.`,
  }));
}
