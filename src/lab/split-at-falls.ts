import type { Context } from './run.ts';

/** A prompt that shrinks to less than this was compacted. Agents that drop only old thinking lose a tenth. */
const KEPT_SHARE = 0.7;

/**
 * Splits a context where its usage shows a compaction that the log does not mark. The kept part is then hidden text of the second
 * context. The first reply there is the last one before, which was already billed.
 */
export function splitAtFalls(context: Context): Context[] {
  const { replies = [], carriedTurns, messages, times } = context;
  const cuts: number[] = [];
  let before = 0;
  for (const [turn, { usage }] of replies.entries()) {
    if (!usage || turn < carriedTurns) continue;
    if (turn > carriedTurns && usage.prompt < KEPT_SHARE * before) cuts.push(turn);
    before = usage.prompt;
  }
  if (cuts.length === 0) return [context];
  const starts = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  return [0, ...cuts].map((from, i) => {
    const to = cuts[i] ?? replies.length;
    const [start, end] = [
      from === 0 ? 0 : (starts[from - 1] as number),
      to === replies.length ? messages.length : (starts[to - 1] as number) + 1,
    ];
    return {
      ...context,
      messages: messages.slice(start, end),
      times: times.slice(start, end),
      replies: replies.slice(Math.max(0, from - 1), to),
      carriedTurns: from === 0 ? carriedTurns : 1,
    };
  });
}
