import { PalimpsestError } from '../errors.ts';
import { isRecord } from '../formats/lens.ts';
import { badOption, checkOptions, count, defined, flag, func, oneOf, positive, rule, text } from '../options.ts';
import type { ArrivalOptions } from '../plan/arrival/options.ts';
import type { Policy } from '../plan/policy.ts';
import type { AsyncSummaryWriter } from '../store/summary-log.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentEvent } from './agent-event.ts';
import { AgentRun } from './agent-run.ts';
import type { Approve, Decision } from './approvals.ts';
import { createMemorySession } from './memory-session.ts';
import { type MessageWriter, messageWriter } from './message-writer.ts';
import type { Model } from './model.ts';
import type { Steering } from './steering.ts';
import type { ToolCall } from './tool-call.ts';
import { createToolbox, type Tool } from './tools.ts';
import type { Usage } from './usage.ts';

/** Options of `runAgent`. */
export interface AgentOptions<M> {
  /** The model to ask. */
  readonly model: Model<M>;
  /** The tools that it may call. @default none */
  readonly tools?: readonly Tool[];
  /** The session it runs in. Without one the conversation is in memory only, and in the result. */
  readonly context?: AgentContext<M>;
  /** What to do: a text, or messages. Without it the run goes on where the conversation stands. */
  readonly task?: string | readonly M[];
  /** Told with every request, apart from the conversation. */
  readonly system?: string;
  /** After so many requests the run stops; 25 if not given. @default 25 */
  readonly maxToolIterations?: number;
  /** How large a request may be. The limit of the session if not given, or if that is smaller. */
  readonly maxInputTokens?: number;
  /** How long an answer may be: so much of the window is kept free; 4,096 if not given. @default 4096 */
  readonly maxOutputTokens?: number;
  /**
   * How much of a request the conversation before this run may take; 20,000 if not given, 0 for no cap. @default 20000
   */
  readonly maxHistoryTokens?: number;
  /** Masks old results where no session is given: a session has its own. `breakEven` if not given. */
  readonly policy?: Policy;
  /** How results are made smaller when they first go out, where no session is given: a session has its own. */
  readonly arrival?: ArrivalOptions;
  /** Writes the summaries that the policy asks for, where no session is given: a session has its own. */
  readonly summarize?: AsyncSummaryWriter<M>;
  /** How long a tool may take; 120,000 if not given, 0 for no limit. @default 120000 */
  readonly toolTimeoutMs?: number;
  /** Asked about calls of tools that need approval. Without it the run stops at such a call. */
  readonly approve?: Approve;
  /** Messages for the model while it runs. */
  readonly steering?: Steering;
  /** Ends the run at once: running tools are told, and every call is answered. */
  readonly signal?: AbortSignal;
  /** Whoever asked is gone. */
  readonly disconnected?: AbortSignal;
  /** What to do then: stop before the next request (default), or go on to the end. @default 'pause' */
  readonly onDisconnect?: 'pause' | 'continue';
  /** Restart the session by itself when its window is full (default), or end with `context-full`. @default true */
  readonly autoRestart?: boolean;
  /** Gets the model's words as they come: answers are streamed then. */
  readonly onText?: (delta: string) => void;
  /** Called for every request, result, mask and restart, as it happens. */
  readonly onEvent?: (event: AgentEvent) => void;
}

/** Options of `resumeAgent`. */
export interface ResumeOptions<M> extends Omit<AgentOptions<M>, 'task'> {
  /** What was decided about each call that waits, by its id. */
  readonly decisions: Readonly<Record<string, Decision>>;
  /** Without a session: the messages of the result that is resumed. */
  readonly messages?: readonly M[];
}

/** How a run ended. */
export type AgentStatus = 'complete' | 'awaiting-approval' | 'max-iterations' | 'paused' | 'aborted' | 'context-full';

/** What came of a run. */
export interface AgentResult<M> {
  /** How the run ended. */
  readonly status: AgentStatus;
  /** What the model said last. */
  readonly text: string;
  /** The conversation since the last restart, results whole. */
  readonly messages: readonly M[];
  /** The sum over all requests, where the provider told it. */
  readonly usage?: Usage;
  /** How many requests were answered. */
  readonly iterations: number;
  /** How often the session was restarted. */
  readonly restarts: number;
  /** The calls that wait for a decision. */
  readonly pending: readonly ToolCall[];
  /** Why, where the status alone does not tell. */
  readonly because?: string;
}

