import { describe, expect, it } from 'vitest';
import {
  changedTurns,
  contents,
  history,
  omitted,
  pair,
  prose,
  range,
  reply,
  results,
  system,
  toolTurn,
  user,
} from '../../test/support/chat.ts';
import { deepFreeze } from '../../test/support/deep-freeze.ts';
import {
  type ChatMessage,
  createPlanner,
  type FitOptions,
  fit,
  hybrid,
  never,
  PalimpsestError,
  polling,
  slidingWindow,
  stateless,
} from '../index.ts';
import { handleOf } from '../store/handle.ts';
import { countTokens } from '../tokens/count-tokens.ts';

function errorOf(run: () => unknown): PalimpsestError {
  try {
    run();
  } catch (error) {
    if (error instanceof PalimpsestError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const kindsOf = (fitted: ReturnType<typeof fit>): string[] =>
  [...new Set(fitted.plan.edits.map((edit) => (edit.kind === 'replace' ? edit.why : edit.kind)))].sort();

/** Anthropic's messages; the turns in `signed` begin with signed thinking. */
function thinking(turns: number, signed: readonly number[] = []): object[] {
  const list: object[] = [{ role: 'user', content: 'task' }];
  for (const turn of range(1, turns)) {
    const thought = signed.includes(turn) ? [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }] : [];
    list.push(
      { role: 'assistant', content: [...thought, { type: 'tool_use', id: `c${turn}`, name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${turn}`, content: prose(1000, `${turn} `) }] },
    );
  }
  return list;
}

/** Turns whose decisions are large and whose results are nothing to mask. */
const decisions = (turns: number): ChatMessage[] => [
  system('You are a careful engineer.'),
  user('Fix the build.'),
  ...range(1, turns).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(1000, `step ${n} `), output: 'ok' })),
];

describe('the order of stages', () => {
  // 20 turns of about 250 tokens; the window of never() is 10.
  const messages = deepFreeze(history(20));
  const at = (maxTokens: number) => fit(messages, { maxTokens, policy: never() });

  it('does nothing within the budget', () => {
    const { report } = fit(messages, { policy: never() });
    const fitted = at(report.tokens.before);
    expect(fitted.plan.edits).toEqual([]);
    expect(fitted.messages).toEqual(messages);
    expect(fitted.messages).not.toBe(messages);
    for (const [i, message] of fitted.messages.entries()) expect(message).toBe(messages[i]);
  });
  it('masks what is outside the window first, and no more', () => {
    const fitted = at(4000);
    expect(kindsOf(fitted)).toEqual(['mask']);
    expect(fitted.report.reductionStage).toBe('masking');
    for (const turn of changedTurns(messages, fitted.messages)) expect(turn).toBeLessThanOrEqual(10);
  });
  it('summarises where masking is not enough', () => {
    const long = history(60).map((m) => (m.role === 'assistant' ? { ...m, content: prose(300, m.content) } : m));
    const fitted = fit(long, { maxTokens: 6000, policy: never() });
    expect(fitted.report.reductionStage).toBe('summarization');
    expect(contents(fitted.messages)[1]).toMatch(/^Conversation summary/);
    expect(contents(fitted.messages).join()).not.toContain('conversation truncated');
  });
  it('masks inside the window, oldest first, all but the newest turn, before a decision goes', () => {
    const large = deepFreeze(history(60, 60_000));
    const fitted = fit(large, { maxTokens: 100_000, policy: never() });
    expect(kindsOf(fitted)).toEqual(['mask']);
    const said = contents(fitted.messages);
    for (const turn of range(1, 60)) expect(said).toContain(`step ${turn}`);
    const masked = changedTurns(large, fitted.messages);
    expect(masked).toEqual(range(1, masked.length));
    expect(masked.length).toBeGreaterThan(50);
    expect(fitted.messages.at(-1)).toBe(large.at(-1));
  });
  it('masks down to 80 % of the budget, so that the next turn does not cut again', () => {
    const cuts = range(1, 20).flatMap((turns) => {
      const { report } = fit(messages.slice(0, 2 + 2 * turns), { maxTokens: 2500, policy: never() });
      return report.decision.act === 'over-limit' ? [report.tokens.after] : [];
    });
    expect(cuts.length).toBeGreaterThan(2);
    expect(cuts.length).toBeLessThan(8);
    for (const size of cuts) expect(size).toBeLessThanOrEqual(2000);
  });
  it('keeps every decision where masks are enough for the budget, though not for 80 % of it', () => {
    const [prompt, task, ...turns] = decisions(4) as [ChatMessage, ChatMessage, ...ChatMessage[]];
    const nearly = [prompt, task, ...toolTurn({ id: 'd', output: prose(600) }), ...turns];
    const maxTokens = fit(nearly, { policy: never() }).report.tokens.before - 50;
    const fitted = fit(nearly, { maxTokens, policy: never() });
    expect(fitted.report.tokens.after).toBeGreaterThan(0.8 * maxTokens);
    expect(kindsOf(fitted)).toEqual(['mask']);
  });
  it('drops the oldest turns down to 80 % where there is no result to mask', () => {
    const large = decisions(20);
    const fitted = fit(large, { maxTokens: 1500, policy: never() });
    expect(fitted.report.reductionStage).toBe('fallback');
    expect(contents(fitted.messages).slice(0, 2)).toEqual(contents(large).slice(0, 2));
    expect(contents(fitted.messages)[2]).toMatch(/^\[conversation truncated — \d+ older messages omitted\]$/);
    const drops = range(1, 20).flatMap((turns) => {
      const { report } = fit(large.slice(0, 2 + 2 * turns), { maxTokens: 1500, policy: never() });
      return report.decision.act === 'over-limit' ? [report.tokens.after] : [];
    });
    expect(drops.length).toBeGreaterThan(2);
    for (const size of drops) expect(size).toBeLessThanOrEqual(1200);
  });
  it('keeps a question with the rest of its answer, whose beginning was left out before, also where its output is fed back', () => {
    const task = [user('Fix the build.'), reply(prose(1200, 'It is fixed: ')), user('And the docs?')];
    const [begun, ended] = [
      toolTurn({ id: 'a', text: prose(2400), output: 'ok' }),
      toolTurn({ id: 'b', output: 'ok' }),
    ];
    const next = [reply(prose(2400, 'They are written: ')), user('Release it.'), user('Now.')];
    const options = { maxTokens: 900, policy: never(), counter: (text: string) => text.length / 4 };
    const first = fit([...task, ...begun, ...ended], options).messages;
    expect(first).toEqual([task[0], system(omitted(2)), ...task.slice(1), ...ended]);
    const whole = fit([...task, ...begun, ...ended, ...next], options);
    expect(whole.messages).toEqual([task[0], system(omitted(3)), task[2], ...ended, ...next]);
    expect(fit([...first, ...next], options).messages).toEqual(whole.messages);
    const planner = createPlanner<ChatMessage>({ ...options, format: 'chat' });
    for (const message of [...task, ...begun, ...ended, ...next]) planner.add(message);
    expect({ plan: planner.plan(), report: planner.report() }).toEqual({ plan: whole.plan, report: whole.report });
    const later = [...toolTurn({ id: 'c', text: prose(1200), output: 'ok' }), user('Stop.')];
    const last = fit([...task, ...begun, ...ended, ...next, ...later], options);
    expect(last.messages).toEqual([task[0], system(omitted(7)), ...next.slice(1), ...later]);
    expect(last.hidden.at(-1)?.text.split('\n').slice(1)).toEqual(
      [task[2], ...ended, next[0]].map((m) => JSON.stringify(m)),
    );
  });
  it('clips the newest result where that alone is too large', () => {
    const last = [...messages.slice(0, 4), ...pair('big', prose(40_000))];
    const fitted = fit(last, { maxTokens: 1500, recall: true });
    expect(fitted.report.edits.clip).toBe(1);
    const text = String(fitted.messages.at(-1)?.content);
    expect(text).toMatch(/\[truncated: kept first\+last ~\d+ of ~\d+ tokens \(both\) · p_[a-z2-7]{26}\]/);
    expect(text.startsWith('lorem ipsum')).toBe(true);
    expect(fitted.report.tokens.after).toBeLessThanOrEqual(1500);
  });
  it('asks the policy first, whatever the size', () => {
    const fitted = fit(messages, { policy: slidingWindow({ turns: 3 }), maxTokens: 1_000_000 });
    expect(changedTurns(messages, fitted.messages)).toEqual(range(1, 17));
    expect(fitted.report.decision.act).toBe('mask');
  });
  it('keeps the task, the system prompt and the newest word of the user through every stage', () => {
    const spoken = [...messages, user('And now?')];
    for (const maxTokens of [4000, 2000, 1000, 500, 350]) {
      const said = contents(fit(spoken, { maxTokens, policy: never() }).messages);
      for (const text of ['You are a careful engineer.', 'Fix the build.', 'And now?']) expect(said).toContain(text);
    }
  });
  it('is within every budget that it does not refuse', () => {
    let refused = 0;
    for (let maxTokens = 20; maxTokens < 3000; maxTokens += 37) {
      try {
        expect(fit(messages, { maxTokens, policy: never() }).report.tokens.after).toBeLessThanOrEqual(maxTokens);
      } catch (error) {
        expect((error as PalimpsestError).code).toBe('BUDGET_IMPOSSIBLE');
        expect(maxTokens).toBeLessThan(100);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(0);
  });
});

describe('the budget', () => {
  const messages = history(20);
  const { before } = fit(messages).report.tokens;

  it('counts system prompt and tools beside the messages', () => {
    const beside = { system: prose(500), tools: [{ name: 'bash', description: prose(300) }] };
    const size = countTokens(prose(500)) + countTokens(JSON.stringify(beside.tools));
    const { tokens } = fit(messages, beside).report;
    expect(tokens.before).toBe(before + size);
    expect(fit(messages, { ...beside, policy: never(), maxTokens: before + size }).plan.edits).toEqual([]);
    expect(fit(messages, { ...beside, policy: never(), maxTokens: before + size - 1 }).plan.edits).not.toEqual([]);
  });
  it('is the window of the model where maxTokens is not given', () => {
    const tiny = (options: FitOptions) =>
      fit(messages, { contextWindows: { tiny: 1000 }, policy: never(), ...options });
    expect(tiny({ model: 'my-Tiny-model' }).report.tokens.after).toBeLessThanOrEqual(1000);
    expect(tiny({ model: 'tiny', maxTokens: before }).plan.edits).toEqual([]);
    expect(tiny({ model: 'gpt-4o' }).plan.edits).toEqual([]);
  });
  it('is counted by a counter whose own error is the one that is thrown', () => {
    const counter = (): number => {
      throw new Error('no such model');
    };
    expect(() => fit(messages, { counter, system: 'You are an agent.' })).toThrow('no such model');
  });
  it('is counted with the counter that is given', () => {
    const counter = (text: string): number => text.length;
    const { report } = fit(messages, { counter, maxTokens: 8000 });
    expect(report.tokens.before).toBeGreaterThan(20_000);
    expect(report.tokens.after).toBeLessThanOrEqual(8000);
  });
  it.each([
    ['a cyclic system prompt', { system: cyclic() }],
    ['tools with a BigInt', { tools: [{ name: 'x', limit: 3n }] }],
    ['tools that are functions', { tools: [() => 1] }],
    ['a symbol', { system: Symbol('s') }],
  ])('is no reason to fall over %s', (_, beside) => {
    const run = () => fit(messages, beside as FitOptions);
    let code = 'fitted';
    try {
      run();
    } catch (error) {
      code = error instanceof PalimpsestError ? error.code : `threw ${error}`;
    }
    expect(['fitted', 'BAD_OPTION']).toContain(code);
  });
});

function cyclic(): object {
  const value: Record<string, unknown> = { text: 'x' };
  value.self = value;
  return value;
}

describe('BUDGET_IMPOSSIBLE', () => {
  it('names what cannot be cut, with its size', () => {
    const beside = { system: prose(400), tools: [{ name: 'bash' }] };
    const messages = [system('S'), user(prose(900)), ...pair('a', prose(4000))];
    const error = errorOf(() => fit(messages, { ...beside, maxTokens: 100 }));
    expect(error.code).toBe('BUDGET_IMPOSSIBLE');
    const besideSize = countTokens(beside.system) + countTokens(JSON.stringify(beside.tools));
    expect(error.message).toContain('cut to 100 tokens');
    expect(error.message).toContain(`system prompt, tools and notes ${besideSize + 1}`);
    expect(error.message).toContain(`user messages ${countTokens(prose(900))}`);
    const sizes = [...error.message.matchAll(/\d+/g)].map(Number);
    expect(sizes[1]).toBeGreaterThan(100);
  });
  it('is thrown for a task that is too large, and not for one that just fits', () => {
    const messages = [user(prose(900))];
    const { before } = fit(messages).report.tokens;
    expect(errorOf(() => fit(messages, { maxTokens: before - 1 })).code).toBe('BUDGET_IMPOSSIBLE');
    expect(fit(messages, { maxTokens: before }).plan.edits).toEqual([]);
  });
  it('is thrown where the tools alone are too large', () => {
    expect(errorOf(() => fit([], { tools: [{ name: prose(900) }], maxTokens: 10 })).code).toBe('BUDGET_IMPOSSIBLE');
  });
});

describe('what fit takes', () => {
  it.each([null, undefined, 'text', {}, 5, new Set(), { length: 2 }])('refuses %s with BAD_INPUT', (wrong) => {
    // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
    const error = errorOf(() => fit(wrong as any));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toContain('Expected a list of messages');
  });
  it.each([[[null]], [['text']], [[5]], [[{}]], [[{ a: 1 }]], [[{ role: 'user' }]], [[[]]]])(
    'does not know the format of %j',
    (list) => {
      expect(errorOf(() => fit(list as object[])).code).toBe('UNKNOWN_FORMAT');
    },
  );
  it('takes any list where the format is given', () => {
    const list = [null, 'text', 5, {}, { role: 'user' }, []];
    // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
    expect(fit(list as any[], { format: 'chat', policy: slidingWindow() }).messages).toEqual(list);
  });
  it.each([[null], [5], ['all'], [[]], [{ cleen: true }]])('refuses the arrival %j', (arrival) => {
    const { code, message } = errorOf(() => fit(history(2), { arrival: arrival as never }));
    expect([code, message]).toEqual(['BAD_OPTION', expect.stringContaining('arrival')]);
  });
  it('takes an empty list', () => {
    const { messages, plan, hidden, report } = fit([], { maxTokens: 5, policy: slidingWindow() });
    expect([messages, plan, hidden]).toEqual([[], { version: 1, edits: [] }, []]);
    expect(report.tokens).toEqual({ before: 0, after: 0 });
  });
  it('takes a format by its name, and detects it', () => {
    const options = { policy: slidingWindow({ turns: 1 }) };
    const list = thinking(3);
    expect(fit(list, options).messages).toEqual(fit(list, { ...options, format: 'anthropic' }).messages);
  });
});

describe('hidden', () => {
  const messages = deepFreeze(history(20));

  it.each<[string, FitOptions]>([
    ['masks', { policy: slidingWindow({ turns: 3 }) }],
    ['polling', { policy: polling({ turns: 3, every: 4 }) }],
    ['summaries', { policy: hybrid({ window: 2, summarizeEvery: 4 }) }],
    ['drops', { maxTokens: 1500, policy: never() }],
    ['clips', { maxTokens: 300, policy: never() }],
  ])('names each text by its own handle: %s', (_, options) => {
    const { hidden, plan } = fit(messages, options);
    expect(hidden.length).toBeGreaterThan(0);
    for (const { handle, text } of hidden) expect(handle).toBe(handleOf(text));
    const handles = new Set(hidden.map(({ handle }) => handle));
    for (const edit of plan.edits) if (edit.kind === 'replace') expect(handles.has(edit.handle as string)).toBe(true);
  });
  it('holds the original text of each masked result, and what it was', () => {
    const { hidden } = fit(messages, { policy: slidingWindow({ turns: 18 }) });
    const text = (turn: number): string => results(messages)[turn - 1] as string;
    expect(hidden).toEqual([
      { handle: handleOf(text(1)), text: text(1), why: 'mask', turn: 1, tool: 'bash', callId: 'c1' },
      { handle: handleOf(text(2)), text: text(2), why: 'mask', turn: 2, tool: 'bash', callId: 'c2' },
    ]);
  });
  it('holds the whole content of a result that is more than a text', () => {
    const content = [
      { type: 'text', text: prose(1000) },
      { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
    ];
    const list = thinking(2);
    list[2] = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content }] };
    const { hidden } = fit(list, { policy: slidingWindow({ turns: 1 }) });
    expect(JSON.parse(hidden[0]?.text ?? '')).toEqual(content);
  });
  it('holds dropped turns as they went out, one message on a line', () => {
    const large = decisions(20);
    const { hidden } = fit(large, { maxTokens: 1500, policy: never() });
    const dropped = hidden.filter(({ why }) => why === 'drop');
    const lines = dropped.flatMap(({ text }) => text.split('\n').filter((line) => line.startsWith('{')));
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.map((line) => JSON.parse(line))).toEqual(large.slice(2, 2 + lines.length));
  });
  it('is empty where nothing was hidden, and without handles where texts cannot be named', () => {
    expect(fit(messages, { policy: never() }).hidden).toEqual([]);
  });
});

describe('recall', () => {
  const messages = history(3);
  const first = results(messages)[0] as string;
  const shown = (options: FitOptions): string =>
    results(fit(messages, { policy: slidingWindow({ turns: 2 }), ...options }).messages)[0] as string;

  it('shows handles when it is on, in the house style whatever the policy', () => {
    expect(shown({ recall: true })).toBe(`[bash: 1 line, 1000 chars masked · ${handleOf(first)}]`);
    expect(shown({ recall: true, tools: [{ name: 'recall' }] })).toContain(` · recall ${handleOf(first)}]`);
  });
  it('shows none when it is off', () => {
    expect(shown({})).toBe('[Observation omitted for brevity]');
    expect(shown({ recall: false, tools: [{ name: 'recall' }] })).toBe('[Observation omitted for brevity]');
  });
  it('shows one in the notice and leads from it to the dropped turns', () => {
    const { messages: fitted, hidden } = fit(decisions(20), { maxTokens: 1500, recall: true, policy: never() });
    const handle = /p_[a-z2-7]{26}/.exec(contents(fitted)[2] ?? '')?.[0];
    expect(hidden.find((item) => item.handle === handle)?.why).toBe('drop');
  });
  it('uses the way to name texts that it is given', () => {
    const named = fit(messages, { policy: slidingWindow({ turns: 2 }), handleOf: () => 'p_mine', recall: true });
    expect(results(named.messages)[0]).toContain('p_mine');
    expect(named.hidden[0]?.handle).toBe('p_mine');
  });
});

describe('signed thinking', () => {
  const policy = slidingWindow({ turns: 2 });
  const requires = (list: object[], options: FitOptions = {}): number =>
    fit(list, { policy, format: 'anthropic', ...options }).report.requires.length;

  it('needs the opt-in only if an edit comes before it', () => {
    expect(requires(thinking(5))).toBe(0);
    expect(requires(thinking(5, [5]))).toBe(1);
    expect(requires(thinking(5, [1]))).toBe(0);
    expect(requires(thinking(2, [1, 2]))).toBe(0);
    expect(requires(thinking(5, [5]), { policy: never() })).toBe(0);
  });
  it.each([
    ['claude-sonnet-4', 0],
    ['claude-opus-5', 0],
    ['claude-opus-5-5', 1],
    ['claude-sonnet-5.5', 1],
    ['something-else', 1],
    ['', 1],
    ['Claude-Next', 1],
    ['glm-5', 0],
    ['moonshotai/kimi-k2', 0],
  ])('needs it of %s: %i', (model, count) => {
    expect(requires(thinking(5, [5]), { model })).toBe(count);
  });
  it('names the field and the header', () => {
    const { report } = fit(thinking(5, [5]), { policy, format: 'anthropic' });
    expect(report.requires).toEqual([
      {
        field: 'thinking.block_binding.prefix_mismatch_behavior',
        value: 'drop_block',
        header: 'anthropic-beta',
        headerValue: 'thinking-binding-controls-2026-08-01',
      },
    ]);
  });
  it('does not need it for signed thinking that is dropped itself', () => {
    const list = thinking(30, [3]);
    const { report, messages } = fit(list, { format: 'anthropic', maxTokens: 400, policy: never() });
    expect(report.edits.drop).toBeGreaterThan(0);
    expect(JSON.stringify(messages)).not.toContain('signature');
    expect(report.requires).toEqual([]);
  });
  it('keep edits nothing before the last signed block', () => {
    const all = range(1, 12);
    const list = thinking(12, all);
    const kept = fit(list, { policy, format: 'anthropic', boundThinking: 'keep' });
    expect(kept.plan.edits).toEqual([]);
    expect(kept.report.requires).toEqual([]);
    const first = fit(thinking(12, [1]), { policy, format: 'anthropic', boundThinking: 'keep' });
    expect(first.report.maskedCount).toBe(10);
    expect(first.report.requires).toEqual([]);
  });
  it('keep drops nothing before the last signed block either, whatever the budget', () => {
    const list = thinking(12, range(1, 12));
    const error = errorOf(() => fit(list, { format: 'anthropic', boundThinking: 'keep', maxTokens: 1500 }));
    expect(error.code).toBe('BUDGET_IMPOSSIBLE');
    const { before } = fit(list, { format: 'anthropic' }).report.tokens;
    const fitted = fit(list, { format: 'anthropic', boundThinking: 'keep', maxTokens: before - 100 });
    expect(fitted.messages.slice(0, -1)).toEqual(list.slice(0, -1));
    expect(fitted.report.edits).toEqual({ mask: 0, clip: 1, shape: 0, drop: 0, insert: 0 });
  });
});

describe('a plan that breaks a law', () => {
  /** A format that rejects every list with a note in it. */
  const policy = slidingWindow({ turns: 2, placeholder: 'half of a character: \ud83d' });
  const messages = history(6);

  it('is refused: the original goes out where it fits, and the report says why', () => {
    const { messages: sent, plan, report, hidden } = fit(messages, { policy });
    expect([sent, plan.edits, hidden]).toEqual([messages, [], []]);
    expect(report.decision.act).toBe('off');
    expect(report.decision.because).toContain('splits a character');
    expect(report.tokens.after).toBe(report.tokens.before);
    expect(report.chars.after).toBe(report.chars.before);
    expect(report.edits).toEqual({ mask: 0, clip: 0, shape: 0, drop: 0, insert: 0 });
    expect(report.byKind.observation.after).toEqual(report.byKind.observation.before);
  });
  it('is LAW_BROKEN where the original does not fit', () => {
    expect(errorOf(() => fit(messages, { policy, maxTokens: 1200 })).code).toBe('LAW_BROKEN');
  });
});

it('changes no input and shares what it does not edit', () => {
  const messages = deepFreeze(history(20)) as ChatMessage[];
  const { messages: fitted } = fit(messages, { policy: slidingWindow({ turns: 5 }), maxTokens: 3000 });
  const known = new Set<object>(messages);
  for (const message of fitted) if (message.role !== 'tool') expect(known.has(message)).toBe(true);
});

describe('fit, after a review that broke it', () => {
  const talk = Array.from({ length: 9 }, (_, i) => [
    { role: 'user', content: `question ${i} `.repeat(40) },
    { role: 'assistant', content: 'yes '.repeat(60) },
  ]).flat();

  it('writes a notice that Anthropic takes into a list of plain text without a system message', () => {
    const { messages } = fit([...talk, { role: 'user', content: 'end' }], { system: 'You are kind.', maxTokens: 700 });
    expect(messages.length).toBeLessThan(talk.length);
    expect(messages.map((message) => message.role)).not.toContain('system');
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '5', undefined])('refuses a counter that answers %s', (answer) => {
    const counter = (() => answer) as unknown as (text: string) => number;
    expect(() => fit(talk, { counter })).toThrow(/counter answers to be a number of 0 or more/);
  });

  it('refuses a stateless policy that chooses something else than results', () => {
    const policy = stateless((() => [3, 5]) as never);
    expect(() => fit(talk, { policy })).toThrow(/a list of results/);
  });
});
