// The document on observation masking, heading by heading. Its four definitions of the window contradict each other; here
// exactly the last M turns are whole: turn i of t is masked where i <= t - M.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  countTokens,
  type FitOptions,
  fit,
  fitAndStore,
  type HybridOptions,
  handleOf,
  hybrid,
  ObservationMaskingContextManager,
  openHands,
  slidingWindow,
  sweAgent,
} from '../../src/index.ts';
import { createMemorySession, openSession } from '../../src/manager/index.ts';
import { createMemoryStore, openStore, recall, type Store, type TurnRecord } from '../../src/store/index.ts';
import { runLoop } from '../support/agent-loop.ts';
import {
  changedTurns,
  contents,
  history,
  prose,
  range,
  results,
  system,
  toolTurn,
  unpaired,
  user,
} from '../support/chat.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { palimpsest } from '../support/memory-io.ts';

const OMITTED = '[Observation omitted for brevity]';
const fitChat = (messages: readonly ChatMessage[], options: FitOptions = {}) =>
  fit(messages, { format: chat, ...options });
const window = (turns: number) => slidingWindow({ turns });
const maskedTurns = (run: readonly ChatMessage[], turns: number): number[] =>
  changedTurns(run, fitChat(run, { policy: window(turns) }).messages);

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-seed-002-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A run of a software engineer's agent: 84 % of its tokens are tool output, as the document counts them. */
const trajectory = (turns: number): ChatMessage[] => [
  system(prose(2000, 'You fix issues. ')),
  user(prose(1200, 'Fix this issue: ')),
  ...range(1, turns).flatMap((n) =>
    toolTurn({
      id: `c${n}`,
      tool: 'read_file',
      args: `{"path":"src/part-${n}.ts","why":"${prose(500)}"}`,
      text: prose(560, `Step ${n}: `),
      output: prose(6000, `output ${n}: `),
    }),
  ),
];

describe('002 Core concept', () => {
  it('002 Core concept: at turn 15 with M = 10 prompts and the last ten turns are full, the others are masked', () => {
    const run = history(15);
    const { messages } = fitChat(run, { policy: slidingWindow() });
    expect(messages.slice(0, 2)).toEqual(run.slice(0, 2));
    expect(results(messages).map((text) => (text === OMITTED ? 'Mask' : 'Full'))).toEqual([
      ...range(1, 5).map(() => 'Mask'),
      ...range(6, 15).map(() => 'Full'),
    ]);
  });

  it('002 Core concept: half of the tokens are gone and the reasoning chain is intact', () => {
    const run = trajectory(30);
    const { messages, report } = fitChat(run, { policy: slidingWindow() });
    expect(report.tokens.after).toBeLessThan(0.5 * report.tokens.before);
    expect(messages.filter(({ role }) => role === 'assistant')).toEqual(run.filter(({ role }) => role === 'assistant'));
  });
});

