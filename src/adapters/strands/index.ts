import { storeOf } from '../adapter.ts';
import { type StrandsMiddleware, type StrandsOptions, toMiddleware } from './middleware.ts';
import { type StrandsRecallConfig, toToolConfig } from './recall-tool.ts';
import { type StrandsStrategy, type StrandsStrategyOptions, toStrategy } from './strategy.ts';

/**
 * A middleware that fits every model call into the model's window:
 * `agent.addMiddleware(InvokeModelStage.Input, palimpsest({ store }))`. It gets copies of the agent's messages, which keep
 * the originals.
 *
 * @example
 * ```ts
 * import { Agent, InvokeModelStage, tool } from '@strands-agents/sdk';
 * import { palimpsest } from 'palimpsest/strands';
 *
 * const agent = new Agent({ tools: [tool(palimpsest.recall({ store }))] });
 * agent.addMiddleware(InvokeModelStage.Input, palimpsest({ store }));
 * ```
 */
export function palimpsest(options: StrandsOptions = {}): StrandsMiddleware {
  return toMiddleware('palimpsest', options);
}

/**
 * The same as a strategy: `contextManager: { strategies: [palimpsest.strategy({ store, stage: InvokeModelStage })], stash: false }`.
 * It is the last of the strategies, because those behind it get no messages.
 */
palimpsest.strategy = (options: StrandsStrategyOptions): StrandsStrategy => toStrategy(options);

/** The tool `recall`, as the function `tool` of Strands takes it: `tools: [...tools, tool(palimpsest.recall({ store }))]`. */
palimpsest.recall = (options: Pick<StrandsOptions, 'store'>): StrandsRecallConfig =>
  toToolConfig(storeOf('palimpsest.recall', options));

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { StrandsMessage } from './messages.ts';
export type { StrandsAgent, StrandsContext, StrandsMiddleware, StrandsOptions, StrandsStep } from './middleware.ts';
export type { StrandsRecallConfig } from './recall-tool.ts';
export type { StrandsStrategy, StrandsStrategyOptions } from './strategy.ts';
