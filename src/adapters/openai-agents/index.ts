import type { Item } from '../../formats/items.ts';
import { asString } from '../../formats/lens.ts';
import { openaiAgents } from '../../formats/openai-agents.ts';
import type { Segment } from '../../message.ts';
import { badOption } from '../../options.ts';
import { type Adapter, type AdapterOptions, createAdapter, storeOf } from '../adapter.ts';
import { type AgentParts, toolsOf } from './agent-tools.ts';
import { toInput } from './fitted-input.ts';
import { type OpenAIAgentsRecallTool, toAgentsTool } from './recall-tool.ts';
import { type AgentSession, withOriginals } from './session.ts';
import { SessionItems } from './session-items.ts';

/** Options of `palimpsest` and `palimpsest.tools`. */
export type OpenAIAgentsOptions = AdapterOptions<OpenAIAgentsStep>;

/** A step, as the option `session` gets it. */
export interface OpenAIAgentsStep {
  /** The agent whose turn it is. */
  readonly agent: { readonly name: string };
  /** The option `context` of the run. */
  readonly context: unknown;
}

/** A `callModelInputFilter` of `run`, `Runner` and `agent.asTool`. */
export interface OpenAIAgentsFilter {
  /** Fits the input of one model call. */
  <I extends object>(call: ModelCall<I>): Promise<ModelData<I>>;
  /**
   * Options of a run with a session: `run(agent, input, { ...context.withSession(session) })`. The session's id is also the id of the
   * conversation, and the session keeps the originals of everything that the run sends.
   */
  withSession<S extends AgentSession>(session: S): OpenAIAgentsRunOptions<S>;
}

/** The options of a run that `withSession` gives. */
export interface OpenAIAgentsRunOptions<S> {
  /** The session, wrapped so that it keeps the originals. */
  readonly session: S;
  /** Fits the input of each model call of the run. */
  readonly callModelInputFilter: <I extends object>(call: ModelCall<I>) => Promise<ModelData<I>>;
}

interface ModelCall<I> {
  readonly modelData: ModelData<I>;
  readonly agent: AgentParts;
  readonly context: unknown;
}

interface ModelData<I> {
  input: I[];
  instructions?: string;
}

/**
 * A filter that fits every request into the model's window: `run(agent, input, { callModelInputFilter: palimpsest({ store }) })`.
 * The originals are stored before the request is sent. The history of the run keeps them too.
 *
 * @example
 * ```ts
 * import { Agent, run } from '@openai/agents';
 * import { palimpsest } from 'palimpsest/openai-agents';
 *
 * const agent = new Agent({ name: 'Coder', tools: palimpsest.tools({ store }) });
 * const { finalOutput } = await run(agent, 'Find the bug.', { callModelInputFilter: palimpsest({ store }) });
 * ```
 */
export function palimpsest(options: OpenAIAgentsOptions = {}): OpenAIAgentsFilter {
  const fitter: Fitter = { adapter: createAdapter('palimpsest', options), hasWarned: false };
  const pairs = new WeakMap<object, OpenAIAgentsRunOptions<unknown>>();
  const withSession = <S extends AgentSession>(session: S): OpenAIAgentsRunOptions<S> => {
    if (typeof session?.getSessionId !== 'function')
      throw badOption('the session', 'a session, such as new MemorySession()', session);
    // The runner identifies a session by its object, also when it resumes a run.
    const pair = pairs.get(session) ?? bind(fitter, session);
    pairs.set(session, pair);
    return pair as OpenAIAgentsRunOptions<S>;
  };
  return Object.assign(<I extends object>(call: ModelCall<I>) => fitCall(call, fitter), { withSession });
}

/** The tools that the model needs to recall masked texts: `tools: [...tools, ...palimpsest.tools({ store })]`. */
palimpsest.tools = (options: Pick<OpenAIAgentsOptions, 'store'>): [OpenAIAgentsRecallTool] => [
  toAgentsTool(storeOf('palimpsest.tools', options)),
];

interface Fitter {
  readonly adapter: Adapter<OpenAIAgentsStep>;
  hasWarned: boolean;
}

interface Bound {
  readonly id: string;
  readonly known: SessionItems;
}

function bind<S extends AgentSession>(fitter: Fitter, session: S): OpenAIAgentsRunOptions<S> {
  const known = new SessionItems();
  return {
    session: withOriginals(session, known),
    callModelInputFilter: async (call) => fitCall(call, fitter, { id: await session.getSessionId(), known }),
  };
}

async function fitCall<I extends object>(call: ModelCall<I>, fitter: Fitter, bound?: Bound): Promise<ModelData<I>> {
  const { modelData, agent, context } = call;
  const items = modelData.input as Item[];
  const segments = openaiAgents.view(items);
  if (segments.some(answersNoCall)) {
    if (!fitter.hasWarned) console.warn(SERVER_HISTORY);
    fitter.hasWarned = true;
    return modelData;
  }
  const fitted = await fitter.adapter.fit({
    messages: items,
    format: openaiAgents,
    system: modelData.instructions,
    tools: toolsOf(agent),
    model: asString(agent.model) || undefined,
    session: bound?.id,
    // A filter can change the input and the instructions only.
    canRequire: false,
    step: { agent, context },
  });
  return { ...modelData, input: toInput({ items, segments }, fitted, bound?.known) as I[] };
}

/** If the server keeps the history, the runner sends only new items: results without their calls. */
const answersNoCall = ({ kind, callId }: Segment): boolean => kind === 'observation' && callId === undefined;

const SERVER_HISTORY =
  'palimpsest: nothing is masked in this run, because the history is on the server (conversationId or previousResponseId), ' +
  'and only new items are sent. To mask, run without these options: with a session, or with result.history as the input.';

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { OpenAIAgentsRecallTool } from './recall-tool.ts';