describe('002 How it works', () => {
  it('002 Masking function: turn i is masked if and only if i <= t - M, for all small t and M', () => {
    for (const t of range(0, 15))
      for (const m of range(0, 16)) {
        const found = maskedTurns(history(t, 400), m);
        expect({ t, m, found }).toEqual({ t, m, found: range(1, t).filter((i) => i <= t - m) });
      }
  });

  it('002 Masking function: a result of at most 80 tokens stays, and minTokens: 0 masks it too', () => {
    const run = history(3, 300);
    expect(countTokens(results(run)[0] ?? '')).toBeLessThanOrEqual(80);
    const changed = (options: object): number[] =>
      changedTurns(run, fitChat(run, { policy: slidingWindow({ turns: 1, ...options }) }).messages);
    expect([changed({}), changed({ minTokens: 0 })]).toEqual([[], [1, 2]]);
  });

  it.each(['[Output omitted for brevity]', '[Previous 50 lines omitted]', '[Tool output truncated]'])(
    '002 Example placeholders: %s',
    (placeholder) => {
      const { messages } = fitChat(history(4, 600), { policy: slidingWindow({ turns: 3, placeholder }) });
      expect(results(messages)[0]).toBe(placeholder);
    },
  );

  it('002 Example placeholders: [Observation hidden - see turn X for full output], with the turn', () => {
    const placeholder = ({ turn }: { readonly turn: number }): string =>
      `[Observation hidden - see turn ${turn} for full output]`;
    const { messages } = fitChat(history(4, 600), { policy: slidingWindow({ turns: 2, placeholder }) });
    expect(results(messages).slice(0, 2)).toEqual([
      '[Observation hidden - see turn 1 for full output]',
      '[Observation hidden - see turn 2 for full output]',
    ]);
  });

  it('002 What gets preserved: system prompt, user prompt, reasoning and actions are the same objects', () => {
    const run = deepFreeze(trajectory(20));
    const { messages } = fitChat(run, { policy: window(3) });
    for (const [i, message] of run.entries()) if (message.role !== 'tool') expect(messages[i]).toBe(message);
  });

  it('002 What gets preserved: an observation is masked if it is old', () => {
    expect(maskedTurns(trajectory(20), 3)).toEqual(range(1, 17));
  });

  it('002 What gets preserved: under a budget too, every action and every thought stays while a result can be masked', () => {
    const run = [
      system('You fix issues.'),
      user('Fix this issue.'),
      ...range(1, 60).flatMap((n) =>
        toolTurn({
          id: `c${n}`,
          tool: 'read_file',
          args: `{"path":"src/part-${n}.ts"}`,
          text: `Decision ${n}`,
          output: prose(60_000, `output ${n}: `),
        }),
      ),
    ];
    const { messages, report } = fitChat(run, { maxTokens: 100_000 });
    expect(messages.filter(({ role }) => role === 'assistant')).toEqual(run.filter(({ role }) => role === 'assistant'));
    expect(report.tokens.after).toBeLessThanOrEqual(100_000);
    expect(messages.slice(-2)).toEqual(run.slice(-2));
  });
});

describe('002 Implementation', () => {
  it('002 Algorithm: the first two turns are turns like any other, and prompts are never counted as turns', () => {
    expect([10, 11, 12, 15].map((t) => maskedTurns(history(t, 400), 10))).toEqual([[], [1], [1, 2], range(1, 5)]);
  });

  it('002 Algorithm: [Turn i observation omitted for brevity]', () => {
    const placeholder = ({ turn }: { readonly turn: number }): string =>
      `[Turn ${turn} observation omitted for brevity]`;
    const { messages } = fitChat(history(4, 600), { policy: slidingWindow({ turns: 2, placeholder }) });
    expect(results(messages).slice(0, 2)).toEqual(range(1, 2).map((turn) => placeholder({ turn })));
  });

  it('002 Agent loop: every request is masked before it is sent, and the full turn is what is stored', async () => {
    const context = createMemorySession<ChatMessage>({ policy: window(2) });
    const output = (n: number): string => prose(800, `output ${n}: `);
    const { requests, result } = await runLoop({ iterations: 6, output, context });
    for (const [i, request] of requests.entries())
      expect(results(request)).toEqual(range(1, i).map((n) => (n <= i - 2 ? OMITTED : output(n))));
    expect(results(context.messages())).toEqual(range(1, 6).map(output));
    expect(result).toMatchObject({ status: 'complete', text: 'Done.' });
  });

  it('002 Agent loop: it ends at max_turns', async () => {
    const { requests, result } = await runLoop({ iterations: 9, output: () => 'ok', maxToolIterations: 4 });
    expect(requests).toHaveLength(4);
    expect(result.status).toBe('max-iterations');
  });
});