/**
 * Runs an agent: asks the model, runs the tools it calls, tells it the results, until it calls no more. Full results go to
 * the session first; what the model is sent is kept within its budget before every request.
 */
export async function runAgent<M>(options: AgentOptions<M>): Promise<AgentResult<M>> {
  checkOptions('runAgent', options, { ...RULES, task });
  const { run, context, writer } = prepare(options);
  const said = taskOf(options.task, writer);
  if (said.length + context.messages().length === 0)
    throw badOption('runAgent option task', 'given where nothing was said yet', options.task);
  return alone(context, async () => {
    await run.begin();
    await run.skipOpenCalls();
    await context.add(...said);
    if (said.length > 0) await context.log({ type: 'run_start' });
    return run.toEnd({ isResumed: options.task === undefined });
  });
}

/** Goes on where a run stopped for approval, with what was decided. */
export async function resumeAgent<M>(options: ResumeOptions<M>): Promise<AgentResult<M>> {
  checkOptions('resumeAgent', options, {
    ...RULES,
    decisions: rule('an object of decisions', isRecord),
    messages: list,
  });
  const { decisions, messages = [], ...rest } = options;
  if (options.context && options.messages)
    throw badOption('resumeAgent option messages', 'left out where a session has them', messages);
  const { run, context } = prepare(rest);
  return alone(context, async () => {
    await run.begin();
    await context.add(...messages);
    return (await run.answerOpenCalls(decisions)) ?? run.toEnd({ isResumed: true });
  });
}

const busy = new WeakSet<object>();

/** Two runs in one session would answer each other's calls. */
async function alone<T>(context: object, run: () => Promise<T>): Promise<T> {
  if (busy.has(context)) {
    const remedy = 'wait for it, or tell it more through steering';
    throw new PalimpsestError('BAD_INPUT', `Expected one run at a time but found one in this session; ${remedy}`);
  }
  busy.add(context);
  try {
    return await run();
  } finally {
    busy.delete(context);
  }
}

const list = rule('a list of messages', Array.isArray);
const task = rule('a text that is not empty, or a list of messages', (v) =>
  typeof v === 'string' ? v !== '' : Array.isArray(v),
);

const RULES = {
  model: func,
  tools: rule('a list of tools', Array.isArray),
  context: rule('a session', (v) => typeof (v as AgentContext<unknown> | null)?.render === 'function'),
  system: text,
  maxToolIterations: positive,
  maxInputTokens: positive,
  maxOutputTokens: positive,
  maxHistoryTokens: count,
  toolTimeoutMs: count,
  policy: rule('a policy, such as hybrid()', (v) => typeof (v as Policy | null)?.step === 'function'),
  arrival: rule('an object with clean, references, shellOutput and truncate', isRecord),
  summarize: func,
  approve: func,
  steering: rule('a queue, such as createSteering()', (v) => typeof (v as Steering | null)?.drain === 'function'),
  signal: rule('an AbortSignal', (v) => v instanceof AbortSignal),
  disconnected: rule('an AbortSignal', (v) => v instanceof AbortSignal),
  onDisconnect: oneOf('pause', 'continue'),
  autoRestart: flag,
  onText: func,
  onEvent: func,
};

function prepare<M>(options: AgentOptions<M>) {
  const { model } = options;
  if (typeof model !== 'function') throw badOption('runAgent option model', 'a function', model);
  const toolbox = createToolbox(options.tools ?? []);
  const spoken = messageWriter(model.format ?? options.context?.format, 'the format of the model').format.name;
  for (const name of ['policy', 'arrival', 'summarize'] as const)
    if (options.context && options[name] !== undefined)
      throw badOption(
        `runAgent option ${name}`,
        'left out where a session is given: give it to the session',
        options[name],
      );
  const context = options.context ?? createMemorySession<M>(memoryOptions(options));
  const writer = messageWriter(context.format);
  const { name } = writer.format;
  if (spoken !== name)
    throw badOption('the format of the session', `that of the model; open it with { format: '${spoken}' }`, name);
  return { run: new AgentRun({ ...options, context, toolbox }), context, writer };
}

function memoryOptions<M>({ model, maxInputTokens, policy, arrival, summarize }: AgentOptions<M>) {
  return defined({ format: model.format ?? 'chat', model: model.model, maxInputTokens, policy, arrival, summarize });
}

function taskOf<M>(task: AgentOptions<M>['task'], writer: MessageWriter<M>): readonly M[] {
  return typeof task === 'string' ? [writer.user(task)] : (task ?? []);
}
