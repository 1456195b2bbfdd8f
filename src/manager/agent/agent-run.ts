import { setMaxListeners } from 'node:events';
import { PalimpsestError } from '../../errors.ts';
import { boundThinking } from '../../laws/bound-reasoning.ts';
import type { Format } from '../../message.ts';
import { badOption, defined } from '../../options.ts';
import type { Requirement } from '../../plan/report.ts';
import type { Rendered } from '../budget/render-with-budget.ts';
import { messageWriter } from '../message-writer.ts';
import { openCallsOf, resultsForOpen } from '../open-calls.ts';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import { addUsage, type Usage } from '../usage.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentEvent } from './agent-event.ts';
import { type Approve, type Decision, deniedResult, type JudgedCall, judge } from './approvals.ts';
import { checkReply, type ModelRequest, type Reply, type Stop, type ToolDefinition } from './model.ts';
import { isOverflow } from './overflow.ts';
import { RequestBudget } from './request-budget.ts';
import { errorText } from './result-text.ts';
import type { AgentOptions, AgentResult, AgentStatus } from './run-agent.ts';
import { failed, type PreparedCall, prepareCall, runCall, type Toolbox, unlessAborted } from './tools.ts';

type RunOptions<M> = Omit<AgentOptions<M>, 'context' | 'tools'> & {
  readonly context: AgentContext<M>;
  readonly toolbox: Toolbox;
};

/** A request that was too large: the provider's words, and the request. */
interface Refusal<M> {
  readonly overflow: string;
  readonly rendered: Rendered<M>;
}

/** One run of an agent, from its task to its end. */
export class AgentRun<M> {
  readonly #options: RunOptions<M>;
  readonly #context: AgentContext<M>;
  readonly #signal: AbortSignal;
  readonly #budget: RequestBudget<M>;
  /** The cap of the next request; undefined for that of the session. Only the first request of a task is capped: its cut stays. */
  #maxHistoryTokens: number | undefined = 0;
  #iterations = 0;
  #text = '';
  #usage: Usage | undefined;
  #lastSent: readonly M[] = [];

  constructor(options: RunOptions<M>) {
    const { context, maxInputTokens, maxOutputTokens, autoRestart } = options;
    this.#options = options;
    this.#context = context;
    this.#signal = options.signal ?? new AbortController().signal;
    const emit = (event: AgentEvent): void => this.#emit(event);
    this.#budget = new RequestBudget({ context, maxInputTokens, maxOutputTokens, autoRestart, emit });
  }

  /** Marks a paused session as active. */
  async begin(): Promise<void> {
    const { status } = this.#context;
    if (status !== 'active') await this.#context.log({ type: 'status_change', from: status, to: 'active' });
  }

