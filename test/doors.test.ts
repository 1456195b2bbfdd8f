import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPlanner, fit, formatByName, PalimpsestError, type Policy, stateless } from '../src/index.ts';
import { brokenLaws } from '../src/laws/index.ts';
import { addedViolations } from '../src/laws/pairs.ts';
import { checkTask } from '../src/laws/task.ts';
import { loneSurrogates } from '../src/laws/text.ts';
import { compressedNotice, restartNotice, windDownNotice } from '../src/manager/context/notices.ts';
import { type Door, doors, type Passed, sizeFor } from './support/doors.ts';
import { editsBetween, type Numbered, numbered } from './support/edits-between.ts';
import { flat, formatNames, longStory, type Story, story, write } from './support/histories.ts';

/** More with PALIMPSEST_RUNS=2000. */
const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 10);

const anyCase = fc.record({
  told: fc.oneof(story, longStory),
  // Small ones make every stage act.
  budget: fc.oneof(fc.integer({ min: 60, max: 500 }), fc.integer({ min: 60, max: 9000 })),
  repeatIds: fc.boolean(),
});

/** One application of a door. */
interface Application {
  readonly messages: readonly Numbered[];
  readonly options: object;
  readonly limit: number;
  readonly passed: Passed;
}

/** Nothing where the budget cannot be met. */
async function pass(door: Door, messages: readonly object[], options: object): Promise<Passed | undefined> {
  try {
    return await door.call(messages, options);
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return undefined;
    throw error;
  }
}

describe.each(formatNames)('on %s', (name) => {
  const format = formatByName(name);

  describe.each(doors)('$name', (door) => {
    const check = (property: (application: Application) => void | Promise<void>): Promise<void> =>
      fc.assert(
        fc.asyncProperty(anyCase, async ({ told, budget, repeatIds }) => {
          const messages = numbered(flat(write(told, name, repeatIds)));
          const limit = door.measure === 'messages' ? 4 + (budget % 50) : budget;
          const options = { format: name, [door.option]: limit };
          const passed = await pass(door, messages, options);
          if (passed) await property({ messages, options, limit, passed });
        }),
        { numRuns },
      );

    it('obeys the laws, keeps the task, and a second application changes nothing', async () => {
      await check(async ({ messages, options, passed }) => {
        const { messages: after } = passed;
        const { edits, before } = editsBetween(format, messages, after, door);
        const plan = { version: 1, edits } as const;
        expect(format.apply(before, plan)).toEqual(after);
        expect(brokenLaws({ format, before, after, segments: format.view(before), plan })).toEqual([]);
        expect(addedViolations(format, messages, after)).toEqual([]);
        expect(checkTask(format.view(before), format.view(after))).toEqual([]);
        expect(lonesIn(after)).toBeLessThanOrEqual(lonesIn(messages));
        expect(sizeFor(door, after, name)).toBeLessThanOrEqual(sizeFor(door, messages, name));
        // Without a call that is left, nothing tells the conversation from the loop.
        if (door.keepsConversation && passed.withinBudget === false && !hasCalls(after)) return;
        expect((await pass(door, after, options))?.messages).toEqual(after);
      });
    });

    it.skipIf(door.isUnlimited)('is within its budget, or says that it is not', async () => {
      await check(({ limit, passed }) => {
        expect(sizeFor(door, passed.messages, name) <= limit).toBe(passed.withinBudget ?? true);
      });
    });

    it.skipIf(door.carriesWholeTurns)('leaves no answer without its question at the gap', async () => {
      await check(({ messages, limit, passed: { messages: after, reductionStage } }) => {
        // As in the original, this summary replaces every message that is not recent: the question too.
        if (reductionStage === 'summarization') return;
        const kept = new Set(editsBetween(format, messages, after, door).origins);
        const room = door.takesTurnsApart ? 0.75 * limit - sizeFor(door, after, name) : Number.POSITIVE_INFINITY;
        const hasRoom = (question: number): boolean =>
          sizeFor(door, messages.slice(question, question + 1), name) <= room;
        const isLost = (answer: number): boolean => kept.has(answer) && !kept.has(answer - 1) && hasRoom(answer - 1);
        expect(answersIn(messages).filter(isLost)).toEqual([]);
      });
    });
  });

  it('fit loses no decision while a result of an older turn could still be masked', () => {
    fc.assert(
      fc.property(anyCase, ({ told, budget, repeatIds }) => {
        const { head, turns } = write(told, name, repeatIds);
        const planner = createPlanner<object>({ format: name, maxTokens: budget, policy: protectsNothing });
        let decisions = 0;
        for (const part of [head, ...turns]) {
          planner.add(...part);
          const sent = planner.messages();
          const isLost = decisionsIn(sent) < decisions + decisionsIn(part);
          decisions = decisionsIn(sent);
          if (isLost) expect(fit(sent, { format: name, policy: masksAllButNewest }).report.maskedCount).toBe(0);
        }
      }),
      { numRuns },
    );
  });

  const hasCalls = (messages: readonly object[]): boolean => decisionsIn(messages) > 0;
  const decisionsIn = (messages: readonly object[]): number =>
    format.view(messages).filter(({ kind }) => kind === 'action').length;

  const kindsOf = (messages: readonly object[], at: number): string[] =>
    format.view(messages.slice(at, at + 1)).map(({ kind }) => kind);
  const isReply = (messages: readonly object[], at: number): boolean =>
    kindsOf(messages, at).some((kind) => kind === 'reasoning' || kind === 'action');

  /** Replies to words that a user said in conversation. Words behind tool results steer a loop, and go with it. */
  function answersIn(messages: readonly object[]): number[] {
    const segments = format.view(messages);
    const loops = new Set(segments.flatMap(({ kind, turn }) => (kind === 'action' ? [turn] : [])));
    const turns = new Map(segments.map(({ message, turn }) => [message, turn]));
    const isQuestion = (at: number): boolean => turns.has(at) && kindsOf(messages, at).every((kind) => kind === 'user');
    const isTalk = (at: number): boolean => isQuestion(at) && !loops.has(turns.get(at) ?? 0);
    return [...messages.keys()].filter((at) => isReply(messages, at) && isTalk(at - 1));
  }
});

