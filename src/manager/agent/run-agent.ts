import { PalimpsestError } from '../../errors.ts';
import { isRecord } from '../../formats/lens.ts';
import { badOption, checkOptions, count, defined, flag, func, oneOf, positive, rule, text } from '../../options.ts';
import type { ArrivalOptions } from '../../plan/arrival/options.ts';
import type { Policy } from '../../plan/policy.ts';
import type { AsyncSummaryWriter } from '../../store/summary-log.ts';
import { type MessageWriter, messageWriter } from '../message-writer.ts';
import { createMemorySession } from '../session/memory-session.ts';
import { SETTINGS_RULES } from '../session/session-settings.ts';
import type { ToolCall } from '../tool-call.ts';
import type { Usage } from '../usage.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentEvent } from './agent-event.ts';
import { AgentRun } from './agent-run.ts';
import type { Approve, Decision } from './approvals.ts';
import type { Model } from './model.ts';
import type { Steering } from './steering.ts';
import { createToolbox, type Tool } from './tools.ts';

/** Options of `runAgent`. */
export interface AgentOptions<M> {
  /** The model to ask. */
  readonly model: Model<M>;
  /** The tools that it may call. @default none */
  readonly tools?: readonly Tool[];
  /** The session it runs in. Without one the conversation is in memory only, and in the result. @default none */
  readonly context?: AgentContext<M>;
  /** The task: a text, or messages. Without it the run continues the conversation. @default none */
  readonly task?: string | readonly M[];
  /** The system prompt of every request. @default none */
  readonly system?: string;
  /** The run stops after this many requests. @default 25 */
  readonly maxToolIterations?: number;
  /** How large a request may be. The limit of the session if that is smaller. @default the limit of the session */
  readonly maxInputTokens?: number;
  /** The longest answer, in tokens. This part of the window stays free. @default 4096 */
  readonly maxOutputTokens?: number;
  /**
   * How much of a request the conversation before this run may take; 0 for no cap. @default that of the session, else 20000
   */
  readonly maxHistoryTokens?: number;
  /** Masks old results where no session is given: a session has its own. @default breakEven() */
  readonly policy?: Policy;
  /**
   * How results are made smaller when they first go out, where no session is given: a session has its own. @default
   * that of the policy
   */
  readonly arrival?: ArrivalOptions;
  /**
   * Writes the summaries that the policy asks for, where no session is given: a session has its own. @default the
   * policy's own
   */
  readonly summarize?: AsyncSummaryWriter<M>;
  /** How long a tool may take; 0 for no limit. @default 120000 */
  readonly toolTimeoutMs?: number;
  /** Asked about calls of tools that need approval. Without it the run stops at such a call. @default none */
  readonly approve?: Approve;
  /** Messages for the model while it runs. @default none */
  readonly steering?: Steering;
  /** Ends the run at once: running tools are told, and every call is answered. @default none */
  readonly signal?: AbortSignal;
  /** Aborted when the client that asked has disconnected. @default none */
  readonly disconnected?: AbortSignal;
  /** After a disconnect the run stops before the next request, or continues to its end. @default 'pause' */
  readonly onDisconnect?: 'pause' | 'continue';
  /** Restarts the session when its window is full. If false, the run ends with `context-full`. @default true */
  readonly autoRestart?: boolean;
  /** Called with each piece of the model's text. If given, answers are streamed. @default none */
  readonly onText?: (delta: string) => void;
  /** Called for every request, result, mask and restart, as it happens. @default none */
  readonly onEvent?: (event: AgentEvent) => void;
}

/** Options of `resumeAgent`. */
export interface ResumeOptions<M> extends Omit<AgentOptions<M>, 'task'> {
  /** The decision about each waiting call, by the id of the call. Without a session, also the decisions that were given before. */
  readonly decisions: Readonly<Record<string, Decision>>;
  /** Without a session: the messages of the result that is resumed. @default none */
  readonly messages?: readonly M[];
}

/** How a run ended. */
export type AgentStatus = 'complete' | 'awaiting-approval' | 'max-iterations' | 'paused' | 'aborted' | 'context-full';

/** The result of a run. */
export interface AgentResult<M> {
  /** How the run ended. */
  readonly status: AgentStatus;
  /** The last text of the model. */
  readonly text: string;
  /** The conversation since the last restart, results whole. */
  readonly messages: readonly M[];
  /** The sum over all requests, if the provider reports usage. */
  readonly usage?: Usage;
  /** How many requests were answered. */
  readonly iterations: number;
  /** How often the session was restarted. */
  readonly restarts: number;
  /** The calls that wait for a decision. */
  readonly pending: readonly ToolCall[];
  /** The reason, if the status alone does not tell it. */
  readonly because?: string;
}

/**
 * Runs an agent: asks the model, runs the tools that it calls, and sends the results, until it calls no more. Full results go
 * to the session first. Every request is kept within its budget.
 *
 * @example
 * ```ts
 * import { defineTool, runAgent } from 'palimpsest/manager';
 * import { fromUrl } from 'palimpsest/models';
 *
 * const now = defineTool({ name: 'now', description: 'The time.', run: () => new Date().toISOString() });
 * const model = fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3' });
 * const { status, text } = await runAgent({ model, tools: [now], task: 'What time is it?' });
 * ```
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

/**
 * Continues a run that stopped for approval.
 *
 * @example
 * ```ts
 * import { resumeAgent, runAgent } from 'palimpsest/manager';
 * import { fromUrl } from 'palimpsest/models';
 *
 * const model = fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3' });
 * const stopped = await runAgent({ model, task: 'Delete old files.' });
 * if (stopped.status === 'awaiting-approval')
 *   await resumeAgent({ model, messages: stopped.messages, decisions: { call_1: true } });
 * ```
 */
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
  model: rule('a model, such as fromUrl({ baseURL, model }) gives', func.check),
  tools: rule('a list of tools', Array.isArray),
  context: rule('a session', (v) => typeof (v as AgentContext<unknown> | null)?.render === 'function'),
  system: text,
  maxToolIterations: positive,
  maxInputTokens: positive,
  maxOutputTokens: positive,
  maxHistoryTokens: count,
  toolTimeoutMs: count,
  policy: SETTINGS_RULES.policy,
  arrival: SETTINGS_RULES.arrival,
  summarize: SETTINGS_RULES.summarize,
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
  const format = model.format === undefined ? options.context?.format : model.format;
  const spoken = messageWriter(format, 'the format of the model').format.name;
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