describe('002 Key parameter: window size (M)', () => {
  it('002 Optimal value: M is 10 where nothing is said', () => {
    const run = history(20, 400);
    expect(changedTurns(run, fitChat(run, { policy: slidingWindow() }).messages)).toEqual(maskedTurns(run, 10));
    const manager = new ObservationMaskingContextManager();
    for (const i of range(1, 20)) manager.addTurn('r', 'a', prose(300, `${i} `));
    expect(manager.estimateTokenSavings()).toMatchObject({ visibleTurns: 10, maskedTurns: 10 });
  });

  it('002 Optimal value: M = 5 sends less than M = 10, and M = 20 more', () => {
    const run = trajectory(60);
    const sent = [5, 10, 20].map((turns) => fitChat(run, { policy: window(turns) }).report.tokens.after);
    expect(sent).toEqual([...sent].sort((a, b) => a - b));
    expect(new Set(sent).size).toBe(3);
  });

  it('002 Why M = 10 works: recent results, reasoning and actions of the last ten turns are whole', () => {
    const run = trajectory(40);
    expect(fitChat(run, { policy: slidingWindow() }).messages.slice(-20)).toEqual(run.slice(-20));
  });

  it('002 Tuning, agent scaffold: sweAgent has a window of 10, openHands one of 58', () => {
    const run = history(70, 400);
    const first = (policy: FitOptions['policy']) => changedTurns(run, fitChat(run, policy ? { policy } : {}).messages);
    expect(first(sweAgent())).toEqual(range(1, 60));
    expect(first(openHands())).toEqual(range(1, 12));
  });

  it('002 Tuning, turn limit: on a longer trajectory hybrid sends less than the window alone', () => {
    const run = trajectory(120);
    const sent = (policy: NonNullable<FitOptions['policy']>) => fitChat(run, { policy }).report.tokens.after;
    expect(sent(hybrid())).toBeLessThan(sent(slidingWindow()));
  });
});

describe("002 Why it's so effective", () => {
  it('002 The 84% rule: the report says how many tokens are observations, and masking takes them from there only', () => {
    const { report } = fitChat(trajectory(60), { policy: slidingWindow() });
    const { observation, reasoning, action } = report.byKind;
    const turns = observation.before.tokens + reasoning.before.tokens + action.before.tokens;
    expect(observation.before.tokens / turns).toBeGreaterThan(0.8);
    expect(observation.before.tokens / turns).toBeLessThan(0.88);
    expect([reasoning.after, action.after]).toEqual([reasoning.before, action.before]);
    expect(report.tokens.before - report.tokens.after).toBe(observation.before.tokens - observation.after.tokens);
  });

  it('002 Cost impact: at turn 100 about 180,000 tokens become about 45,000, 75 % fewer', () => {
    const { report } = fitChat(trajectory(100), { policy: slidingWindow() });
    expect(report.tokens.before).toBeGreaterThan(150_000);
    expect(1 - report.tokens.after / report.tokens.before).toBeGreaterThan(0.7);
  });
});

