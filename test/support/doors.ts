import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  createPlanner,
  dropOldestTurns,
  type FitOptions,
  type FormatName,
  fit,
  fitAndStore,
  formatByName,
  graduated,
  HistoryReducer,
  never,
  slidingWindow,
} from '../../src/index.ts';
import {
  ContextManager,
  createMemorySession,
  extractCarryover,
  type Model,
  openSession,
  renderWithBudget,
  runAgent,
  type Session,
  trimMessages,
} from '../../src/manager/index.ts';
import { createMemoryStore } from '../../src/store/index.ts';
import type { Numbered } from './edits-between.ts';

/** What a door answers. */
export interface Passed {
  readonly messages: readonly object[];
  /** False where the door says that the budget is exceeded. Doors that throw in that case need not say it. */
  readonly withinBudget?: boolean;
  /** Only of `HistoryReducer`: how far it had to go. */
  readonly reductionStage?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the table of bad input passes values of every type.
type Anything = any;

/** A way to make a history smaller that a user can import. */
export interface Door {
  readonly name: string;
  /** The option that is the budget. */
  readonly option: string;
  readonly call: (messages: Anything, options: Anything) => Passed | Promise<Passed>;
  /** Messages, where the budget counts them; tokens if not given. */
  readonly measure?: 'messages';
  /** The system prompt among the messages is not part of the budget. */
  readonly isForHistory?: true;
  /** There is no budget that its result must keep. */
  readonly isUnlimited?: true;
  /** A user's own words are shortened where nothing else is left. */
  readonly shortensWords?: true;
  /** Single messages go where whole turns do not suffice: then also a question whose answer stays. */
  readonly takesTurnsApart?: true;
  /** Its last turns come as they are, each from its reply on: the question before the first is not part of it. */
  readonly carriesWholeTurns?: true;
  /** The conversation before the loop stays, and the loop begins with the first call. */
  readonly keepsConversation?: true;
  readonly takesNoCounter?: true;
  /** Messages come one by one, so there is no list that could be wrong. */
  readonly takesNoList?: true;
}

export const doors: readonly Door[] = [
  { name: 'fit', option: 'maxTokens', call: fit },
  {
    name: 'createPlanner',
    option: 'maxTokens',
    takesNoList: true,
    call(messages, options) {
      const planner = createPlanner<object>(options);
      for (const message of messages) planner.add(message);
      return { messages: planner.messages(), withinBudget: planner.report().withinBudget };
    },
  },
  {
    name: 'fit with graduated',
    option: 'maxInputTokens',
    call(messages, given) {
      const { format, counter, ...options } = given ?? {};
      const fitted = fit(messages, { format, counter, policy: graduated(isObject(given) ? options : given) });
      return { messages: fitted.messages as object[], withinBudget: fitted.report.withinBudget };
    },
  },
  {
    name: 'HistoryReducer',
    option: 'maxInputTokens',
    takesTurnsApart: true,
    takesNoCounter: true,
    call: (messages, options) => new HistoryReducer().reduce(messages, withDefaults({ maxInputChars: 1 }, options)),
  },
  { name: 'dropOldestTurns', option: 'maxTokens', keepsConversation: true, call: dropOldestTurns },
  {
    name: 'renderWithBudget',
    option: 'maxHistoryTokens',
    isForHistory: true,
    shortensWords: true,
    takesTurnsApart: true,
    call: renderWithBudget,
  },
  {
    name: 'renderWithBudget with an earlier cut',
    option: 'maxHistoryTokens',
    isForHistory: true,
    shortensWords: true,
    takesTurnsApart: true,
    call(messages, options) {
      const earlier = Array.isArray(messages) ? messages.slice(0, Math.ceil(messages.length / 2)) : messages;
      const { cut } = renderWithBudget(earlier, options);
      return renderWithBudget(messages, { ...options, cut });
    },
  },
  {
    name: 'trimMessages',
    option: 'maxMessages',
    measure: 'messages',
    takesNoCounter: true,
    call(messages, options) {
      const trimmed = trimMessages<object>(messages, options);
      return { ...trimmed, withinBudget: trimmed.messages.length <= options.maxMessages };
    },
  },
  {
    name: 'createMemorySession',
    option: 'maxHistoryTokens',
    isForHistory: true,
    shortensWords: true,
    takesTurnsApart: true,
    takesNoList: true,
    async call(messages, options) {
      const { maxHistoryTokens, ...settings } = withDefaults({ policy: slidingWindow({ turns: 3 }) }, options) ?? {};
      const session = createMemorySession<object>(isObject(options) ? settings : options);
      for (const message of messages) await session.add(message);
      return session.render({ maxHistoryTokens });
    },
  },
  {
    name: 'openSession',
    option: 'maxHistoryTokens',
    isForHistory: true,
    shortensWords: true,
    takesTurnsApart: true,
    takesNoList: true,
    async call(messages, options) {
      const directory = await mkdtemp(join(tmpdir(), 'palimpsest-doors-'));
      const place = { policy: slidingWindow({ turns: 3 }), directory, id: 'one', openCalls: 'keep' };
      const { maxHistoryTokens, ...settings } = withDefaults(place, options) ?? {};
      // The second process reads from the disk what the first one was told.
      const half = Math.ceil(messages.length / 2);
      const open = () => openSession<object>(isObject(options) ? settings : options);
      let session: Session<object> | undefined;
      try {
        session = await open();
        await session.add(...messages.slice(0, half));
        await session.close();
        session = await open();
        await session.add(...messages.slice(half));
        const { messages: sent, ...rest } = await session.render({ maxHistoryTokens });
        return { ...rest, messages: sent.map((message) => sharedWith(messages[serialOf(message)], message) as object) };
      } finally {
        try {
          await session?.close();
        } finally {
          await rm(directory, { recursive: true, force: true });
        }
      }
    },
  },
  {
    name: 'runAgent',
    option: 'maxHistoryTokens',
    isForHistory: true,
    shortensWords: true,
    takesTurnsApart: true,
    takesNoCounter: true,
    takesNoList: true,
    async call(messages, options) {
      const { format, ...settings } = withDefaults({ policy: slidingWindow({ turns: 3 }) }, options) ?? {};
      const requests: (readonly object[])[] = [];
      const answer: Model<object> = async (request) => {
        requests.push(request.messages);
        return { messages: [], calls: [], text: 'Done.' };
      };
      const model = Object.assign(answer, { format });
      await runAgent(isObject(options) ? { ...settings, model, task: messages } : options);
      return { messages: requests[0] ?? [] };
    },
  },
  {
    name: 'ContextManager',
    option: 'contextLimit',
    isUnlimited: true,
    call(messages, options) {
      const manager = new ContextManager<object>(withDefaults({ carryoverTurns: 2 }, options));
      manager.setMessages(messages);
      return manager.evaluate().type === 'mask' ? manager.maskOldest() : { messages };
    },
  },
  {
    name: 'extractCarryover',
    option: 'maxTokens',
    isForHistory: true,
    carriesWholeTurns: true,
    shortensWords: true,
    takesTurnsApart: true,
    call: (messages, options) => ({ messages: extractCarryover<object>(messages, options) }),
  },
  {
    name: 'fitAndStore',
    option: 'maxTokens',
    call: (messages, options) => fitAndStore(messages, withDefaults({ store: createMemoryStore() }, options)),
  },
];

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Bad options are passed on as they are. */
const withDefaults = (defaults: object, options: Anything): Anything =>
  isObject(options) ? { ...defaults, ...options } : options;

const serialOf = (message: object): number => (message as Partial<Numbered>).serial ?? -1;

/** A value that was read from the disk, with the parts that did not change as the very objects that came in. */
function sharedWith(given: unknown, read: unknown): unknown {
  if (isDeepStrictEqual(given, read)) return given;
  if (Array.isArray(given) && Array.isArray(read)) return read.map((part, i) => sharedWith(given[i], part));
  if (!isObject(given) || !isObject(read)) return read;
  const parts = Object.entries(read).map(([name, part]) => [name, sharedWith(given[name as keyof object], part)]);
  return Object.fromEntries(parts);
}

/** The size of a list in the unit of a door's budget. */
export function sizeFor({ measure, isForHistory }: Door, messages: readonly object[], format: FormatName): number {
  if (measure === 'messages') return messages.length;
  const system = isForHistory ? leadingSystem(messages, format) : [];
  return tokensOf(messages, format) - tokensOf(system, format);
}

const tokensOf = (messages: readonly object[], format: FormatName): number =>
  fit(messages, { format, policy: never() } satisfies FitOptions).report.tokens.after;

function leadingSystem(messages: readonly object[], name: FormatName): readonly object[] {
  const format = formatByName(name);
  const end = messages.findIndex((message) => format.view([message]).some(({ kind }) => kind !== 'system'));
  return messages.slice(0, end < 0 ? messages.length : end);
}
