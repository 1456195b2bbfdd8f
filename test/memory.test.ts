import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type FitOptions,
  fit,
  never,
  PalimpsestError,
  type Policy,
  polling,
  slidingWindow,
  sweAgent,
} from '../src/index.ts';
import { anyCase } from './support/cases.ts';
import { flat, formatNames, write } from './support/histories.ts';

const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 100);

/** A call on objects that `fit` has never seen. */
const fresh = (messages: readonly object[], options: FitOptions) => outcome(structuredClone(messages), options);

function outcome(messages: readonly object[], options: FitOptions): unknown {
  try {
    return fit(messages, options);
  } catch (error) {
    if (error instanceof PalimpsestError) return error.code;
    throw error;
  }
}

describe.each(formatNames)('fit on %s, called again and again on the same objects', (format) => {
  it('answers what it would answer to a list it has never seen', () => {
    fc.assert(
      fc.property(anyCase, fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), ({ story, named, settings }, lengths) => {
        const messages = flat(write(story, format));
        const options = { ...settings, policy: named.policy, format };
        for (const length of [...lengths, messages.length, messages.length]) {
          const list = messages.slice(0, length);
          expect(outcome(list, options)).toEqual(fresh(list, options));
        }
      }),
      { numRuns },
    );
  });

  it('sees what was changed in place since the last call', () => {
    fc.assert(
      fc.property(anyCase, fc.nat(), fc.string(), ({ story, named, settings }, place, text) => {
        const messages = structuredClone(flat(write(story, format)));
        const options = { ...settings, policy: named.policy, format };
        outcome(messages, options);
        const places = textsIn(messages);
        const [owner, key] = places[place % places.length] as [Record<string, unknown>, string];
        owner[key] = text;
        expect(outcome(messages, options)).toEqual(fresh(messages, options));
      }),
      { numRuns },
    );
  });
});

describe('fit, called again after a message lost its role', () => {
  it('refuses the list as if it had never seen it, until the message has it again', () => {
    const call = { function: { name: 'read_file', arguments: { path: 'src/a.ts', text: 'one line\n'.repeat(60) } } };
    const messages = [
      { role: 'user', content: 'Fix it.' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_name: 'read_file', content: 'done' },
    ];
    const options = { format: 'ollama', policy: never() } as const;
    expect(outcome(messages, options)).toMatchObject({ hidden: [] });
    (messages[1] as { role: string }).role = '';
    expect(fresh(messages, options)).toBe('UNKNOWN_FORMAT');
    expect(outcome(messages, options)).toBe('UNKNOWN_FORMAT');
    (messages[1] as { role: string }).role = 'assistant';
    expect(outcome(messages, options)).toMatchObject({ hidden: [] });
  });
});

describe.each(formatNames)('what fit answers for %s, changed by the caller', (format) => {
  it('is answered anew by the next call, and stays as the caller has it', () => {
    fc.assert(
      fc.property(anyCase, fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), fc.nat(), (given, lengths, place) => {
        const { story, named, settings } = given;
        const messages = flat(write(story, format));
        const options = { ...settings, policy: named.policy, format };
        for (const length of [...lengths, messages.length, messages.length]) {
          const list = messages.slice(0, length);
          const expected = fresh(list, options);
          const answer = outcome(list, options);
          expect(answer).toEqual(expected);
          const copies = copiesIn(answer, messages);
          const copy = copies[place % copies.length];
          if (Array.isArray(copy)) copy.push('changed');
          else if (copy) Object.assign(copy, { marker: 'changed' });
          const changed = structuredClone(copy);
          expect(outcome(list, options)).toEqual(expected);
          expect(copy).toEqual(changed);
        }
      }),
      { numRuns },
    );
  });
});

/** The objects in a result that are not in the history. */
function copiesIn(answer: unknown, messages: readonly object[]): object[] {
  if (typeof answer === 'string') return [];
  const own = new Set(messages.flatMap(objectsIn));
  return (answer as { messages: object[] }).messages.flatMap(objectsIn).filter((value) => !own.has(value));
}

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}

/** Every place in some messages where a text stands. */
function textsIn(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== 'object' || value === null) return [];
  const owner = value as Record<string, unknown>;
  return Object.entries(owner).flatMap(([key, inner]): [Record<string, unknown>, string][] =>
    typeof inner === 'string' ? [[owner, key]] : textsIn(inner),
  );
}

