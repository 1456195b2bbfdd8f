import { PalimpsestError } from '../errors.ts';
import { bindsThinking } from '../laws/bound-reasoning.ts';
import { type AnyFormat, EMPTY_PLAN, type Format, type Plan } from '../message.ts';
import { anything, badOption, checkOptions, defined, flag, func, positive, rule, text } from '../options.ts';
import { type ArrivalOptions, arrivalRules } from '../plan/arrival/options.ts';
import { type FitOptions, fit, policyRule } from '../plan/fit.ts';
import type { Policy } from '../plan/policy.ts';
import type { Report, Requirement } from '../plan/report.ts';
import { fitAndStore } from '../store/fit-and-store.ts';
import { handleOf } from '../store/handle.ts';
import { checkSession, isSessionId, type Signal, type Store } from '../store/store.ts';
import { KnownRequests } from './known-requests.ts';

/** The options of every adapter. `Step` is the framework's description of a step. */
export interface AdapterOptions<Step = unknown> {
  /** Keeps the originals. Without a store, nothing that is masked can be recalled. @default none */
  readonly store?: Store;
  /**
   * The id of the conversation, or a function that returns it, which may be any text. Texts of a session can be listed,
   * searched and deleted together. @default the framework's own id, if it has one
   */
  readonly session?: string | ((step: Step) => string | undefined);
  /** Chooses what is masked, and when. @default breakEven() */
  readonly policy?: Policy;
  /** The budget of a request, in tokens. @default the context window of the model */
  readonly maxTokens?: number;
  /** The name of the model. @default the one that the framework calls */
  readonly model?: string;
  /** How results are made smaller when they are first sent. @default that of the policy */
  readonly arrival?: ArrivalOptions;
  /** Whether placeholders show handles. @default true if there is a store */
  readonly recall?: boolean;
  /** Called before each request is sent. @default none */
  readonly onReport?: (report: Report, about: ReportedStep) => void;
}

/** The step that a report is about. */
export interface ReportedStep {
  /** The id of the conversation. Absent if none is known. */
  readonly session?: string;
}

/** A step of a framework, in the words of `fit`. */
export interface StepRequest<M, Step> {
  readonly messages: readonly M[];
  readonly format: Format<M>;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly model?: string | undefined;
  /** The framework's id of the conversation: any text. The option `session` wins. */
  readonly session?: string | undefined;
  readonly signal?: Signal | undefined;
  /** Whether the request can carry the fields of `report.requires`. If not, nothing is masked that would need them. */
  readonly canRequire: boolean;
  /** Passed to the option `session`. */
  readonly step: Step;
  /** Where warnings go. The console if not given. */
  readonly warn?: ((text: string) => void) | undefined;
}

/** The messages to send in a step. */
export interface FittedStep<M> {
  readonly messages: M[];
  readonly plan: Plan;
  /** Fields and headers that the request must carry too. */
  readonly requires: readonly Requirement[];
}

/** Fits the steps of a framework. */
export interface Adapter<Step> {
  fit<M>(request: StepRequest<M, Step>): Promise<FittedStep<M>>;
}

/**
 * Shared by all adapters: an adapter only translates between its framework and this. Bad options throw here, before the
 * first step.
 */
export function createAdapter<Step>(of: string, options: AdapterOptions<Step>): Adapter<Step> {
  checkAdapterOptions(of, options);
  const { store, recall, onReport } = options;
  const known = new KnownRequests();
  let hasWarned = false;
  const fitStep = async <M>(request: StepRequest<M, Step>): Promise<FittedStep<M>> => {
    request.signal?.throwIfAborted();
    const session = sessionOf(options, request);
    const { messages, system, tools } = known.reuse(request, session);
    const fitOptions = { ...fitOptionsOf(options, request), system, tools };
    const about = session === undefined ? {} : { session };
    const { report, ...fitted } = store
      ? await fitAndStore(messages, { ...fitOptions, store, recall: recall ?? true, ...about })
      : fit(messages, fitOptions);
    request.signal?.throwIfAborted();
    onReport?.(report, about);
    return { ...fitted, requires: report.requires };
  };
  return {
    async fit(request) {
      try {
        return await fitStep(request);
      } catch (error) {
        // Messages that cannot be read, such as those of an application's own kind, must not stop the framework.
        if (!(error instanceof PalimpsestError) || error.code !== 'UNKNOWN_FORMAT') throw error;
        const { messages, warn = console.warn } = request;
        if (!hasWarned) warn(`palimpsest: a request was sent unchanged. ${error.message}`);
        hasWarned = true;
        return { messages: [...messages], plan: EMPTY_PLAN, requires: [] };
      }
    },
  };
}

/** The store of the options, for a recall tool. */
export function storeOf(of: string, options: Pick<AdapterOptions, 'store'>): Store {
  checkOptions(of, options, { store: storeRule }, ['store']);
  return options.store as Store;
}

const storeRule = rule('a store, such as openStore() gives', (value) => {
  const store = value as Partial<Store> | null;
  return typeof store?.putMany === 'function' && typeof store.get === 'function';
});

const RULES = {
  store: storeRule,
  session: rule('a text or a function', (value) => text.check(value) || func.check(value)),
  policy: policyRule,
  maxTokens: positive,
  model: text,
  arrival: anything,
  recall: flag,
  onReport: func,
};

function checkAdapterOptions<Step>(of: string, options: AdapterOptions<Step>): void {
  checkOptions(of, options, RULES);
  const { store, session, recall, arrival } = options;
  if (arrival !== undefined) checkOptions(`${of} option arrival`, arrival, arrivalRules);
  if (typeof session === 'string') checkSession(session);
  if (recall && !store) throw badOption(`${of} option store`, 'a store where recall is on', store);
}

function sessionOf<M, Step>({ session }: AdapterOptions<Step>, request: StepRequest<M, Step>): string | undefined {
  const found: unknown = typeof session === 'function' ? session(request.step) : session;
  const id = found ?? (request.session || undefined);
  if (id === undefined || (typeof id === 'string' && id !== '')) return id && toSessionId(id);
  throw badOption('what the option session answers', 'a text that is not empty, or undefined', id);
}

/** Ids of users and frameworks may be any text, such as `user:42`. A hash distinguishes ids that differ only in special characters. */
function toSessionId(id: string): string {
  if (isSessionId(id)) return id;
  return `${id.replaceAll(/[^\w-]/g, '_').slice(0, 40)}-${handleOf(id).slice(2, 18)}`;
}

function fitOptionsOf<M, Step>(options: AdapterOptions<Step>, request: StepRequest<M, Step>): FitOptions {
  const { policy, maxTokens, arrival, model = request.model } = options;
  const format = request.format as unknown as AnyFormat;
  const boundThinking = request.canRequire || !bindsThinking(model) ? 'opt-in' : 'keep';
  return { format, boundThinking, ...defined({ policy, maxTokens, arrival, model }) };
}
