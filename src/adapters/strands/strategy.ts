import { badOption, given } from '../../options.ts';
import { type StrandsMiddleware, type StrandsOptions, toMiddleware } from './middleware.ts';

/** Options of `palimpsest.strategy`. */
export interface StrandsStrategyOptions extends StrandsOptions {
  /** `InvokeModelStage` of Strands. It is passed in, so that the package is not imported. */
  readonly stage: { readonly Input: object };
}

/** A strategy of Strands' `ContextManager`. */
export interface StrandsStrategy {
  /** The name of the strategy. */
  readonly name: 'palimpsest';
  /** Adds the middleware to the agent. Strands calls it once. */
  init(agent: StrandsHost): void;
  /**
   * Keeps Strands from dropping messages, because the request fits already. Resolves with false: nothing was changed.
   */
  apply(context: StrandsState): Promise<boolean>;
}

/** The part of an agent that the strategy uses. */
interface StrandsHost {
  addMiddleware(phase: never, handler: StrandsMiddleware): unknown;
}

/** The parts of Strands' `ContextState` that are used here. */
interface StrandsState {
  messages: object[];
  readonly overflow?: boolean;
}

export function toStrategy(options: StrandsStrategyOptions): StrandsStrategy {
  const { stage, ...rest } = given('palimpsest.strategy', options);
  const middleware = toMiddleware('palimpsest.strategy', rest);
  if (typeof stage?.Input !== 'object') throw badOption('palimpsest.strategy option stage', 'InvokeModelStage', stage);
  return {
    name: 'palimpsest',
    init: (agent) => void agent.addMiddleware(stage.Input as never, middleware),
    async apply(context) {
      // After all strategies, Strands drops the oldest messages if the originals exceed the window. The fitted request fits, so that
      // strategy gets no messages, unless the provider has refused the request.
      if (!context.overflow) context.messages = [];
      return false;
    },
  };
}
