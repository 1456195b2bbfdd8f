import { describe, expect, it } from 'vitest';
import {
  breakEven,
  createPlanner,
  type FitOptions,
  fit,
  fitAndStore,
  formatByName,
  parsePolicy,
  slidingWindow,
} from '../src/index.ts';
import { brokenLaws } from '../src/laws/index.ts';
import { onlyOldTextsDiffer, shortenOldText } from '../src/laws/old-texts.ts';
import { handleOf } from '../src/store/handle.ts';
import { createMemoryStore } from '../src/store/memory-store.ts';
import {
  flat,
  formatNames,
  type Story,
  type StoryCall,
  type StoryTurn,
  type Written,
  write,
} from './support/histories.ts';

const OLD = 'const total = compute("a", 1);\n'.repeat(20);
const NEW = 'const sum = add("b", 2);\n'.repeat(20);
const SHORT = shortenOldText(OLD) as string;

const call = (tool: string, args: StoryCall['args'], about: Partial<StoryCall> = {}): StoryCall => ({
  ...{ tool, args, text: 'ok', isError: false, shape: 'string' as const },
  ...about,
});
const read = call('read_file', { path: 'src/a.ts' }, { text: 'line of a file that is long enough\n'.repeat(40) });
const edit = (about?: Partial<StoryCall>): StoryCall =>
  call('edit', { path: 'src/a.ts', old_string: OLD, new_string: NEW, count: 1 }, about);

// Two calls in a turn: some formats write one call alone without its arguments.
const turn = (calls: readonly StoryCall[], thinks: StoryTurn['thinks'] = 'no'): StoryTurn => ({
  ...{ says: 'Next.', thinks, user: undefined, steersEarly: false },
  calls: [...calls, call('list', {})],
});
const idle = turn([]);

/** A read, an edit behind it, and turns until the read leaves a window of three. */
const storyOf = (...turns: readonly StoryTurn[]): Story => ({
  ...{ system: undefined, task: 'Fix the failing test.', greets: false },
  turns,
});
const EDITED = storyOf(turn([read]), turn([edit()]), idle, idle);

/** Gemini 2 does not sign its calls. */
function writeIn(story: Story, format: (typeof formatNames)[number]): Written {
  const unsigned = (list: readonly object[]): object[] =>
    JSON.parse(JSON.stringify(list), (key, value) => (key === 'thoughtSignature' ? undefined : value));
  const { head, turns } = write(story, format);
  return format === 'gemini' ? { head, turns: turns.map(unsigned) } : { head, turns };
}

const options = (oldTexts = true): FitOptions => ({
  policy: slidingWindow({ turns: 3, oldTexts, references: false }),
  handleOf: (text) => `h${text.length}`,
});

const argsIn = (format: (typeof formatNames)[number], messages: readonly object[]): Record<string, unknown> => {
  const found = formatByName(format)
    .view(messages)
    .find(({ kind, tool }) => kind === 'action' && tool === 'edit');
  return JSON.parse(found?.text ?? 'null');
};

describe.each(formatNames)('old texts of edits in %s', (format) => {
  const given = { ...options(), format };

  it('are shortened in a request that masks an earlier result, and nothing else in the call changes', () => {
    const messages = flat(writeIn(EDITED, format));
    const before = structuredClone(messages);
    const { messages: fitted, plan, hidden } = fit(messages, given);
    expect(messages).toEqual(before);
    expect(argsIn(format, fitted)).toEqual({ path: 'src/a.ts', old_string: SHORT, new_string: NEW, count: 1 });
    expect(plan.edits.map((one) => one.kind === 'replace' && one.why)).toEqual(['mask', 'old-text']);
    expect(hidden.find(({ why }) => why === 'old-text')).toMatchObject({
      text: JSON.stringify(edit().args),
      handle: `h${JSON.stringify(edit().args).length}`,
      tool: 'edit',
      turn: 2,
    });
    const [mask] = plan.edits.map((one) => one.kind === 'replace' && one.segment);
    const masked = formatByName(format).view(messages)[Number(mask)]?.message;
    const isKept = (message: object, i: number): boolean => i === masked || onlyOldTextsDiffer(message, fitted[i]);
    expect(messages.every(isKept)).toBe(true);
  });

  it('are shortened no further when they are fed back', () => {
    const { messages } = fit(flat(writeIn(EDITED, format)), given);
    const again = fit(messages, given);
    expect(again.plan.edits).toEqual([]);
    expect(again.messages).toEqual(messages);
  });

  it('stay whole while nothing is masked', () => {
    const messages = flat(writeIn(storyOf(...EDITED.turns.slice(0, 3)), format));
    expect(fit(messages, given).plan.edits).toEqual([]);
  });

  it('stay whole in the two turns that follow the call, and before the first mask', () => {
    const young = storyOf(turn([read]), idle, turn([edit()]), idle);
    const early = storyOf(turn([edit()]), turn([read]), idle, idle, idle);
    for (const story of [young, early]) {
      const { plan } = fit(flat(writeIn(story, format)), given);
      expect(plan.edits.map((one) => one.kind === 'replace' && one.why)).toEqual(['mask']);
    }
  });

  it('stay whole where the edit failed, and without the option', () => {
    const failed = edit({ text: 'Error: the text was not found.', isError: true });
    const story = storyOf(turn([read]), turn([failed]), idle, idle);
    expect(argsIn(format, fit(flat(writeIn(story, format)), given).messages).old_string).toBe(OLD);
    const off = fit(flat(writeIn(EDITED, format)), { ...options(false), format });
    expect(argsIn(format, off.messages).old_string).toBe(OLD);
  });

  it('come back when the request is taken back', () => {
    const planner = createPlanner<object>(given);
    const { head, turns } = writeIn(EDITED, format);
    const [last, ...rest] = [...turns.flat()].reverse();
    planner.add(...head, ...rest.reverse());
    planner.add(last as object);
    const more = formatByName(format).note('user', 'Go on.', []) as object;
    planner.add(more);
    const whole = fit([...head, ...turns.flat(), more], given);
    expect({ plan: planner.plan(), report: planner.report() }).toEqual({ plan: whole.plan, report: whole.report });
    expect(planner.hidden).toEqual(whole.hidden);
  });
});