describe('the gap is not directly behind the task', () => {
  const say = (role: string, content: string) => ({ role, content });
  const call = (id: string, content: string) => [
    { role: 'assistant', content: id, toolCalls: [{ id, name: 'bash', arguments: '{}' }] },
    { role: 'tool', toolCallId: id, content },
  ];
  const rest = [
    ...call('one', 'x'.repeat(2000)),
    say('assistant', 'first answer '.repeat(200)),
    say('user', 'second question'),
    say('assistant', 'second answer'),
    say('user', 'third question'),
    ...call('two', 'ok'),
  ];
  const greeted = [say('assistant', 'Hello!'), say('user', 'task'), ...rest];
  const conversation = [say('user', 'task'), say('assistant', 'plain answer'), say('user', 'begin'), ...rest];

  it.each([
    ['fit', greeted, { maxTokens: 150 }],
    ['renderWithBudget', greeted, { maxHistoryTokens: 150 }],
    ['trimMessages', greeted, { maxMessages: 9 }],
    ['dropOldestTurns', conversation, { maxTokens: 150 }],
    ['renderWithBudget', conversation, { maxHistoryTokens: 150, conversationMessages: 3 }],
  ])('%s keeps the question with its answer', async (name, messages, options) => {
    const door = doors.find((each) => each.name === name) as Door;
    const { messages: after } = await door.call(messages, { format: 'chat', ...options });
    const contents = after.map((message) => (message as { content: string }).content);
    expect(contents).not.toContain('one');
    expect(contents[contents.indexOf('second answer') - 1]).toBe('second question');
  });
});

// In formats without system messages behind the first, a notice is the newest message of the user. The words before it were left out.
describe.each(doors)("a notice of the manager and the user's newest words, through $name", (door) => {
  const notices = [
    compressedNotice({ masked: 3, total: 10, reclaimedPct: 15 }),
    windDownNotice(92),
    restartNotice(2),
    'words of a user',
  ];
  const say = (content: string) => ({ role: 'user', content });
  const turn = (n: number): object[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name: 'bash', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: `${n} alpha `.repeat(90) }] },
  ];
  const listWith = (notice: string): object[] => [
    say('Fix it.'),
    ...turn(0),
    { role: 'assistant', content: 'Fixed.' },
    say('Now release it.'),
    ...turn(1),
    ...turn(2),
    say(notice),
    ...turn(3),
  ];

  it.each(notices)('%s', async (notice) => {
    const newest = notice === 'words of a user' ? notice : 'Now release it.';
    for (const budget of door.measure === 'messages' ? [5, 6, 7, 8] : [200, 300, 400, 600, 900]) {
      const passed = await pass(door, numbered(listWith(notice)), { format: 'anthropic', [door.option]: budget });
      if (passed) expect(JSON.stringify(passed.messages)).toContain(newest);
    }
  });
});

