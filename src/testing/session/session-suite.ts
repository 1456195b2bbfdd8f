import type { SessionPlaceOptions } from '../../manager/session/find-place.ts';
import { openSession } from '../../manager/session/open-session.ts';
import type { Session, SessionEvent, SessionOptions } from '../../manager/session/session.ts';
import type { ToolResult } from '../../manager/tool-call.ts';
import type { ChatMessage } from '../../message.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';

/** The part of an assertion library that the suite needs. `expect` of vitest and Jest have it. */
export interface SessionExpect {
  /** Begins an assertion. */
  (actual: unknown): Matchers & { readonly rejects: AsyncMatchers };
  /** Matches an object with these fields. */
  objectContaining(expected: object): unknown;
  /** Matches a text. */
  stringMatching(expected: RegExp): unknown;
}

interface Matchers {
  toBe(expected: unknown): unknown;
  toEqual(expected: unknown): unknown;
  toMatchObject(expected: object): unknown;
  toMatch(expected: RegExp): unknown;
  toHaveLength(expected: number): unknown;
  toContain(expected: unknown): unknown;
  toBeDefined(): unknown;
  toBeUndefined(): unknown;
  toBeGreaterThan(expected: number): unknown;
  toBeLessThan(expected: number): unknown;
  toBeLessThanOrEqual(expected: number): unknown;
  toThrow(expected?: unknown): unknown;
}

interface AsyncMatchers {
  toMatchObject(expected: object): Promise<unknown>;
  toThrow(expected?: unknown): Promise<unknown>;
}

/** The test runner's own functions, so that the suite runs under any of them. */
export interface SessionTestFunctions {
  /** Groups tests under a name. */
  describe(name: string, body: () => void): unknown;
  /** Declares a test, with the time it may take. */
  it(name: string, body: () => Promise<void>, timeoutMs?: number): unknown;
  /** Checks a value. */
  readonly expect: SessionExpect;
}

/** Where the sessions to test live. */
export interface SessionConformanceOptions {
  /** The place, as the names of the tests show it. */
  readonly name: string;
  /** A place that no other test uses. */
  newPlace(): Promise<SessionPlaceOptions>;
  /** Lets others open a session that its process has not closed, as if that process had been silent for long. */
  abandon(place: SessionPlaceOptions, id: string): Promise<void>;
  /** Removes the snapshot of a session, if there is one. */
  removeSnapshot(place: SessionPlaceOptions, id: string): Promise<void>;
  /** Sets when a session was last written, by the clock of the place. */
  setWritten(place: SessionPlaceOptions, id: string, at: Date): Promise<void>;
  /** Changes a byte of a stored event. */
  damageEvent(place: SessionPlaceOptions, id: string, seq: number): Promise<void>;
  /** Opens a session. Another function may repeat what a failing disk refuses. @default openSession */
  readonly open?: (options: SessionOptions<ChatMessage>) => Promise<Session<ChatMessage>>;
  /** The number of random conversations for each policy. @default 2 */
  readonly runs?: number;
  /** How long a test may take. @default 30000 */
  readonly timeoutMs?: number;
}

type Chat = Session<ChatMessage>;
type ChatOptions = Partial<SessionOptions<ChatMessage>>;

/** The functions of the tests. Every session that a test opened is closed when the test ends. */
export interface SessionSuite extends Pick<SessionTestFunctions, 'describe' | 'expect'> {
  readonly options: SessionConformanceOptions;
  test(fact: string, body: () => Promise<void>): void;
  /** Opens a session. */
  open(options: SessionOptions<ChatMessage>): Promise<Chat>;
  /** Begins a session at its own place. `crash` opens it again as after a crash. */
  begin(options?: ChatOptions): Promise<Begun>;
}

export interface Begun {
  readonly place: SessionPlaceOptions;
  readonly session: Chat;
  crash(more?: ChatOptions): Promise<Chat>;
}

export function createSuite(functions: SessionTestFunctions, options: SessionConformanceOptions): SessionSuite {
  const opened: Chat[] = [];
  const open = async (settings: SessionOptions<ChatMessage>): Promise<Chat> => {
    const session = await (options.open ?? openSession<ChatMessage>)(settings);
    opened.push(session);
    return session;
  };
  // A session that was taken over, or failed on purpose, cannot write a snapshot.
  const closeAll = (): Promise<unknown> => Promise.allSettled(opened.splice(0).map((session) => session.close()));
  return {
    ...functions,
    options,
    open,
    test: (fact, body) => {
      const run = async (): Promise<void> => {
        try {
          await body();
        } finally {
          await closeAll();
        }
      };
      functions.it(fact, run, options.timeoutMs ?? 30_000);
    },
    begin: async (more = {}) => {
      const place = await options.newPlace();
      const all = { ...place, id: 'chat', policy: oldestBatch({ count: 2, window: 1 }), onProblem: () => {}, ...more };
      return {
        place,
        session: await open(all),
        crash: async (others = {}) => {
          await options.abandon(place, 'chat');
          return open({ ...all, ...others });
        },
      };
    },
  };
}

export const user = (content: string): ChatMessage => ({ role: 'user', content });
export const reply = (content: string): ChatMessage => ({ role: 'assistant', content });
export const call = (id: string, name = 'read_file', args: object = { path: `src/${id}.ts` }): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: JSON.stringify(args) }],
});
export const result = (id: string, content: string, name = 'read_file'): ChatMessage => ({
  role: 'tool',
  content,
  name,
  toolCallId: id,
});

/** A tool result for `session.answer`. */
export const toolResult = (id: string, text: string, name = 'read_file'): ToolResult => ({
  call: { id, name, arguments: {} },
  text,
  isError: false,
});

/** `count` calls with their results. */
export const turns = (count: number, { from = 0, lines = 40 } = {}): ChatMessage[] =>
  Array.from({ length: count }, (_, i) => i + from).flatMap((i) => [
    call(`c${i}`),
    result(`c${i}`, `line of result ${i}\n`.repeat(lines)),
  ]);

export async function eventsOf<M>(session: Session<M>): Promise<SessionEvent<M>[]> {
  const events: SessionEvent<M>[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}
