import { describe, expect, it } from 'vitest';
import { runAgent } from '../../../src/manager/index.ts';
import { toLine } from '../../../src/manager/session/log/event-line.ts';
import { createMemorySession } from '../../../src/manager/session/memory-session.ts';
import type { SessionOptions } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import { readCall } from '../../../src/plan/arrival/read-call.ts';
import { resolveReferences, type Visible } from '../../../src/plan/arrival/resolve-references.ts';
import { breakEven } from '../../../src/plan/policies/break-even.ts';
import { slidingWindow } from '../../../src/plan/policies/sliding-window.ts';
import type { Policy } from '../../../src/plan/policy.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { call as callStep, say, scripted } from '../../support/manager/scripted-model.ts';
import { call, eventsOf, openChat, reply, result, temporaryFolders, user } from '../../support/manager/sessions.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';

const newFolder = temporaryFolders();
const WINDOW = { window: 200_000, maxHistoryTokens: 0 };

/** A file whose lines are unlike each other. Where it is read again under the same path, a policy may mask the older read. */
const file = (name: string, lines = 60): string =>
  Array.from({ length: lines }, (_, i) => `export const ${name}${i} = compute('${name}', ${i * 7919});`).join('\n');

/** A call of a tool and its result. */
const turn = (id: string, text: string, path = `src/${id}.ts`): ChatMessage[] => [
  call(id, 'read_file', { path }),
  result(id, text),
];

const contentOf = (messages: readonly ChatMessage[], id: string): string =>
  messages.find(({ toolCallId }) => toolCallId === id)?.content ?? '';

/** A log of a version that had no arrival: lines without it, and without checksums. */
function oldLog(messages: readonly ChatMessage[]): Map<string, Buffer> {
  const time = '2026-01-02T00:00:00.000Z';
  const events = [
    { seq: 1, time, type: 'session_start', id: 'chat', format: 'chat' },
    ...messages.map((message, i) => ({ seq: i + 2, time, type: 'message', message })),
  ];
  const text = events.map((event) => toLine(JSON.stringify(event))).join('');
  return new Map([['/s/chat/events.jsonl', Buffer.from(text)]]);
}

const withoutSnapshot = (files: ReadonlyMap<string, Buffer>): Map<string, Buffer> =>
  new Map([...files].filter(([path]) => !path.endsWith('.yaml')));

const failing = (): Store => ({ ...createMemoryStore(), putMany: () => Promise.reject(new Error('disk full')) });

/** The results whose references lead to no text that is sent above them, or to another text than their own. */
function wrongReferences(sent: readonly ChatMessage[], originals: readonly ChatMessage[]): string[] {
  const above: Visible[] = [];
  const calls = new Map<string, string>();
  const wrong: string[] = [];
  for (const message of sent) {
    for (const { id, name, arguments: args } of message.toolCalls ?? []) {
      calls.set(id, args);
      const { subject, texts } = readCall(args);
      for (const { argument, text } of texts)
        above.push({ text, about: { kind: 'call', tool: name, subject, argument } });
    }
    if (message.role !== 'tool') continue;
    const { subject } = readCall(calls.get(message.toolCallId ?? '') ?? '');
    const shaped = message.content.replace(/\n\[shortened from [^\n]*\]$/, '');
    if (
      message.content.includes(': same as ') &&
      resolveReferences(shaped, above) !== contentOf(originals, message.toolCallId ?? '')
    )
      wrong.push(message.content);
    above.push({ text: message.content, about: { kind: 'result', tool: message.name, subject } });
  }
  return wrong;
}

