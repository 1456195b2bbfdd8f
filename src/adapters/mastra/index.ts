import { type AiSdkMessage, aiSdk } from '../../formats/ai-sdk.ts';
import { asString, isRecord } from '../../formats/lens.ts';
import { type AdapterOptions, createAdapter, storeOf } from '../adapter.ts';
import { withRequired } from '../ai-sdk/required-options.ts';
import { dropsThinking } from './bound-thinking.ts';
import type { MastraInputStep, MastraProcessor, MastraRequestContext } from './processor.ts';
import { type MastraRecallTool, toMastraTool } from './recall-tool.ts';

/** Options of `palimpsest` and `palimpsest.tools`. */
export type MastraOptions = AdapterOptions<MastraStep>;

/** A step, as the option `session` gets it. */
export interface MastraStep {
  /** The `requestContext` of the run, if there is one. */
  readonly requestContext?: MastraRequestContext | undefined;
}

/**
 * A processor that fits every request into the model's window: `new Agent({ inputProcessors: [palimpsest({ store })] })`.
 * It changes only the request to the model, so the memory keeps the originals.
 *
 * @example
 * ```ts
 * import { Agent } from '@mastra/core/agent';
 * import { palimpsest } from 'palimpsest/mastra';
 *
 * const agent = new Agent({
 *   id: 'coder',
 *   name: 'Coder',
 *   instructions: 'You work on files.',
 *   model: 'openai/gpt-5',
 *   tools: palimpsest.tools({ store }),
 *   inputProcessors: [palimpsest({ store })],
 * });
 * ```
 */
export function palimpsest(options: MastraOptions = {}): MastraProcessor {
  const adapter = createAdapter('palimpsest', options);
  return {
    id: 'palimpsest',
    processInputStep(step) {
      step.state.tools = toolsOf(step);
      step.state.canRequire = dropsThinking(step);
      return step.state.canRequire ? { providerOptions: withRequired(step.providerOptions) as never } : undefined;
    },
    async processLLMRequest({ prompt, model, state, requestContext, abortSignal }) {
      const { messages } = await adapter.fit({
        messages: prompt as readonly AiSdkMessage[],
        format: aiSdk,
        tools: state.tools,
        model: model.modelId,
        session: threadOf(requestContext),
        signal: abortSignal,
        canRequire: state.canRequire === true,
        step: { requestContext },
      });
      return { prompt: messages as typeof prompt };
    },
  };
}

/** The tools that the model needs to recall masked texts: `tools: { ...tools, ...palimpsest.tools({ store }) }`. */
palimpsest.tools = (options: Pick<MastraOptions, 'store'>): { recall: MastraRecallTool } => ({
  recall: toMastraTool(storeOf('palimpsest.tools', options)),
});

/** The tools as they are declared to the model. Tools of Mastra hold their JSON schema in `parameters`. */
function toolsOf({ tools = {}, activeTools = Object.keys(tools) }: MastraInputStep<unknown>): unknown[] {
  return activeTools.flatMap((name) => {
    const tool = tools[name];
    if (!isRecord(tool)) return [];
    const schema = tool.parameters ?? tool.inputSchema;
    return [
      { name, description: tool.description, inputSchema: isRecord(schema) ? (schema.jsonSchema ?? schema) : schema },
    ];
  });
}

/** Mastra puts the thread of its memory into the context of a request. */
function threadOf(context: MastraRequestContext | undefined): string | undefined {
  const memory = context?.get('MastraMemory');
  return isRecord(memory) && isRecord(memory.thread) ? asString(memory.thread.id) : undefined;
}

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type {
  MastraInputStep,
  MastraModel,
  MastraProcessor,
  MastraRequest,
  MastraRequestContext,
} from './processor.ts';
export type { MastraRecallTool } from './recall-tool.ts';
