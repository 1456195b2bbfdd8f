import fc from 'fast-check';
import type { ChatMessage } from '../../../src/index.ts';
import type { Context } from '../../../src/lab/run.ts';
import { prose } from '../chat.ts';

/** The lab's own counter. */
export const chars = (text: string): number => text.length / 4;

/** A text of so many tokens of four characters, on one line. */
export const textOf = (tokens: number): string => prose(4 * tokens);

export const system = (tokens: number): ChatMessage => ({ role: 'system', content: textOf(tokens) });
export const user = (tokens: number): ChatMessage => ({ role: 'user', content: textOf(tokens) });

/** A reply of 8 tokens, and for each size a call of `work` (1) with `{  }` (1), answered by a result of that size. */
export function turn(id: string, ...results: readonly number[]): ChatMessage[] {
  const ids = results.map((_, i) => `${id}${i}`);
  const toolCalls = ids.map((call) => ({ id: call, name: 'work', arguments: '{  }' }));
  const reply: ChatMessage = { role: 'assistant', content: textOf(8) };
  return [
    ids.length > 0 ? { ...reply, toolCalls } : reply,
    ...results.map(
      (tokens, i): ChatMessage => ({ role: 'tool', content: textOf(tokens), toolCallId: ids[i] as string }),
    ),
  ];
}

export function contextFrom(messages: readonly ChatMessage[], more: Partial<Context> = {}): Context {
  return { file: 'made-up.json', run: 0, format: 'messages', messages, times: [], carriedTurns: 0, ...more };
}

/** 200 tokens before the first reply, then a turn of 10 tokens and one result for each size, then a last reply. */
export const contextOf = (...results: readonly number[]): Context =>
  contextFrom([system(100), user(100), ...results.flatMap((tokens, i) => turn(`c${i + 1}`, tokens)), ...turn('end')]);

const CALLS = [
  { name: 'read_file', arguments: '{"path":"src/a.ts"}' },
  { name: 'read_file', arguments: '{"path":"src/a.ts","offset":10,"limit":20}' },
  { name: 'bash', arguments: '{"command":"npm test"}' },
  { name: 'grep', arguments: '{"pattern":"needle"}' },
  { name: 'edit_file', arguments: '{"path":"src/a.ts","old":"a","new":"b"}' },
  { name: 'ask', arguments: '{}' },
];

const anyResult = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 9000 }).map((length) => prose(length)) },
  { weight: 2, arbitrary: fc.integer({ min: 300, max: 340 }).map((length) => prose(length)) },
  fc.constantFrom(
    '',
    'ok',
    'Error: no such file\n'.repeat(40),
    '[Observation omitted for brevity]',
    '漢字かな'.repeat(200),
  ),
);

interface AnyTurn {
  readonly says: string;
  readonly calls: readonly { readonly call: (typeof CALLS)[number]; readonly output: string }[];
  readonly user: string | undefined;
}

const anyTurn: fc.Arbitrary<AnyTurn> = fc.record({
  says: fc.constantFrom('', 'I look.', prose(200)),
  calls: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.array(fc.record({ call: fc.constantFrom(...CALLS), output: anyResult }), {
        minLength: 1,
        maxLength: 1,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.array(fc.record({ call: fc.constantFrom(...CALLS), output: anyResult }), { maxLength: 3 }),
    },
  ),
  user: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.constantFrom('Go on.', prose(400))),
});

/** A time between two messages: mostly seconds, sometimes longer than most caches live. */
const anyPause = fc.oneof({ weight: 6, arbitrary: fc.constant(2000) }, fc.constantFrom(400_000, 4_000_000));

/** Any context of so many replies, with the times of its messages, and some of its turns carried over. */
export const anyContext = ({ maxTurns }: { readonly maxTurns: number }): fc.Arbitrary<Context> =>
  fc
    .record({
      system: fc.option(fc.constant(prose(120)), { nil: undefined }),
      task: fc.constantFrom('Fix it.', prose(3000)),
      turns: fc.array(anyTurn, { minLength: 1, maxLength: maxTurns }),
      pauses: fc.array(anyPause, { minLength: 4 * maxTurns + 2, maxLength: 4 * maxTurns + 2 }),
      carried: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: maxTurns - 1 })),
    })
    .map(({ system, task, turns, pauses, carried }) => {
      const head: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: system }];
      const messages = [...head, { role: 'user' as const, content: task }, ...turns.flatMap(writeTurn)];
      let time = 1_760_000_000_000;
      const times = messages.map((_, i) => {
        time += pauses[i % pauses.length] as number;
        return time;
      });
      return contextFrom(messages, { times, carriedTurns: Math.min(carried, turns.length - 1) });
    });

function writeTurn({ says, calls, user }: AnyTurn, index: number): ChatMessage[] {
  const ids = calls.map((_, i) => `call_${index}_${i}`);
  const toolCalls = calls.map(({ call }, i) => ({ id: ids[i] as string, ...call }));
  return [
    { role: 'assistant', content: says, ...(calls.length > 0 ? { toolCalls } : {}) },
    ...calls.map(({ output }, i): ChatMessage => ({ role: 'tool', content: output, toolCallId: ids[i] as string })),
    ...(user === undefined ? [] : [{ role: 'user' as const, content: user }]),
  ];
}