describe('old texts beside signed thinking', () => {
  it.each(['anthropic', 'ai-sdk', 'langchain', 'pi', 'bedrock-converse', 'openai-responses', 'openai-agents'] as const)(
    'stay whole in %s',
    (format) => {
      const story = storyOf(turn([read]), turn([edit()], 'signed'), idle, idle);
      const { messages, plan } = fit(flat(write(story, format)), { ...options(), format });
      expect(plan.edits).toHaveLength(1);
      expect(argsIn(format, messages).old_string).toBe(OLD);
    },
  );

  it('stay whole in a call that Gemini signed', () => {
    const { messages, plan } = fit(flat(write(EDITED, 'gemini')), { ...options(), format: 'gemini' });
    expect(plan.edits).toHaveLength(1);
    expect(argsIn('gemini', messages).old_string).toBe(OLD);
  });
});

describe('fitAndStore', () => {
  it('stores the arguments, and records the same turns for a history that is fed back without its first turns', async () => {
    const store = createMemoryStore();
    const { policy } = options();
    const fitStored = (messages: readonly object[]) =>
      fitAndStore(messages, { store, session: 's', format: 'openai-chat', ...(policy ? { policy } : {}) });
    const { head, turns } = write(EDITED, 'openai-chat');
    const { messages } = await fitStored([...head, ...turns.flat()]);
    const args = JSON.stringify(edit().args);
    expect((await store.get(handleOf(args)))?.text).toBe(args);
    const recorded = async (): Promise<object[]> => {
      const found: object[] = [];
      for await (const { turn, action } of store.turns('s')) found.push({ turn, action });
      return found;
    };
    const before = await recorded();
    expect(before[2]).toMatchObject({ turn: 2, action: expect.stringContaining(SHORT) });
    await fitStored([...head, ...messages.slice(head.length + (turns[0]?.length ?? 0))]);
    expect(await recorded()).toEqual(before);
  });
});

describe('the option oldTexts', () => {
  it('is off unless given, and can be written on a command line', () => {
    expect(breakEven().oldTexts).toBeUndefined();
    expect(parsePolicy('break-even:old-texts=true').oldTexts).toBe(true);
    expect(() => parsePolicy('break-even:old-texts=3')).toThrow(/oldTexts/);
  });

  it('leaves a result whole whose lines only an old text shows: it may be shortened later', () => {
    const shown = call('read_file', { path: 'src/b.ts' }, { text: OLD });
    const story = storyOf(turn([edit()]), turn([shown]));
    const policy = (oldTexts: boolean) => slidingWindow({ turns: 5, references: true, oldTexts });
    const why = (oldTexts: boolean) => {
      const { plan } = fit(flat(write(story, 'openai-chat')), { policy: policy(oldTexts), format: 'openai-chat' });
      return plan.edits.map((one) => one.kind === 'replace' && one.why);
    };
    expect(why(false)).toEqual(['references']);
    expect(why(true)).toEqual([]);
  });

  it('keeps the laws: an edit of a call that changes more is refused', () => {
    const format = formatByName('openai-chat');
    const messages = flat(write(EDITED, 'openai-chat'));
    const { plan } = fit(messages, { ...options(), format: 'openai-chat' });
    const broken = plan.edits.map((one) =>
      one.kind === 'replace' && one.why === 'old-text'
        ? { ...one, text: one.text.replace('src/a.ts', 'src/b.ts') }
        : one,
    );
    const after = format.apply(messages, { version: 1, edits: broken });
    const applied = {
      format,
      before: messages,
      after,
      segments: format.view(messages),
      plan: { version: 1, edits: broken },
    };
    expect(brokenLaws(applied as never).map(({ law }) => law)).toEqual(['metadata']);
  });
});
