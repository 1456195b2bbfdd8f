import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { defaultContextWindow } from '../budget.ts';
import { PalimpsestError } from '../errors.ts';
import type { ChatMessage } from '../message.ts';
import { anything, checkOptions, count, func, given, oneOf, positive, rule, text } from '../options.ts';
import { hasRecallTool } from '../plan/fit.ts';
import { breakEven } from '../plan/policies/break-even.ts';
import type { Policy } from '../plan/policy.ts';
import { pricesOf } from '../plan/prices.ts';
import { nodeDisk } from '../store/embedded/disk.ts';
import { Lock } from '../store/embedded/lock.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { actorMessageLimit } from './actor-message-limit.ts';
import { type Dialect, toDialect } from './dialect.ts';
import { rememberingCounter } from './remembering-counter.ts';
import type { ConversationOptions } from './session/conversation.ts';
import { type DurableOptions, DurableSession } from './session/durable-session.ts';
import type { Session, SessionOptions } from './session/session.ts';
import { sessionFolder } from './session/session-folder.ts';

const share = rule('a number above 0 and up to 1', (v) => typeof v === 'number' && v > 0 && v <= 1);

const RULES = {
  directory: text,
  id: text,
  dialect: rule('a dialect or the name of a format', (v) => typeof v === 'string' || isDialect(v)),
  store: rule('a store', (v) => typeof (v as { putMany?: unknown } | null)?.putMany === 'function'),
  policy: rule('a policy, such as slidingWindow()', (v) => typeof (v as Policy | null)?.step === 'function'),
  model: text,
  contextWindows: anything,
  counter: func,
  system: anything,
  tools: anything,
  contextLimit: positive,
  softThreshold: share,
  hardThreshold: share,
  carryoverTurns: count,
  carryoverTokens: positive,
  maskBatch: positive,
  maxRestarts: count,
  maxInputTokens: positive,
  maxToolResultTokens: positive,
  toolResultTruncation: oneOf('head', 'tail', 'both'),
  compaction: oneOf('archive', 'discard', 'off'),
  compactAfterBytes: positive,
  snapshotEvery: positive,
  openCalls: oneOf('answer', 'keep'),
  onWindDown: func,
  onProblem: func,
  disk: anything,
  now: func,
};

const isDialect = (value: unknown): boolean => typeof (value as Dialect<unknown> | null)?.format?.viewer === 'function';

/** Opens the session of that id, or begins it: a conversation whose every message is on disk when `add` resolves. */
export async function openSession<M = ChatMessage>(options: SessionOptions<M>): Promise<Session<M>> {
  checkOptions('openSession', given('openSession', options), RULES);
  const { id, disk = nodeDisk } = options;
  const folder = sessionFolder(options.directory, id);
  const session = toDurable(options, folder);
  if (disk !== nodeDisk) return DurableSession.open({ ...session, disk });
  const lock = await lockFolder(folder, id);
  const release = (): void => lock.release();
  try {
    return await DurableSession.open({ ...session, disk, mayWrite: () => lock.check(), onClose: release });
  } catch (error) {
    release();
    throw error instanceof PalimpsestError ? error : cannotOpen(id, error as Error);
  }
}

function toDurable<M>(options: SessionOptions<M>, folder: string): Omit<DurableOptions<M>, 'disk'> {
  const { id, store, policy = defaultPolicy(options.model), tools } = options;
  // The same texts are sized again for every view.
  const counter = rememberingCounter(options.counter ?? countTokens);
  const dialect = toDialect<M>(options.dialect);
  const conversation: ConversationOptions<M> = {
    format: dialect.format,
    policy,
    counter,
    show: store === undefined ? 'nothing' : hasRecallTool(tools) ? 'recall' : 'handle',
    maxResultTokens: options.maxToolResultTokens ?? 8000,
    truncation: options.toolResultTruncation ?? 'head',
    limit: actorMessageLimit(inputTokens(options)),
  };
  return {
    id,
    folder,
    dialect,
    conversation,
    manager: managerOptions({ ...options, counter }, policy),
    store,
    compaction: options.compaction ?? 'archive',
    compactAfterBytes: options.compactAfterBytes ?? 1 << 20,
    snapshotEvery: options.snapshotEvery ?? 50,
    openCalls: options.openCalls ?? 'answer',
    onWindDown: options.onWindDown ?? (() => {}),
    onProblem: (problem) => tell(options.onProblem ?? ((error) => process.emitWarning(error)), problem),
    now: options.now ?? Date.now,
    mayWrite: () => {},
    onClose: () => {},
  };
}

/** What the caller's function throws is his to catch, and must not stop the log. */
function tell(onProblem: (problem: Error) => void, problem: Error): void {
  try {
    onProblem(problem);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function defaultPolicy(model: string | undefined): Policy {
  const prices = model === undefined ? undefined : pricesOf(model);
  return breakEven(prices ? { prices } : {});
}

function inputTokens<M>({
  maxInputTokens,
  contextLimit,
  model,
  contextWindows,
}: SessionOptions<M>): number | undefined {
  const known = model === undefined ? undefined : defaultContextWindow(model, contextWindows);
  return maxInputTokens ?? contextLimit ?? known;
}

const MANAGER = [
  'contextLimit',
  'softThreshold',
  'hardThreshold',
  'carryoverTurns',
  'carryoverTokens',
  'maskBatch',
  'maxRestarts',
  'model',
  'contextWindows',
  'counter',
  'system',
  'tools',
] as const;

function managerOptions<M>(options: SessionOptions<M>, policy: Policy): DurableOptions<M>['manager'] {
  const own = MANAGER.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  return { ...Object.fromEntries(own), policy, recall: options.store !== undefined };
}

async function lockFolder(folder: string, id: string): Promise<Lock> {
  try {
    await nodeDisk.makeFolder(folder);
    chmodSync(folder, 0o700);
    return Lock.take(join(folder, 'lock'), {
      what: `the session ${id}`,
      remedy: 'close it there, or stop that process',
    });
  } catch (error) {
    throw error instanceof PalimpsestError ? error : cannotOpen(id, error as Error);
  }
}

function cannotOpen(id: string, cause: Error): PalimpsestError {
  const text = `Expected to open the session ${id} but found: ${cause.message}; see to the disk and its rights, then open it again`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}