describe('002 Integration with linear hashing', () => {
  const whole = { session: 's', turn: 12, reasoning: 'r', action: 'a', observation: 'all of it', masked: false };

  it('002 Records: a turn is stored with its id, reasoning, action and observation, recent ones in full', async () => {
    const store = await openStore({ path: join(folder, 'records') });
    await store.putTurn(whole);
    expect(await store.turn('s', 12)).toEqual(whole);
    await store.close();
  });

  it('002 Records: an old turn refers to what its placeholder hides', async () => {
    const store = await openStore({ path: join(folder, 'reference') });
    const text = prose(5000, 'the file: ');
    const handle = await store.put(text, { session: 's', turn: 1, tool: 'read_file' });
    const results = [{ callId: 'c1', tool: 'read_file', handle }];
    await store.putTurn({ ...whole, turn: 1, observation: OMITTED, masked: true, results });
    const [result] = (await store.turn('s', 1))?.results ?? [];
    expect((await recall(store, result?.handle ?? '')).text).toBe(text);
    await store.close();
  });

  it('002 Storage layout: the table is in pages of 4 KB that begin with record count and next page', async () => {
    const path = join(folder, 'pages');
    const store = await openStore({ path });
    const handles = await store.putMany(range(1, 2000).map((n) => ({ text: `text ${n}`, about: { session: 's' } })));
    await store.close();
    const index = readdirSync(join(path, 'default')).find((name) => name.endsWith('.index')) ?? '';
    const bytes = readFileSync(join(path, 'default', index));
    expect(bytes.length % 4096).toBe(0);
    const pages = range(1, bytes.length / 4096 - 1).map((n) => bytes.subarray(4096 * n, 4096 * (n + 1)));
    const counts = pages.map((page) => Number(page.readBigUInt64LE(0)));
    const next = pages.map((page) => Number(page.readBigUInt64LE(8)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(handles.length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(254);
    expect(Math.max(...next)).toBeLessThanOrEqual(pages.length);
  });

  /** All turns of a session, in the order of their numbers. */
  const turnsOf = async (store: Store, session: string): Promise<TurnRecord[]> => {
    const turns: TurnRecord[] = [];
    const { turns: list } = store as Store & { turns(session: string): AsyncIterable<TurnRecord> };
    for await (const turn of await list.call(store, session)) turns.push(turn);
    return turns;
  };

  it('002 Records: a session stores its turns, recent ones whole and old ones with placeholder and handle', async () => {
    const store = createMemoryStore();
    const options = { directory: join(folder, 'sessions'), id: 's', store, policy: window(2) };
    const session = await openSession<ChatMessage>(options);
    const run = history(5, 800);
    await session.add(...run);
    await session.render();
    await session.close();
    const [start, ...turns] = await turnsOf(store, 's');
    expect(start).toMatchObject({ turn: 0, masked: false });
    expect(turns.map(({ turn, masked }) => [turn, masked])).toEqual(range(1, 5).map((turn) => [turn, turn <= 3]));
    expect(turns.map(({ reasoning }) => reasoning)).toEqual(range(1, 5).map((n) => `step ${n}`));
    for (const { turn, masked, observation, results: hidden = [] } of turns) {
      const output = results(run)[turn - 1] ?? '';
      if (!masked) expect(observation).toBe(output);
      else expect((await recall(store, hidden[0]?.handle ?? '')).text).toBe(output);
    }
  });

  it('002 Records: fitAndStore stores the turns of its session', async () => {
    const store = createMemoryStore();
    await fitAndStore(history(5, 800), { format: chat, store, session: 's', policy: window(2) });
    const turns = await turnsOf(store, 's');
    const masked = range(0, 5).map((turn) => [turn, turn >= 1 && turn <= 3]);
    expect(turns.map((turn) => [turn.turn, turn.masked])).toEqual(masked);
  });

  it('002 Records: palimpsest recall --session shows the turns, and --turn one of them', async () => {
    const path = join(folder, 'shown');
    const store = await openStore({ path });
    await fitAndStore(history(5, 800), { format: chat, store, session: 's', policy: window(2) });
    await store.close();
    const all = await palimpsest(['recall', '--session', 's', '--store', path]);
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(/^0 +whole /m);
    for (const n of range(1, 3)) expect(all.stdout).toMatch(new RegExp(`^${n} +masked .* p_[a-z2-7]{26}$`, 'm'));
    for (const n of range(4, 5)) expect(all.stdout).toMatch(new RegExp(`^${n} +whole `, 'm'));
    const one = await palimpsest(['recall', '--session', 's', '--turn', '5', '--store', path]);
    expect(one.code).toBe(0);
    expect(one.stdout).toContain('step 5');
    expect(one.stdout).toContain('output 5: lorem');
    expect(one.stdout).not.toContain('step 4');
  });
});

describe('002 Advantages', () => {
  it('002 Advantage 1, simplicity: one call, no model, no option', () => {
    const run = history(12, 400);
    expect(changedTurns(run, fitChat(run, { policy: slidingWindow() }).messages)).toEqual([1, 2]);
  });

  it('002 Advantage 2, no warm-up: masking is active from turn M + 1 on', () => {
    for (const m of range(0, 12)) {
      expect(maskedTurns(history(m, 400), m)).toEqual([]);
      expect(maskedTurns(history(m + 1, 400), m)).toEqual([1]);
    }
  });

  it('002 Advantage 3, deterministic: the same trajectory gives the same bytes', () => {
    const run = trajectory(40);
    const once = JSON.stringify(fitChat(run, { policy: slidingWindow() }).messages);
    expect(JSON.stringify(fitChat(structuredClone(run), { policy: slidingWindow() }).messages)).toBe(once);
  });

  it('002 Advantage 4, fastest cost reduction: every token that is masked is a token that is not sent', () => {
    const run = trajectory(40);
    const { messages, report } = fitChat(run, { policy: slidingWindow() });
    const saved = range(1, 30).map((n) => countTokens(results(run)[n - 1] ?? '') - countTokens(OMITTED));
    expect(report.tokens.before - report.tokens.after).toBe(saved.reduce((sum, tokens) => sum + tokens, 0));
    expect(fitChat(messages).report.tokens.before).toBe(report.tokens.after);
  });

  it('002 Advantage 5, reasoning chain intact: each thought is beside its own action', () => {
    const run = trajectory(20);
    const { messages } = fitChat(run, { policy: window(1) });
    const steps = messages.filter(({ role }) => role === 'assistant');
    expect(steps.map(({ content, toolCalls }) => [content.slice(0, 8), toolCalls?.[0]?.id])).toEqual(
      range(1, 20).map((n) => [`Step ${n}: `.padEnd(8, 'l').slice(0, 8), `c${n}`]),
    );
  });
});

describe('002 Limitations', () => {
  it('002 Limitation 1, unbounded growth: with a budget the context is bounded, however many turns there are', () => {
    for (const turns of [10, 50, 100, 200, 500]) {
      const { messages, report } = fitChat(trajectory(turns), { policy: slidingWindow(), maxTokens: 30_000 });
      expect(report.tokens.after).toBeLessThanOrEqual(30_000);
      expect(unpaired(messages)).toEqual([]);
      expect(messages).toContainEqual(trajectory(0)[1]);
    }
  });

  it('002 Limitation 2, no semantic compression: hybrid writes a summary of the oldest turns', () => {
    const { messages } = fitChat(trajectory(60), { policy: hybrid() });
    expect(contents(messages).filter((text) => text.startsWith('Conversation summary'))).toHaveLength(1);
    expect(results(messages)).toHaveLength(17);
  });

  it('002 Limitation 2, no semantic compression: a caller may write the summary of hybrid', () => {
    const summarize = (): string => 'The agent read forty files and found nothing.';
    const { messages } = fitChat(trajectory(60), { policy: hybrid({ summarize } as HybridOptions) });
    expect(contents(messages).join('\n')).toContain('The agent read forty files and found nothing.');
  });

  it('002 Limitation 2, no semantic compression: the summary of hybrid tells outcomes, not placeholders', () => {
    const run = [
      system('You fix issues.'),
      user('Fix this issue.'),
      ...range(1, 12).flatMap((n) =>
        toolTurn({ id: `c${n}`, text: prose(300, `Step ${n} `), output: `test ${n} is green\n${prose(2000)}` }),
      ),
    ];
    const { messages } = fitChat(run, { policy: hybrid({ window: 2, summarizeEvery: 5 }) });
    const summary = contents(messages).find((text) => text.startsWith('Conversation summary')) ?? '';
    expect(summary).toMatch(/Key tool outcomes: .*test \d+ is green/);
    expect(summary).not.toContain('omitted for brevity');
  });

  it('002 Limitation 3, potential context loss: what is masked is recalled by the handle in its placeholder', async () => {
    const store = createMemoryStore();
    const run = trajectory(12);
    const { messages } = await fitAndStore(run, { format: chat, store, policy: slidingWindow() });
    for (const [i, text] of results(messages).slice(0, 2).entries()) {
      const [handle = ''] = /p_[a-z2-7]{26}/.exec(text) ?? [];
      expect(handle).toBe(handleOf(results(run)[i] ?? ''));
      expect((await recall(store, handle)).text).toBe(results(run)[i]);
    }
  });

  it('002 Limitation 4, scaffold-specific tuning: any M is one option', () => {
    for (const turns of [1, 10, 58]) expect(maskedTurns(history(70, 400), turns)).toEqual(range(1, 70 - turns));
  });
});

describe('002 When to use', () => {
  it('002 Ideal for: a short trajectory is left alone', () => {
    const run = trajectory(10);
    expect(fitChat(run, { policy: slidingWindow() }).messages).toEqual(run);
  });

  it('002 Open source implementations: sweAgent says how many lines it omitted', () => {
    const run = [user('go'), ...range(1, 11).flatMap((n) => toolTurn({ id: `c${n}`, output: 'a line\n'.repeat(60) }))];
    expect(results(fitChat(run, { policy: sweAgent() }).messages)[0]).toBe(
      'Old environment output: (60 lines omitted)',
    );
  });
});

describe('002 Code example: ObservationMaskingContextManager', () => {
  it('002 __init__: window of 10 and the placeholder, both may be changed', () => {
    const one = new ObservationMaskingContextManager();
    const other = new ObservationMaskingContextManager({ windowSize: 1, placeholder: '[gone]' });
    for (const manager of [one, other])
      for (const i of range(1, 11)) manager.addTurn(`r${i}`, `a${i}`, prose(200, `seen ${i} `));
    expect(one.getMaskedContext('S', 'U').split(OMITTED)).toHaveLength(2);
    expect(other.getMaskedContext('S', 'U').split('[gone]')).toHaveLength(11);
  });

  it('002 add_turn: turns are stored unmasked: a context read earlier is unmasked', () => {
    const manager = new ObservationMaskingContextManager({ windowSize: 1, placeholder: '[gone]' });
    manager.addTurn('r1', 'a1', 'first observation with some text');
    expect(manager.getMaskedContext('S', 'U')).toBe(
      'S\nU\n\nTurn 1:\nReasoning: r1\nAction: a1\nObservation: first observation with some text\n',
    );
    manager.addTurn('r2', 'a2', 'second');
    expect(manager.getMaskedContext('S', 'U')).toBe(
      'S\nU\n\nTurn 1:\nReasoning: r1\nAction: a1\nObservation: [gone]\n\n\nTurn 2:\nReasoning: r2\nAction: a2\nObservation: second\n',
    );
  });

  it('002 get_masked_context: exactly M turns are visible, reasoning and action of all', () => {
    for (const t of range(1, 8))
      for (const m of range(0, 9)) {
        const manager = new ObservationMaskingContextManager({ windowSize: m });
        for (const i of range(1, t)) manager.addTurn(`reason ${i}`, `act ${i}`, prose(300, `seen ${i} `));
        const context = manager.getMaskedContext('SYSTEM', 'TASK');
        expect(range(1, t).filter((i) => !context.includes(`seen ${i} `))).toEqual(
          range(1, t).filter((i) => i <= t - m),
        );
        expect(manager.estimateTokenSavings()).toMatchObject({
          maskedTurns: Math.max(0, t - m),
          visibleTurns: Math.min(t, m),
        });
        for (const i of range(1, t))
          expect(context).toContain(`Turn ${i}:\nReasoning: reason ${i}\nAction: act ${i}\n`);
      }
  });

  it('002 estimate_token_savings: savings are counted in tokens, not in words, and never assumed', () => {
    const manager = new ObservationMaskingContextManager({ windowSize: 1 });
    const output = 'a,b;c.d:'.repeat(100);
    for (const i of range(1, 3)) manager.addTurn('r', 'a', `${i}${output}`);
    const savings = manager.estimateTokenSavings();
    const sizes = range(1, 3).map((i) => countTokens(`${i}${output}`));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const saved = (sizes[0] ?? 0) + (sizes[1] ?? 0) - 2 * countTokens(OMITTED);
    expect(savings.totalObservationTokens).toBeGreaterThanOrEqual(total);
    expect(savings.estimatedSavedTokens).toBe(saved);
    expect(savings.reductionPercent).toBeCloseTo((saved / savings.totalObservationTokens) * 100, 6);
    expect(new ObservationMaskingContextManager().estimateTokenSavings()).toMatchObject({
      totalObservationTokens: 0,
      estimatedSavedTokens: 0,
      reductionPercent: 0,
    });
  });

  it('002 Usage example: the loop of the document, to its last line', () => {
    const manager = new ObservationMaskingContextManager({ windowSize: 10 });
    let context = '';
    for (const turn of range(1, 50)) {
      context = manager.getMaskedContext('system', 'user');
      manager.addTurn(turn === 30 ? 'done' : `reason ${turn}`, `act ${turn}`, prose(2000, `seen ${turn} `));
      if (turn === 30) break;
    }
    expect(context.split(OMITTED)).toHaveLength(20);
    const { maskedTurns: hidden, visibleTurns, reductionPercent } = manager.estimateTokenSavings();
    expect([hidden, visibleTurns]).toEqual([20, 10]);
    expect(reductionPercent).toBeGreaterThan(60);
  });
});