describe('a session under break-even', () => {
  it('sends results smaller from their first request on, with the handle of their original, and has them whole', async () => {
    const store = createMemoryStore();
    const session = await openChat({ directory: newFolder(), id: 'chat', store });
    const text = file('a');
    await session.add(user('the task'), ...turn('a', text), ...turn('b', text, 'src/a.ts'));
    const { messages } = await session.render(WINDOW);
    const sent = contentOf(messages, 'b');
    expect(sent).toMatch(/^\[.*same as .*read_file src\/a\.ts.*\]\n\[shortened from \d+ chars · p_[a-z2-7]{26}\]$/);
    const [handle = ''] = sent.match(/p_[a-z2-7]{26}/) ?? [];
    expect((await store.get(handle))?.text).toBe(text);
    expect(contentOf(session.messages(), 'b')).toBe(text);
    expect(wrongReferences(messages, session.messages())).toEqual([]);
    await session.close();
  });

  it('keeps them whole where the options say so', async () => {
    const text = `${file('a')}   `;
    for (const more of [
      { arrival: { clean: false, references: false } },
      { policy: breakEven({ clean: false, references: false }) },
      { policy: slidingWindow() },
    ]) {
      const session = await openChat({ directory: newFolder(), id: 'chat', ...more });
      await session.add(user('the task'), ...turn('a', text), ...turn('b', text));
      expect(session.view()).toEqual(session.messages());
      await session.close();
    }
  });

  it.each([
    [{ arrival: { clen: true } as object }, 'clean'],
    [{ arrival: { truncate: 0 } }, 'truncate'],
    [{ arrival: { truncate: 500 }, maxToolResultTokens: 600 }, 'maxToolResultTokens'],
  ])('refuses %j', async (more, named) => {
    const options = { directory: newFolder(), id: 'chat', ...more } as SessionOptions<ChatMessage>;
    await expect(openChat(options)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(named),
    });
  });

  it('cuts large results by arrival.truncate, and not at all where that is false', async () => {
    const large = file('a', 2000);
    const sent = async (arrival: object): Promise<string> => {
      const session = await openChat({ directory: newFolder(), id: 'chat', arrival });
      await session.add(user('the task'), ...turn('a', large));
      const content = contentOf(session.view(), 'a');
      await session.close();
      return content;
    };
    expect(await sent({ truncate: 500 })).toMatch(/\[truncated: kept first ~500 of ~\d+ tokens \(head\)\]$/);
    expect(await sent({ truncate: false })).toBe(large);
  });
});

describe('a session that began without arrival', () => {
  const text = file('a');
  const early = [user('the task'), ...turn('a', text), ...turn('b', text), reply('Read twice.')];

  it.each(['an older version', 'an option'])('by %s keeps what was sent, and makes new results smaller', async (by) => {
    const off = { directory: '/s', id: 'chat', arrival: { clean: false, references: false } };
    const first = new RecordingDisk();
    const before = await openChat({ ...off, disk: first });
    await before.add(...early);
    await before.close();
    const disk = new RecordingDisk(by === 'an option' ? first.afterCrash() : oldLog(early));
    const options = { directory: '/s', id: 'chat', snapshotEvery: 1000 };
    const session = await openChat({ ...options, disk });
    expect(session.view()).toEqual(early);
    await session.add(...turn('c', text));
    const sent = session.view();
    expect(sent.slice(0, early.length)).toEqual(early);
    expect(contentOf(sent, 'c')).toContain(': same as ');
    const crashed = disk.afterCrash();
    await session.close();
    for (const files of [crashed, withoutSnapshot(crashed), disk.afterCrash(), withoutSnapshot(disk.afterCrash())]) {
      const again = await openChat({ ...options, disk: new RecordingDisk(files) });
      expect(again.view()).toEqual(sent);
      expect((await eventsOf(again)).filter(({ type }) => type === 'arrival')).toHaveLength(1);
    }
  });
});

describe('a store that fails while results are made smaller', () => {
  const text = file('a');
  const messages = [user('the task'), ...turn('a', text), ...turn('b', text)];

  it('has them go out whole also where it does not answer in time', async () => {
    const slow: Store = { ...createMemoryStore(), putMany: () => new Promise(() => {}) };
    const disk = new RecordingDisk();
    const options = { directory: '/s', id: 'chat', recordTurns: false, onProblem: () => {} };
    const session = await openChat({ ...options, store: slow, disk });
    await session.add(...messages);
    expect((await session.render(WINDOW)).messages).toEqual(messages);
  });

  it('still refuses a request with masks or cuts, which must be', async () => {
    const options = { directory: '/s', id: 'chat', onProblem: () => {}, arrival: { truncate: 100 } };
    const session = await openChat({ ...options, store: failing(), disk: new RecordingDisk() });
    await session.add(...messages);
    await expect(session.render(WINDOW)).rejects.toThrow('disk full');
  });
});

