import { describe, expect, it } from 'vitest';
import { chars, contextFrom, turn, user } from '../../test/support/logs/contexts.ts';
import type { ChatMessage } from '../message.ts';
import { priceLists } from '../plan/prices.ts';
import { type PolicyRun, replayContext } from './replay-context.ts';
import { readReplayPolicy } from './replay-policy.ts';

const setting = { counter: chars, systemTokens: 0 };
const FILE = Array.from({ length: 60 }, (_, i) => `${i + 1}\tconst value${i} = compute(${i * 7}, 'name ${i}');`).join(
  '\n',
);
const OUTPUT = Array.from({ length: 900 }, (_, i) => `step ${i}: compiled module number ${i * 31}`).join('\n');

const call = (id: string, name: string, args: string, content: string): ChatMessage[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: args }] },
  { role: 'tool', content, toolCallId: id },
];
const read = (id: string): ChatMessage[] => call(id, 'read_file', '{"path":"src/a.ts"}', FILE);
const context = contextFrom([
  user(100),
  ...read('a'),
  ...call('b', 'bash', '{"command":"make"}', OUTPUT),
  ...read('c'),
  ...turn('d', 200),
  ...turn('e', 200),
  ...turn('end'),
]);
const play = (policy: string, list: 'anthropic-5m' | 'none' = 'anthropic-5m') => {
  const policies = [readReplayPolicy(policy)];
  const [played] = replayContext(context, { ...setting, policies, prices: [priceLists[list]], cacheLife: 'endless' });
  return played as PolicyRun;
};
const costOf = (policy: string): number => play(policy).cost['anthropic-5m'] as number;

describe('optimum with arrival', () => {
  it.each(['clean=true,references=true', 'clean=true,references=true,shell-output=true'])(
    'costs as much as arrival alone where no result leaves the window (%s)',
    (options) => {
      expect(costOf(`optimum:window=99,${options}`)).toBeCloseTo(costOf(`never:${options}`), 6);
      expect(costOf(`never:${options}`)).toBeLessThan(costOf('none'));
    },
  );

  it('is below optimum where texts repeat', () => {
    expect(costOf('optimum:window=2,clean=true,references=true')).toBeLessThan(costOf('optimum:window=2'));
  });

  it('masks a result that a later one refers to as late as that one', () => {
    expect(play('optimum:window=2', 'none').maskedAt.slice(0, 3)).toEqual([4, 5, 6]);
    expect(play('optimum:window=2,clean=true,references=true', 'none').maskedAt[0]).toBe(6);
  });

  it('refers to no text that could have been masked before', () => {
    const arrived = play('optimum:window=1,clean=true,references=true');
    expect(arrived.cost).toEqual(play('optimum:window=1').cost);
    expect(arrived.maskedAt[0]).toBe(3);
  });

  it('hides the cut lines of shell output from the request on in which it arrives', () => {
    expect(play('optimum:window=99').maskedAt).toEqual(Array(5).fill(Number.POSITIVE_INFINITY));
    expect(play('optimum:window=99,shell-output=true').maskedAt[1]).toBe(3);
  });
});
