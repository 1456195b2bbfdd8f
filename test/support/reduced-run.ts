import type { ChatMessage, HistoryReducerOptions, HistoryReductionResult } from '../../src/index.ts';
import { HistoryReducer } from '../../src/index.ts';
import { chars, masked, pair, prose, reply, system, user } from './chat.ts';
import { deepFreeze } from './deep-freeze.ts';

export const reduce = (messages: readonly ChatMessage[], options: HistoryReducerOptions): HistoryReductionResult =>
  new HistoryReducer().reduce(messages, options);

export const SYSTEM = system('You are an orchestrator.');
export const TASK = user('Fix the build.');
export const ONE = prose(1000, 'one ');
export const TWO = prose(1000, 'two ');
export const THREE = prose(1000, 'three ');
export const FIRST_THOUGHT = reply(prose(800, 'The first file shows that '));
export const SECOND_THOUGHT = reply(prose(800, 'The second file shows that '));

/** Five turns: call, thought, call, thought, call. With a window of one turn the first four are old. */
export const RUN: readonly ChatMessage[] = deepFreeze([
  SYSTEM,
  TASK,
  ...pair('t1', ONE),
  FIRST_THOUGHT,
  ...pair('t2', TWO),
  SECOND_THOUGHT,
  ...pair('t3', THREE),
]);
export const SIZE = chars(RUN);
export const SIZE_MASKED = SIZE - 2 * (1000 - masked(ONE).length);
export const window = { preserveRecentRawTurns: 1 };