describe('a reference', () => {
  it('is never sent without its target, though the budget leaves old turns out', async () => {
    const budget = { window: 200_000, maxHistoryTokens: 6000 };
    for (const open of [
      async () => openChat({ directory: newFolder(), id: 'chat', store: createMemoryStore() }),
      async () => createMemorySession<ChatMessage>(),
    ]) {
      const session = await open();
      await session.add(user('the task'));
      let references = 0;
      for (let i = 0; i < 60; i++) {
        // Every third time a file that was read just now, else one whose last read may be left out.
        const name = `n${((i % 3 === 2 ? i - 2 : i) * 5) % 12}x`;
        await session.add(...turn(`r${i}`, file(name, 40 + (i % 3)), `src/${i}.ts`));
        const { messages } = await session.render(budget);
        references += messages.filter(({ content }) => content.includes(': same as ')).length;
        expect(wrongReferences(messages, session.messages())).toEqual([]);
        // The newest result is read, whatever had to go.
        expect(messages.at(-1)?.content).toMatch(/compute|: same as /);
      }
      expect(references).toBeGreaterThan(10);
    }
  });

  it('is never sent without its target, though old turns left memory', async () => {
    const session = await openChat({
      directory: newFolder(),
      id: 'chat',
      maxInputTokens: 1_000_000,
      contextLimit: 2000,
    });
    await session.add(user('the task'));
    for (let i = 0; i < 90; i++) {
      const name = i % 30 === 0 || i % 7 === 0 ? 'same' : `n${i}`;
      await session.add(...turn(`r${i}`, file(name, 12), `src/${name}.ts`));
      expect(wrongReferences(session.view(), session.messages())).toEqual([]);
    }
    expect(session.view().length).toBeLessThan(150);
    expect(session.view().some(({ content }) => content.includes(': same as '))).toBe(true);
    await session.close();
  });

  it('is never sent without its target, though results are masked by force', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk });
    await session.add(user('the task'), ...turn('a', file('a')), ...turn('b', file('a'), 'src/a.ts'));
    for (let i = 0; i < 12; i++) await session.add(...turn(`n${i}`, file(`n${i}`)));
    expect(contentOf(session.view(), 'b')).toContain(': same as ');
    await session.mask(1, { insideWindow: true });
    expect(contentOf(session.view(), 'a')).not.toContain('compute');
    expect(wrongReferences(session.view(), session.messages())).toEqual([]);
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.view()).toEqual(session.view());
  });
});

describe('a result that was sent whole, because the text that it repeats was too far back', () => {
  it('stays whole when turns between them are left out: a process that opens the session again knows only that it was sent', async () => {
    const policy: Policy = {
      init: () => undefined,
      step: (state, { observations, omitted }) => ({
        state,
        mask: [],
        ...(observations.at(-1)?.callId === 'later' && omitted === 0 ? { summarize: 3 } : {}),
        because: { act: 'mask', because: 'the test says so' },
      }),
    };
    const disk = new RecordingDisk();
    const options = { directory: '/s', id: 'chat', arrival: { references: true }, policy } as const;
    const session = await openChat({ ...options, disk, snapshotEvery: 14 });
    await session.add(user('the task'), ...turn('first', file('a'), 'src/a.ts'), user('Go on.'));
    for (const n of [1, 2, 3, 4]) await session.add(...turn(`n${n}`, file(`n${n}`), 'src/a.ts'));
    await session.add(...turn('copy', file('a')));
    await session.add(...turn('later', 'done'));
    const sent = session.view();
    const crashed = disk.afterCrash();
    expect(session.messages().length - sent.length).toBe(3);
    expect(contentOf(sent, 'copy')).toBe(file('a'));
    expect([...crashed.keys()]).toContain('/s/chat/state.yaml');
    for (const files of [crashed, withoutSnapshot(crashed)]) {
      const again = await openChat({ ...options, disk: new RecordingDisk(files) });
      expect(again.view()).toEqual(sent);
    }
  });
});

describe('a request after the life of the cache', () => {
  const MINUTE = 60_000;
  /** Results that break-even may mask, though it would still wait. */
  const waiting = [user('the task'), ...Array.from({ length: 14 }, (_, i) => turn(`n${i}`, file(`n${i}`))).flat()];
  const masked = (messages: readonly ChatMessage[]): number =>
    messages.filter(({ role, content }) => role === 'tool' && !content.includes('compute')).length;

  it('is seen in a session in memory too, by the clock of the policy alone', async () => {
    for (const [policy, isCold] of [
      [breakEven(), true],
      [breakEven({ prices: 'anthropic-1h' }), false],
    ] as const) {
      let time = 0;
      const session = createMemorySession<ChatMessage>({ policy, now: () => time });
      await session.add(...waiting);
      const warm = masked((await session.render(WINDOW)).messages);
      time += 6 * MINUTE;
      expect(masked((await session.render(WINDOW)).messages) > warm).toBe(isCold);
    }
  });
});

describe('runAgent', () => {
  const read = { name: 'read_file', run: () => file('a') };
  const steps = () =>
    scripted(
      callStep(['read_file', { path: 'src/a.ts' }]),
      callStep(['read_file', { path: 'src/a.ts' }]),
      say('Done.'),
    );

  it('sends results smaller from their first request on, and returns them whole', async () => {
    const model = steps();
    const { messages } = await runAgent({ model, task: 'Read it twice.', tools: [read] });
    const last = model.requests[2]?.messages ?? [];
    expect(last.at(-1)?.content).toContain(': same as ');
    expect(last.slice(0, -2)).toEqual(model.requests[1]?.messages);
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      file('a'),
      file('a'),
    ]);
  });

  it('sends them whole where the option says so', async () => {
    const model = steps();
    await runAgent({ model, task: 'Read it twice.', tools: [read], arrival: { references: false } });
    expect(model.requests[2]?.messages.at(-1)?.content).toBe(file('a'));
  });
});