  /** Answers calls that an earlier run left open. Providers refuse other messages before that. */
  async skipOpenCalls(): Promise<void> {
    const reason = 'it was not made: the conversation went on without it';
    const writer = messageWriter(this.#context.format);
    const results = resultsForOpen(writer, this.#context.messages(), (call) => failed(call, reason));
    if (results.length === 0) return;
    await this.#context.log({ type: 'tools_skipped', call_ids: results.map(({ call }) => call.id), reason });
    await this.#context.answer(...results);
  }

  /** Makes or refuses the waiting calls, as decided. */
  async answerOpenCalls(decisions: Readonly<Record<string, Decision>>): Promise<AgentResult<M> | undefined> {
    const open = openCallsOf(this.#context.format, this.#context.messages());
    if (open.length === 0) throw badOption('what resumeAgent is given', 'a conversation with calls that wait', 'none');
    for (const id of Object.keys(decisions))
      if (!open.some((call) => call.id === id))
        throw badOption('each id in decisions', 'that of a call that waits', id);
    const earlier = new Map(this.#context.decidedApprovals().map(({ callId, ...decision }) => [callId, decision]));
    const decided: Approve = (call, signal) =>
      (Object.hasOwn(decisions, call.id) ? decisions[call.id] : undefined) ??
      earlier.get(call.id) ??
      this.#approve(call, signal);
    const end = await this.#answer(open, decided);
    return end ?? this.#makeRoom();
  }

  /** Asks and answers until there is a reason to stop. */
  async toEnd({ isResumed }: { readonly isResumed: boolean }): Promise<AgentResult<M>> {
    this.#maxHistoryTokens = isResumed ? 0 : this.#options.maxHistoryTokens;
    for (;;) {
      const stop = this.#reasonToStop();
      if (stop) return this.#end(stop);
      await this.#steer();
      const reply = await this.#ask();
      if ('status' in reply) return reply;
      const end = reply.calls.length > 0 ? await this.#answer(reply.calls, this.#approve) : undefined;
      if (end) return end;
      if (reply.calls.length === 0 && reply.stop !== 'pause' && !(await this.#steer()))
        return this.#end('complete', whyUnfinished(reply.stop));
      const full = await this.#makeRoom();
      if (full) return full;
    }
  }

  #reasonToStop(): AgentStatus | undefined {
    const { maxToolIterations = 25, disconnected, onDisconnect = 'pause' } = this.#options;
    if (this.#signal.aborted) return 'aborted';
    if (disconnected?.aborted && onDisconnect === 'pause') return 'paused';
    return this.#iterations >= maxToolIterations ? 'max-iterations' : undefined;
  }

  /** Adds the messages of `steering`. Answers whether there were any. */
  async #steer(): Promise<boolean> {
    const texts = this.#options.steering?.drain() ?? [];
    if (texts.length === 0) return false;
    const writer = messageWriter(this.#context.format);
    await this.#context.add(...texts.map((text) => writer.user(text)));
    for (const text of texts) this.#emit({ type: 'steered', text });
    return true;
  }

  /** One reply, or how the run ends without it. A refused request is sent once more, smaller. */
  async #ask(): Promise<Reply<M> | AgentResult<M>> {
    const first = await this.#send();
    if (!('overflow' in first)) return first;
    this.#emit({ type: 'overflow', said: first.overflow });
    await this.#budget.reduce(first.rendered);
    const second = await this.#send().catch((error: unknown) => {
      // Only the caller could shorten the rest: the refusal is final.
      if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return first;
      throw error;
    });
    return 'overflow' in second ? this.#end('context-full', { because: second.overflow }) : second;
  }

  /** Sends one request and takes in the reply. */
  async #send(): Promise<Reply<M> | AgentResult<M> | Refusal<M>> {
    const history = defined({ maxHistoryTokens: this.#maxHistoryTokens });
    const rendered = await this.#budget.render({ ...this.#overhead(), ...history });
    this.#maxHistoryTokens = 0;
    const request = this.#request(rendered);
    const { length } = request.messages;
    this.#emit({ type: 'request', iteration: this.#iterations + 1, messages: length, report: rendered.report });
    const reply = await this.#question(request);
    if (reply === 'aborted') return this.#end('aborted');
    if ('overflow' in reply) return { ...reply, rendered };
    await this.#take(reply, rendered);
    return reply;
  }

  async #question(request: ModelRequest<M>): Promise<Reply<M> | 'aborted' | Pick<Refusal<M>, 'overflow'>> {
    try {
      const reply = checkReply(await unlessAborted(this.#options.model(request, this.#signal), this.#signal));
      return reply.stop === 'context-full' ? { overflow: 'the answer ran into the end of the window' } : reply;
    } catch (error) {
      if (this.#signal.aborted) return 'aborted';
      if (isOverflow(error)) return { overflow: errorText(error) };
      await this.#context.log({ type: 'error', message: errorText(error) });
      throw error;
    }
  }

  /** The system prompt. After a restart it also says that the session was restarted. */
  #system(): { readonly system?: string } {
    const parts = [this.#options.system ?? '', this.#context.continuity()].filter((part) => part !== '');
    return parts.length > 0 ? { system: parts.join('\n\n') } : {};
  }

  /** System prompt and tools, in the form in which they count. */
  #overhead(): { readonly system?: string; readonly tools: readonly object[] } {
    return { ...this.#system(), tools: this.#options.toolbox.definitions.map(asSent) };
  }

  #request({ messages }: Rendered<M>): ModelRequest<M> {
    const { maxOutputTokens, onText, model } = this.#options;
    const requires = requirementsOf(this.#context.format, messages, model.model);
    const changed = firstChange(this.#lastSent, messages);
    this.#lastSent = messages;
    return {
      messages,
      ...this.#system(),
      tools: this.#options.toolbox.definitions,
      ...(requires.length > 0 ? { requires } : {}),
      ...(changed > 0 ? { cacheMarkers: [changed] } : {}),
      ...defined({ maxOutputTokens, onText }),
    };
  }

  async #take(reply: Reply<M>, { messages }: Rendered<M>): Promise<void> {
    const { manager } = this.#context;
    const { text, calls, usage } = reply;
    this.#iterations += 1;
    // The manager compares this estimate with the provider's count.
    manager.preflight(messages, this.#overhead());
    if (usage) manager.recordUsage(usage);
    this.#usage = addUsage(this.#usage, usage);
    await this.#context.add(...reply.messages);
    this.#text = text;
    this.#emit({ type: 'reply', text, calls, ...(usage ? { usage } : {}) });
  }

  readonly #approve: Approve = (call, signal) => this.#options.approve?.(call, signal) ?? 'wait';

  /** Runs the calls of one reply at the same time, and adds their results together. */
  async #answer(calls: readonly ToolCall[], approve: Approve): Promise<AgentResult<M> | undefined> {
    const prepared = await Promise.all(calls.map((call) => prepareCall(this.#options.toolbox, call)));
    const judged: JudgedCall[] = [];
    // One after the other: a person is asked one question at a time.
    for (const call of prepared) judged.push(await this.#judge(call, approve));
    const waiting = judged.filter(({ verdict }) => verdict === 'wait').map(({ prepared: { call } }) => call);
    const mustWait = waiting.length > 0 && !this.#signal.aborted;
    if (mustWait) await this.#logWaiting(waiting);
    for (const one of judged) if (one.isDecided) await this.#logDecision(one);
    if (mustWait) return this.#end('awaiting-approval', { pending: waiting });
    await this.#context.answer(...(await this.#runAll(judged)));
    return this.#signal.aborted ? this.#end('aborted') : undefined;
  }

  /** Does not wait for a person once the run is aborted. */
  async #judge(prepared: PreparedCall, approve: Approve): Promise<JudgedCall> {
    try {
      return await unlessAborted(judge(prepared, approve, this.#signal), this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      return { prepared, verdict: 'wait', isDecided: false };
    }
  }

  async #logWaiting(calls: readonly ToolCall[]): Promise<void> {
    for (const { id, name, arguments: args } of calls)
      await this.#context.log({ type: 'approval_required', call_id: id, tool: name, arguments: args });
    this.#emit({ type: 'approval-required', calls });
  }

  /** Logs a decision once, although the run may stop again before the call is made. */
  async #logDecision({ prepared, verdict }: JudgedCall): Promise<void> {
    const call_id = prepared.call.id;
    const approved = verdict === 'run';
    const reason = typeof verdict === 'object' && verdict.denied !== '' ? verdict.denied : undefined;
    const logged = this.#context.decidedApprovals().find(({ callId }) => callId === call_id);
    if (logged?.approved === approved && logged.reason === reason) return;
    const decision = approved ? 'approved' : 'denied';
    await this.#context.log({ type: 'approval_decision', call_id, decision, ...defined({ reason }) });
  }

  /** Many calls may run at once: they share one listener of the caller's signal. */
  async #runAll(judged: readonly JudgedCall[]): Promise<ToolResult[]> {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const abort = (): void => stop.abort(this.#signal.reason);
    if (this.#signal.aborted) abort();
    this.#signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.all(judged.map((one) => this.#run(one, stop.signal)));
    } finally {
      this.#signal.removeEventListener('abort', abort);
    }
  }

  async #run({ prepared, verdict }: JudgedCall, signal: AbortSignal): Promise<ToolResult> {
    const { call } = prepared;
    this.#emit({ type: 'call', call });
    const { toolTimeoutMs: timeoutMs = 120_000 } = this.#options;
    const isDenied = typeof verdict === 'object';
    const result = isDenied ? deniedResult(call, verdict.denied) : await runCall(prepared, { signal, timeoutMs });
    this.#emit({ type: 'result', result });
    return result;
  }

  async #makeRoom(): Promise<AgentResult<M> | undefined> {
    const because = await this.#budget.makeRoom();
    return because === undefined ? undefined : this.#end('context-full', { because });
  }

  async #end(status: AgentStatus, more: Partial<AgentResult<M>> = {}): Promise<AgentResult<M>> {
    if (status === 'paused' || status === 'awaiting-approval')
      await this.#context.log({ type: 'status_change', from: this.#context.status, to: 'paused' });
    return {
      status,
      text: this.#text,
      messages: this.#context.messages(),
      ...(this.#usage ? { usage: this.#usage } : {}),
      iterations: this.#iterations,
      restarts: this.#budget.restarts,
      pending: [],
      ...more,
    };
  }

  #emit(event: AgentEvent): void {
    this.#options.onEvent?.(event);
  }
}

const asSent = (definition: ToolDefinition): object => ({ type: 'function', function: definition });

/** A run also ends with an answer that was cut or refused, and says so. */
function whyUnfinished(stop: Stop | undefined): { readonly because?: string } {
  if (stop === 'length') return { because: 'the answer was cut: it had reached the length it may have' };
  return stop === 'refusal' ? { because: 'the model refused to answer' } : {};
}

/** If thinking is signed, a request opts into losing thinking that is bound to edited or omitted words. */
function requirementsOf<M>(
  format: Format<M>,
  messages: readonly M[],
  model: string | undefined,
): readonly Requirement[] {
  return format.view(messages).some(({ signed }) => signed) ? boundThinking(0, 1, model) : [];
}

/** The first message that differs from the previous request; 0 if none does, or if all do. */
function firstChange<M>(before: readonly M[], after: readonly M[]): number {
  const at = before.findIndex((message, i) => message !== after[i] && !isEqual(message, after[i]));
  return Math.max(0, at);
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
