import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { anthropicBody, anthropicMessages, Desk } from '../../support/gateway/requests.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

describe('what the gateway remembers', () => {
  it.each([
    { turns: 9, lines: 1 },
    { turns: 40, lines: 2 },
    { turns: 30, lines: 60 },
  ])('takes no more than it is reckoned with, $turns turns of $lines lines', ({ turns, lines }) => {
    const desk = new Desk();
    /** Asks, and answers how much that is reckoned to take. */
    const ask = (task: number): number => {
      const [, ...messages] = anthropicMessages(turns, {
        results: (turn) => `${task} ${turn}: a line\n`.repeat(lines),
      });
      const asked = desk.ask(anthropicBody([{ role: 'user', content: `Task ${task}` }, ...messages]));
      return desk.memory.histories(asked.conversation)[0]?.size ?? 0;
    };
    ask(0);
    const before = usedBytes();
    let reckoned = 0;
    for (let task = 1; task <= 200; task++) reckoned += ask(task);
    expect(usedBytes() - before).toBeLessThan(reckoned * 1.2);
    // It is still there.
    expect(ask(1)).toBeGreaterThan(0);
  });
});