describe('what fit remembers', () => {
  const history = () => flat(write(STORY, 'openai-chat'));
  const result = (i: number) => ({
    tool: 'bash',
    args: {},
    text: `line ${i}\n`.repeat(60),
    isError: false,
    shape: 'string' as const,
  });
  const STORY = {
    system: 'You are an agent.',
    task: 'Fix it.',
    greets: false,
    turns: Array.from({ length: 8 }, (_, i) => ({
      says: 'I look.',
      thinks: 'no' as const,
      calls: [result(i)],
      user: undefined,
      steersEarly: false,
    })),
  };

  it('does not leak from one call into the results of another', () => {
    const messages = history();
    const first = fit(messages.slice(0, 10), { policy: slidingWindow({ turns: 2 }) });
    const kept = structuredClone({ plan: first.plan, report: first.report, hidden: first.hidden });
    fit(messages, { policy: slidingWindow({ turns: 2 }) });
    expect({ plan: first.plan, report: first.report, hidden: first.hidden }).toEqual(kept);
  });

  it('gives out the copies of the call before, and copies only what is new', () => {
    const messages = history();
    const options = { policy: slidingWindow({ turns: 2 }) };
    const before = fit(messages.slice(0, 14), options).messages;
    const again = fit(messages.slice(0, 14), options).messages;
    expect(again).not.toBe(before);
    expect(again.every((message, i) => message === before[i])).toBe(true);

    const grown = fit(messages, options);
    expect(grown.plan.edits).toHaveLength(6);
    const other = before.flatMap((message, i) => (message === grown.messages[i] ? [] : [i]));
    // Two turns more: what they pushed out of the window is copied.
    expect(other).toEqual([11, 13]);
  });

  it('is not mixed up by other options on the same messages', () => {
    const messages = history();
    const all = [slidingWindow({ turns: 2 }), slidingWindow({ turns: 4 }), polling({ turns: 2 }), never()];
    for (const policy of [...all, ...all]) {
      expect(fit(messages, { policy }).messages).toEqual(fit(structuredClone(messages), { policy }).messages);
    }
  });

  it('sees tools that changed in place', () => {
    const messages = history();
    const tools = [{ name: 'bash', description: 'Runs a command.' }];
    const before = fit(messages, { tools }).report.tokens.after;
    tools[0] = { name: 'bash', description: 'Runs a command. '.repeat(100) };
    expect(fit(messages, { tools }).report.tokens.after).toBeGreaterThan(before + 200);
  });
});

describe('what fit remembers, after a review that broke it', () => {
  const results = (count: number): object[] => [
    { role: 'system', content: 'You are an agent.' },
    { role: 'user', content: 'Fix it.' },
    ...Array.from({ length: count }, (_, i) => [
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `c${i}`, content: `line ${i}\n`.repeat(400) },
    ]).flat(),
  ];
  /** From the third call on the memory is used. */
  const fitOften = (messages: readonly object[], options: FitOptions) =>
    [0, 1, 2].map(() => fit(messages, options)).at(-1);
  const contents = (messages: readonly object[], options: FitOptions) => fit(messages, options).messages;

  it('tells policies apart that differ only in a function', () => {
    const messages = results(4);
    fitOften(messages, { policy: sweAgent({ turns: 1, placeholder: () => '[first]' }) });
    const policy = sweAgent({ turns: 3, placeholder: () => '[second]' });
    expect(contents(messages, { policy })).toEqual(contents(structuredClone(messages), { policy }));
  });

  it('takes a policy that was spread from another for one of its own', () => {
    const messages = results(4);
    const base = slidingWindow({ turns: 1 });
    fitOften(messages, { policy: base });
    const own: Policy = { ...base, step: (state) => ({ state, mask: [], because: { act: 'wait', because: 'mine' } }) };
    expect(fit(messages, { policy: own }).report.maskedCount).toBe(0);
  });

  it('sees a field that was added in place', () => {
    const last: Record<string, unknown> = { role: 'assistant' };
    const messages = [...results(4), last];
    fitOften(messages, {});
    last.content = 'late words '.repeat(500);
    expect(fit(messages).report).toEqual(fit(structuredClone(messages)).report);
  });

  it('does not go on with a plan that a callback broke off', () => {
    let isBroken = false;
    const placeholder = (): string => {
      if (isBroken) throw new Error('broken');
      return '[gone]';
    };
    const options = { policy: slidingWindow({ turns: 1, placeholder }) };
    const messages = results(4);
    fitOften(messages, options);
    messages.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: 'z'.repeat(200) });
    isBroken = true;
    expect(() => fit(messages, options)).toThrow('broken');
    isBroken = false;
    expect(fit(messages, options).report).toEqual(fit(structuredClone(messages), options).report);
  });

  it('answers where a copy that it gave out cannot be read any more', () => {
    const messages = results(4);
    const options = { policy: slidingWindow({ turns: 1 }) };
    const get = (): never => {
      throw new Error('broken');
    };
    Object.defineProperty(fit(messages, options).messages[3], 'broken', { enumerable: true, get });
    expect(fit(messages, options).messages).toEqual(fit(structuredClone(messages), options).messages);
  });

  it('hands out plans that nobody can change for others', () => {
    const talkative = results(6).map((message) =>
      'tool_calls' in message ? { ...message, content: 'I look. '.repeat(300) } : message,
    );
    const { plan } = fit(talkative, { policy: never(), maxTokens: 3000 });
    expect(new Set(plan.edits.map(({ kind }) => kind))).toEqual(new Set(['drop', 'insert']));
    for (const edit of plan.edits) expect(() => Object.assign(edit, { to: 1, before: 1 })).toThrow(TypeError);
  });

  it('hands out reports that nobody can change for others', () => {
    const { decision } = fit(results(2), { policy: slidingWindow({ turns: 9 }) }).report;
    expect(() => Object.assign(decision, { because: 'changed by a caller' })).toThrow(TypeError);
    expect(fit(results(2), { policy: slidingWindow({ turns: 9 }) }).report.decision.because).toBe(
      'no result left the window',
    );
  });
});