const protectsNothing: Policy = stateless(() => []);
const masksAllButNewest: Policy = stateless(({ observations, turns }) =>
  observations.filter(({ turn }) => turn < turns),
);

/** Half characters in all texts of a list. */
function lonesIn(messages: readonly object[]): number {
  let lones = 0;
  JSON.stringify(messages, (_, value) => {
    if (typeof value === 'string') lones += loneSurrogates(value);
    return value;
  });
  return lones;
}

describe.each(doors)('bad input of $name', (door) => {
  const messages = numbered(flat(write(fc.sample(longStory, { numRuns: 1, seed: 7 })[0] as Story, 'chat')));
  const good = { format: 'chat', [door.option]: 500 };

  /** The error of a call, or undefined where it simply works. */
  async function errorOf(list: unknown, options: unknown): Promise<unknown> {
    try {
      await door.call(list, options);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  const isResult = (error: unknown): boolean =>
    error === undefined || (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE');

  function expectClear(error: unknown, named: string): void {
    expect(error).toBeInstanceOf(PalimpsestError);
    const { code, message } = error as PalimpsestError;
    expect(['BAD_OPTION', 'BAD_INPUT', 'UNKNOWN_FORMAT']).toContain(code);
    expect(message).toContain(named);
  }

  it.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, '500', '', null, true, [500], {}, () => 500])(
    'refuses a budget of %s, and names the option',
    async (budget) => {
      expectClear(await errorOf(messages, { ...good, [door.option]: budget }), door.option);
    },
  );

  it.each(['nope', '', 'toString', '__proto__', 5, null, true, {}, []])('refuses the format %s', async (format) => {
    expectClear(await errorOf(messages, { ...good, format }), 'format');
  });

  it('refuses an option that it does not know', async () => {
    expectClear(await errorOf(messages, { ...good, maxTokenz: 5 }), 'maxTokenz');
  });

  it.each([null, 5, 'text', [], () => 5])('refuses %s in place of its options', async (options) => {
    expectClear(await errorOf(messages, options), 'option');
  });

  it.skipIf(door.takesNoCounter).each([5, 'o200k', null, {}])('refuses the counter %s', async (counter) => {
    expectClear(await errorOf(messages, { ...good, counter }), 'counter');
  });

  it.skipIf(door.takesNoCounter).each([Number.NaN, -1, Number.POSITIVE_INFINITY, '5', null, undefined])(
    'refuses a counter that answers %s',
    async (tokens) => {
      expectClear(await errorOf(messages, { ...good, counter: () => tokens }), 'counter');
    },
  );

  it.skipIf(door.takesNoCounter)('lets the error of a counter through', async () => {
    const thrown = new Error('no such model');
    const counter = (): number => {
      throw thrown;
    };
    expect(await errorOf(messages, { ...good, counter })).toBe(thrown);
  });

  it.skipIf(door.takesNoList).each([null, undefined, 'text', 5, true, {}, new Set(), { length: 2 }])(
    'refuses %s in place of the list',
    async (list) => {
      expectClear(await errorOf(list, good), 'messages');
    },
  );

  const odd: Readonly<Record<string, () => unknown>> = {
    null: () => null,
    undefined: () => undefined,
    'a text': () => 'text',
    'a number': () => 5,
    'a list': () => [],
    'an empty object': () => ({}),
    'an unknown role': () => ({ role: 'oracle', content: 'x'.repeat(5000) }),
    'content of a wrong type': () => ({ role: 'user', content: 5 }),
    'a cycle': () => {
      const message: Record<string, unknown> = { role: 'tool', content: 'x'.repeat(5000), toolCallId: 'call_0_0' };
      message.self = message;
      return message;
    },
    'a cyclic reply': () => {
      const message: Record<string, unknown> = { role: 'assistant', content: 'x'.repeat(5000) };
      message.content = [message];
      return message;
    },
  };

  it.each(Object.entries(odd))('works on a list that holds %s, or says what is wrong', async (_, make) => {
    for (const format of formatNames) {
      for (const at of [0, 3, messages.length]) {
        const list = messages.toSpliced(at, 0, make() as Numbered);
        const error = await errorOf(list, { ...good, format });
        if (!isResult(error)) expectClear(error, 'message');
      }
    }
  });

  it('works on a list with holes, or says what is wrong', async () => {
    const list = messages.slice();
    delete (list as unknown[])[3];
    for (const holes of [list, new Array(3)]) {
      const error = await errorOf(holes, good);
      if (!isResult(error)) expectClear(error, 'message');
    }
  });
});
