import { describe, expect, it } from 'vitest';
import {
  answer,
  codeOf,
  contents,
  history,
  omitted,
  parallelCalls,
  prose,
  range,
  reply,
  system,
  talk,
  toolTurn,
  unpaired,
  user,
} from '../../../test/support/chat.ts';
import { anthropic } from '../../formats/anthropic.ts';
import { chat } from '../../formats/chat.ts';
import type { Item } from '../../formats/items.ts';
import { openaiChat } from '../../formats/openai-chat.ts';
import { openaiResponses } from '../../formats/openai-responses.ts';
import type { ChatMessage } from '../../message.ts';
import { handleOf } from '../../store/handle.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import { type Rendered, type RenderOptions, renderWithBudget } from './render-with-budget.ts';

const item = (fields: object): Item => fields as Item;
const counter = estimateTokens;
const render = (messages: readonly ChatMessage[], options: RenderOptions<ChatMessage> = {}): Rendered<ChatMessage> =>
  renderWithBudget(messages, { format: chat, counter, ...options });

describe('renderWithBudget', () => {
  it('gives history what system prompt, directives, tools, reply and margin leave of the window', () => {
    const tools = [{ name: 'bash', description: prose(800) }];
    const { report } = render([system(prose(400)), user('Hello world')], {
      system: prose(4000),
      directives: prose(2000),
      tools,
      window: 10_000,
      maxOutputTokens: 1000,
      maxHistoryTokens: 0,
    });
    const systemTokens = 1000 + 500 + 104;
    const toolTokens = counter(JSON.stringify(tools));
    const availableTokens = 10_000 - systemTokens - toolTokens - 1000 - 1000;
    expect(report).toMatchObject({
      windowTokens: 10_000,
      systemTokens,
      toolTokens,
      outputTokens: 1000,
      marginTokens: 1000,
      availableTokens,
      historyBudgetTokens: availableTokens,
      historyTokens: { before: 7, after: 7 },
      requestTokens: systemTokens + toolTokens + 7,
      decision: 'fits',
    });
  });

  it('caps history at 20,000 tokens, or at what is said, and not at all for 0', () => {
    const budget = (options: RenderOptions<ChatMessage>): number =>
      render([user('Hello')], options).report.historyBudgetTokens;
    expect(budget({ model: 'claude-sonnet-5' })).toBe(20_000);
    expect(budget({ model: 'claude-sonnet-5', maxHistoryTokens: 5000 })).toBe(5000);
    expect(budget({ model: 'claude-sonnet-5', maxHistoryTokens: 0 })).toBe(200_000 - 20_000 - 4096);
    expect(budget({ window: 8000 })).toBe(8000 - 800 - 4096);
  });

  it('takes the window from the option, from the model, from a table of your own, or 128,000', () => {
    const window = (options: RenderOptions<ChatMessage>): number =>
      render([user('Hello')], options).report.windowTokens;
    expect(window({ window: 9000, model: 'gpt-5' })).toBe(9000);
    expect(window({ model: 'gpt-5' })).toBe(400_000);
    expect(window({ model: 'mine-1', contextWindows: { mine: 32_768 } })).toBe(32_768);
    expect(window({})).toBe(128_000);
  });

  it('answers what came in, and no cut, where all of it fits', () => {
    const run = talk(10);
    const rendered = render(run);
    expect(rendered).toMatchObject({ messages: run, omitted: 0, cut: undefined, hidden: [] });
    expect(rendered).not.toHaveProperty('notice');
    expect(rendered.messages.every((message, i) => message === run[i])).toBe(true);
  });

  it('keeps task and newest turns, whole, and says behind the task how many messages it omitted', () => {
    const run = talk(100);
    const { messages, omitted, notice, report } = render(run, { maxHistoryTokens: 2000 });
    expect(notice).toBe(`[conversation truncated — ${omitted} older messages omitted]`);
    expect(messages.slice(0, 3)).toEqual([run[0], run[1], system(notice ?? '')]);
    expect(messages.slice(3)).toEqual(run.slice(2 + omitted));
    expect(messages[3]?.role).toBe('user');
    expect(report).toMatchObject({ omitted, clipped: 0, decision: 'cut' });
    expect(report.historyTokens.after).toBeLessThanOrEqual(1500);
  });

  it('cuts to three quarters and holds that cut, byte for byte, until history overflows again', () => {
    const run = talk(200);
    let last: Rendered<ChatMessage> | undefined;
    const decisions: string[] = [];
    for (let end = 3; end <= run.length; end += 2) {
      const rendered = render(run.slice(0, end), { maxHistoryTokens: 2000, cut: last?.cut });
      const { decision, historyTokens } = rendered.report;
      expect(historyTokens.after).toBeLessThanOrEqual(decision === 'cut' ? 1500 : 2000);
      if (last && decision !== 'cut') expect(rendered.messages.slice(0, last.messages.length)).toEqual(last.messages);
      decisions.push(decision);
      last = rendered;
    }
    const cuts = decisions.filter((decision) => decision === 'cut').length;
    expect(cuts).toBeGreaterThan(20);
    // About 110 tokens come with each render, and 500 are free after a cut.
    expect(decisions.length / cuts).toBeGreaterThan(4);
    expect(last?.omitted).toBe(Number(/(\d+) older/.exec(last?.notice ?? '')?.[1]));
  });

  it('holds a cut that was written down and read again', () => {
    const run = talk(100);
    const first = render(run, { maxHistoryTokens: 2000 });
    const cut = JSON.parse(JSON.stringify(first.cut));
    const next = [...run, user('and now?')];
    const second = render(next, { maxHistoryTokens: 2000, cut });
    expect(second.messages).toEqual([...first.messages, user('and now?')]);
    expect(second.report.decision).toBe('held');
  });

  it('holds a cut although all would fit again', () => {
    const run = talk(100);
    const { cut, messages } = render(run, { maxHistoryTokens: 2000 });
    expect(render(run, { maxHistoryTokens: 0, cut }).messages).toEqual(messages);
  });

  it('holds the cut of a question whose answer lost its beginning before', () => {
    const task = [user('Fix the build.'), reply(prose(1200, 'It is fixed: ')), user('And the docs?')];
    const begun = [...toolTurn({ id: 'a', text: prose(2400), output: 'ok' }), ...toolTurn({ id: 'b', output: 'ok' })];
    const next = [reply(prose(2000, 'They are written: ')), user('Release it.')];
    const later = [...toolTurn({ id: 'c', text: prose(1600), output: 'ok' }), user('Stop.')];
    const list = [...task, ...begun, ...next, ...later];
    let cut: Rendered<ChatMessage>['cut'];
    const rendered = [7, 9, 12].map((end) => {
      const { messages, ...rest } = render(list.slice(0, end), { maxHistoryTokens: 800, cut });
      cut = rest.cut;
      expect(render(list.slice(0, end), { maxHistoryTokens: 0, cut })).toMatchObject({ messages, cut });
      return messages;
    });
    expect(rendered).toEqual([
      [task[0], system(omitted(2)), ...task.slice(1), ...begun.slice(2)],
      [task[0], system(omitted(3)), task[2], ...begun.slice(2), ...next],
      [task[0], system(omitted(7)), next[1], ...later],
    ]);
  });

  it('forgets a cut that was made for another list', () => {
    const { cut } = render(talk(100), { maxHistoryTokens: 2000 });
    const shorter = talk(5);
    expect(render(shorter, { cut })).toMatchObject({ messages: shorter, cut: undefined });
    const other = [user('go'), ...history(150, 40).slice(2)];
    expect(render(other, { cut, maxHistoryTokens: 0 }).messages).toEqual(other);
  });

  it('leaves call and results together, also where a user spoke between them', () => {
    const steered = range(1, 20).flatMap((n) => [
      parallelCalls(`a${n}`, `b${n}`),
      answer(`a${n}`, prose(400)),
      user(`hurry ${n}`),
      answer(`b${n}`, prose(400)),
    ]);
    const run = [user('go'), ...steered];
    for (let maxHistoryTokens = 400; maxHistoryTokens < 4000; maxHistoryTokens += 300) {
      const { messages } = render(run, { maxHistoryTokens });
      expect(chat.check(messages)).toEqual([]);
    }
  });

  it('cuts the newest message where it alone does not fit, and keeps what it was', () => {
    const question = prose(40_000, 'What does this say? ');
    const { messages, hidden, report, omitted } = render([...talk(3), user(question)], { maxHistoryTokens: 1000 });
    const newest = messages.at(-1)?.content ?? '';
    expect(newest).toMatch(/^What does this say\? /);
    expect(newest).toMatch(/\[truncated: kept first\+last ~\d+ of ~10000 tokens \(both\)\]/);
    expect(report.historyTokens.after).toBeLessThanOrEqual(1000);
    expect(report.clipped).toBe(1);
    expect(hidden.find(({ why }) => why === 'clip')?.text).toBe(question);
    expect(omitted).toBeGreaterThan(0);
    expect(contents(messages)).toContain(talk(1)[1]?.content);
  });

  it('shortens a newest result that alone does not fit, and keeps the question before it', () => {
    const run = [user('What does the log say?'), parallelCalls('a'), answer('a', prose(100_000, 'first line '))];
    const { messages, hidden, report } = render(run, { maxHistoryTokens: 800 });
    expect(messages.slice(0, 2)).toEqual(run.slice(0, 2));
    expect(messages[2]?.content).toMatch(/^first line .*\[truncated: kept first\+last/s);
    expect(hidden).toMatchObject([{ text: run[2]?.content, why: 'clip', callId: 'a' }]);
    expect(report.historyTokens.after).toBeLessThanOrEqual(800);
  });

  it('cuts a message of many parts, none of which is large', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const parts = range(1, 20).map((n) => ({ type: 'text', text: prose(800, `part ${n}: `) }));
    const content = [{ type: 'text', text: 'Read this.' }, ...parts, image];
    const { messages, report } = renderWithBudget([{ role: 'user', content }], {
      format: openaiChat,
      counter,
      maxHistoryTokens: 3000,
    });
    expect(report.historyTokens.after).toBeLessThanOrEqual(3000);
    const sent = messages[0]?.content as { text?: string }[];
    expect([sent[0], sent.at(-1)]).toEqual([content[0], image]);
    for (const [i, { text = '' }] of sent.slice(1, -1).entries())
      expect(text).toMatch(new RegExp(`^part ${i + 1}: .*\\[truncated: kept first\\+last`, 's'));
  });

  it('tells how large history came, also where a message was cut', () => {
    const { report } = render([user(prose(40_000))], { maxHistoryTokens: 1000 });
    expect(report.historyTokens.before).toBe(10_004);
  });

  it('cuts with a counter that answers fractions', () => {
    const eighths = (text: string): number => text.length / 8;
    const run = [user('Hello'), reply('Hi'), user(prose(40_000))];
    const { report } = render(run, { maxHistoryTokens: 1000, counter: eighths });
    expect(report.historyTokens.after).toBeLessThanOrEqual(1000);
  });

  it('cuts a message further that it cut before, where what came since needs the room', () => {
    const task = user(prose(40_000, 'The task: '));
    const first = render([task], { maxHistoryTokens: 1000 });
    const next = [task, reply(prose(1600)), user(prose(40_000, 'Look: '))];
    const second = render(next, { maxHistoryTokens: 1000, cut: first.cut });
    expect(second.report.historyTokens.after).toBeLessThanOrEqual(1000);
    expect(second.messages[0]?.content).toMatch(/^The task: /);
    expect(second.hidden.filter(({ why }) => why === 'clip').map(({ text }) => text)).toEqual([
      task.content,
      next[2]?.content,
    ]);
    const third = render([...next, reply('I see.')], { maxHistoryTokens: 1000, cut: second.cut });
    expect(third.messages).toEqual([...second.messages, reply('I see.')]);
  });

  it('holds the cut of a message when it is no longer the newest', () => {
    const run = [user('Hello.'), reply('Hi.'), user(prose(40_000, 'Look: '))];
    const first = render(run, { maxHistoryTokens: 1000 });
    const next = [...run, reply('I see.'), user('And?')];
    const second = render(next, { maxHistoryTokens: 1000, cut: first.cut });
    expect(second.messages).toEqual([...first.messages, reply('I see.'), user('And?')]);
    expect(second.hidden.map(({ text }) => text)).toContain(run[2]?.content);
  });

  it('leaves out questions that nobody answered, where they are too many', () => {
    const run = [system('You are helpful.'), ...range(1, 20).map((n) => user(prose(80, `message ${n} `)))];
    const { messages, notice, report } = render(run, { maxHistoryTokens: 200 });
    expect(messages.slice(0, 3)).toEqual([run[0], run[1], system(notice ?? '')]);
    expect(messages.at(-1)).toBe(run.at(-1));
    expect(report.historyTokens.after).toBeLessThanOrEqual(200);
  });

  it('cuts the texts of parts where they stand', () => {
    const big = prose(40_000, 'Look: ');
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const parts = [{ type: 'text', text: 'Two things.' }, { type: 'text', text: big, extra: 1 }, image];
    const chatRun = [{ role: 'user', content: parts }];
    const [openai] = renderWithBudget(chatRun, { format: openaiChat, maxHistoryTokens: 2000 }).messages;
    expect(openai?.content).toEqual([
      parts[0],
      { type: 'text', text: expect.stringMatching(/^Look: /), extra: 1 },
      image,
    ]);
    const blocks = [{ type: 'text', text: big, cache_control: { type: 'ephemeral' } }];
    const [claude] = renderWithBudget([{ role: 'user', content: blocks }], {
      format: anthropic,
      maxHistoryTokens: 500,
    }).messages;
    const shortened = (claude as { content: { text: string }[] }).content[0];
    expect(shortened).toEqual({ ...blocks[0], text: expect.stringContaining('[truncated: kept') });
    expect(blocks[0]?.text).toBe(big);
  });

  it('shows the handle of what it omitted where that is stored, behind the word recall where there is such a tool', () => {
    const run = talk(100);
    const { notice, hidden } = render(run, { maxHistoryTokens: 2000, recall: true });
    const [dropped] = hidden;
    expect(dropped?.handle).toBe(handleOf(dropped?.text ?? ''));
    expect(notice).toContain(` omitted · ${dropped?.handle}]`);
    const lines = (dropped?.text ?? '').split('\n').map((line) => JSON.parse(line));
    expect(lines).toEqual(run.slice(2, 2 + lines.length));
    const tools = [{ name: 'recall' }];
    expect(render(run, { maxHistoryTokens: 2000, recall: true, tools }).notice).toContain(' · recall p_');
  });

  it('adds what an earlier notice stands for', () => {
    const run = talk(60);
    run.splice(1, 0, system('[conversation truncated — 40 older messages omitted]'));
    const { notice, messages } = render(run, { maxHistoryTokens: 2000 });
    const omitted = Number(/— (\d+) /.exec(notice ?? '')?.[1]);
    expect(omitted).toBe(40 + run.length - messages.length);
    expect(contents(messages).filter((text) => text.startsWith('[conversation truncated'))).toEqual([notice]);
  });

  it('says what takes the room where there is none for history', () => {
    const impossible = (): unknown => render([user('Hello')], { window: 5000, system: prose(4000) });
    expect(codeOf(impossible)).toBe('BUDGET_IMPOSSIBLE');
    expect(impossible).toThrow(/5000 tokens but system prompt and directives take 1000, tools 0, the reply 4096/);
  });

  it('says so where even the task and the newest message cannot be cut to the budget', () => {
    const run = [user('go'), user('and?'), reply(prose(40_000))];
    const impossible = (): unknown => render(run, { maxHistoryTokens: 100 });
    expect(codeOf(impossible)).toBe('BUDGET_IMPOSSIBLE');
    expect(impossible).toThrow(/cannot be cut \(.*replies and calls \d+.*\); raise window or maxHistoryTokens/);
  });

  it('takes a turn apart as a last resort: a reply that is too large goes, the question behind it stays', () => {
    const run = [user('go'), reply(prose(40_000)), user('and?')];
    const { messages, notice, hidden } = render(run, { maxHistoryTokens: 100 });
    expect(messages).toEqual([run[0], system(notice ?? ''), run[2]]);
    expect(JSON.parse(hidden[0]?.text ?? '')).toEqual(run[1]);
  });

  it('drops the oldest iterations of a loop, and never the conversation before it while one could go', () => {
    const conversation = talk(10);
    const loop = range(1, 30).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(400, `step ${n} `), output: 'ok' }));
    const run = [...conversation, user('Now do something.'), ...loop];
    const options = { maxHistoryTokens: 3000 };
    const conversationMessages = conversation.length + 1;
    const { messages, omitted, report } = render(run, { ...options, conversationMessages });
    expect(report.historyTokens.after).toBeLessThanOrEqual(2250);
    expect(contents(messages)).toEqual(expect.arrayContaining(contents(run.slice(0, conversationMessages))));
    expect(messages.slice(-2)).toEqual(run.slice(-2));
    expect(omitted).toBeGreaterThan(0);
    expect(unpaired(messages)).toEqual([]);
    const unprotected = render(run, options).messages;
    expect(contents(unprotected)).not.toEqual(expect.arrayContaining(contents(conversation)));
    const tiny = render(run, { maxHistoryTokens: 400, conversationMessages });
    expect(tiny.report.historyTokens.after).toBeLessThanOrEqual(400);
    expect(tiny.messages).toContain(run[conversationMessages - 1]);
  });

  it('keeps the system prompt where words that were never answered overflow a second time', () => {
    const questions = range(1, 6).map((n) => user(`${n} ${prose(400)}`));
    const whole = [system('You are an agent.'), user('task'), ...questions, user(prose(4000))];
    const { cut } = render(whole.slice(0, -1), { maxHistoryTokens: 500 });
    const { messages, report } = render(whole, { maxHistoryTokens: 500, cut });
    expect([report.decision, report.clipped]).toEqual(['cut', 1]);
    expect(messages.slice(0, 2)).toEqual(whole.slice(0, 2));
  });

  it('shows the same handle in its notice while a cut is held', () => {
    const said = (role: string, content: string): Item => item({ type: 'message', role, content });
    const call = (id: string): Item => item({ type: 'function_call', call_id: id, name: 'bash', arguments: '{}' });
    const result = (id: string): Item => item({ type: 'function_call_output', call_id: id, output: 'a result' });
    const parallel = [
      said('user', 'task'),
      said('assistant', prose(400)),
      call('a'),
      call('b'),
      result('a'),
      result('b'),
    ];
    const more = [said('assistant', prose(400)), call('c'), result('c')];
    const options = { format: openaiResponses, maxHistoryTokens: 100, recall: true };
    const { cut } = renderWithBudget(parallel, options);
    const next = renderWithBudget([...parallel, ...more], { ...options, cut });
    const held = renderWithBudget([...parallel, ...more, said('user', 'go')], { ...options, cut: next.cut });
    expect([next.report.decision, held.report.decision]).toEqual(['cut', 'held']);
    expect(held.notice).toBe(next.notice);
  });

  it.each([
    { window: 0 },
    { window: 1.5 },
    { maxOutputTokens: -1 },
    { maxHistoryTokens: Number.NaN },
    { maxHistoryTokens: -1 },
    { cut: {} as never },
    { cut: { messages: 1, omitted: 0, steps: [{ drops: [5], clips: [] }] } as never },
    { cut: { messages: 1, omitted: 0, steps: [{ drops: [], clips: [null] }] } as never },
    { cut: { messages: 1, omitted: 0, steps: [{ drops: [], clips: [{ segment: 0, maxTokens: -1 }] }] } },
    { model: 'mine', contextWindows: { mine: Number.NaN } },
    { contextWindows: null as never },
    { counter: () => Number.NaN },
    { maxHistoryToken: 5 } as never,
  ])('refuses %j', (options) => {
    expect(codeOf(() => render([user('Hello')], options))).toBe('BAD_OPTION');
  });
});
