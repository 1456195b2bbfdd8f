import { describe, expect, it } from 'vitest';
import {
  answer,
  contents,
  history,
  parallelCalls,
  range,
  reply,
  system,
  toolTurn,
  unpaired,
  user,
} from '../../../test/support/chat.ts';
import { PalimpsestError } from '../../errors.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { handleOf } from '../../store/handle.ts';
import { trimMessages } from './trim-messages.ts';

const trim = (messages: readonly ChatMessage[], maxMessages: number) =>
  trimMessages(messages, { maxMessages, format: chat });

describe('trimMessages', () => {
  it('leaves a list that is short enough as it is, in a new list', () => {
    const run = history(20);
    const { messages, dropped } = trim(run, 42);
    expect([messages, dropped]).toEqual([run, 0]);
    expect(messages).not.toBe(run);
  });

  it('leaves the oldest turns out, down to three quarters, and says how many messages went', () => {
    const run = history(100);
    const { messages, dropped } = trim(run, 100);
    expect(messages).toHaveLength(75);
    expect(messages.slice(0, 3)).toEqual([
      run[0],
      run[1],
      system(`[conversation truncated — ${dropped} older messages omitted]`),
    ]);
    expect(messages.slice(3)).toEqual(run.slice(-72));
  });

  it('does not move with every message: as many as a quarter come between two trims', () => {
    let list: ChatMessage[] = history(1);
    const trims: number[] = [];
    for (const n of range(2, 300)) {
      list.push(...toolTurn({ id: `c${n}`, output: 'ok' }));
      const { messages, dropped } = trim(list, 100);
      if (dropped > 0) trims.push(n);
      expect(messages.length).toBeLessThanOrEqual(100);
      list = messages;
    }
    const gaps = trims.slice(1).map((n, i) => n - (trims[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(12);
  });

  it('adds up what went before, and keeps one notice', () => {
    const once = trim(history(100), 100);
    const twice = trim([...once.messages, ...history(40).slice(2)], 100);
    expect(contents(twice.messages).filter((text) => text.includes('older messages omitted'))).toEqual([
      `[conversation truncated — ${once.dropped + twice.dropped} older messages omitted]`,
    ]);
  });

  it('never leaves out the task, the newest turn or an open call, and splits no pair', () => {
    const run = [
      user('Find the bug.'),
      parallelCalls('slow', 'fast'),
      answer('fast', 'ok'),
      ...history(100).slice(2),
      answer('slow', 'at last'),
      parallelCalls('open'),
    ];
    const { messages } = trim(run, 60);
    expect(unpaired(messages)).toEqual(['open']);
    expect(messages).toContain(run[0]);
    expect(messages.at(-1)).toBe(run.at(-1));
    const open = run.filter((message) => message.toolCallId !== 'slow');
    expect(trim(open, 60).messages).toContain(open[1]);
  });

  it('leaves alone what it cannot trim', () => {
    const ids = range(1, 50).map((n) => `c${n}`);
    const run = [user('go'), parallelCalls(...ids), ...ids.map((id) => answer(id, 'ok'))];
    expect(trim(run, 10)).toMatchObject({ messages: run, dropped: 0 });
  });

  it('leaves out the oldest messages behind the task where nothing was ever answered', () => {
    const run = range(1, 50).map((n) => user(`message ${n}`));
    const { messages, dropped } = trim(run, 10);
    expect(messages).toEqual([
      run[0],
      system('[conversation truncated — 44 older messages omitted]'),
      ...run.slice(-5),
    ]);
    expect(dropped).toBe(44);
  });

  it('leaves out the iterations of a loop before the conversation', () => {
    const conversation = range(1, 10).flatMap((n) => [user(`question ${n}`), reply(`answer ${n}`)]);
    const run = [...conversation, user('Now do it.'), ...history(20).slice(2)];
    const options = { format: chat, conversationMessages: conversation.length + 1 };
    const { messages } = trimMessages(run, { ...options, maxMessages: 40 });
    expect(messages.length).toBeLessThanOrEqual(30);
    expect(contents(messages)).toEqual(expect.arrayContaining(contents(run.slice(0, options.conversationMessages))));
    const fewer = trimMessages(run, { ...options, maxMessages: 12 }).messages;
    expect(fewer.length).toBeLessThanOrEqual(9);
    expect(contents(fewer)).toEqual(expect.arrayContaining(['question 1', 'Now do it.', 'step 20']));
  });

  it('answers what went, under the handle that the notice shows', () => {
    const run = history(100);
    const { messages, hidden, dropped } = trimMessages(run, {
      maxMessages: 100,
      format: chat,
      handleOf,
      show: 'recall',
    });
    expect(hidden).toHaveLength(1);
    expect((hidden[0]?.text ?? '').split('\n').map((line) => JSON.parse(line))).toEqual(run.slice(2, 2 + dropped));
    expect(messages[2]?.content).toContain(`recall ${hidden[0]?.handle}`);
  });

  it('keeps a turn that cannot be written down, since nobody could have it again', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const run = history(100).map((message, i) => (i === 4 ? { ...message, extra: circle } : message));
    const { messages, hidden, dropped } = trim(run, 100);
    expect(messages).toContain(run[4]);
    expect(messages).toContain(run[5]);
    expect(messages).toHaveLength(75);
    expect((hidden[0]?.text ?? '').split('\n')).toHaveLength(dropped);
  });

  it.each([0, -1, 1.5, Number.NaN, undefined])('refuses a limit of %s', (maxMessages) => {
    expect(() => trim(history(2), maxMessages as number)).toThrow(PalimpsestError);
  });
});
