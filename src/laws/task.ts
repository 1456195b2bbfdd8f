import type { Segment, Violation } from '../message.ts';
import { isOurs } from './idempotent.ts';
import { isStructural, type Law } from './law.ts';

/** Law 5, task: system prompt, first and newest user message survive every stage. */
export const task: Law = {
  name: 'task',
  check: ({ format, after, segments, plan }) => (isStructural(plan) ? checkTask(segments, format.view(after)) : []),
};

interface UserTurn {
  readonly hasUser: boolean;
  /** Whether it has words of a user that are not ours: no note, and no notice of the manager. */
  readonly hasWords: boolean;
}

/** The turns with the first and the newest user message that is not a tool result: they survive whole. */
export function userTurns<T extends UserTurn>(turns: readonly T[]): ReadonlySet<T | undefined> {
  const [spoken, worded] = [turns.filter((turn) => turn.hasUser), turns.filter((turn) => turn.hasWords)];
  return new Set([spoken[0], spoken.at(-1), worded[0], worded.at(-1)]);
}

/** Checks that the texts of the task survive. They are compared by their content. */
export function checkTask(before: readonly Segment[], after: readonly Segment[]): Violation[] {
  const left = new Set(after.map((segment) => segment.text));
  const said = before.filter((segment) => !isOurs(segment.text));
  const users = said.filter((segment) => segment.kind === 'user');
  const system = said.filter((segment) => segment.kind === 'system' && segment.turn === 0);
  const lost = [...system, ...users.slice(0, 1), ...users.slice(-1)].filter((segment) => !left.has(segment.text));
  return lost.map(({ message, kind }) => ({
    law: 'task',
    message,
    text: `The ${kind} message ${message} must survive.`,
  }));
}
