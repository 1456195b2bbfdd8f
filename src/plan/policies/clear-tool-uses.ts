import { checkOptions, count, given, names } from '../../options.ts';
import { type CommonOptions, createPolicy, type Policy, type Reason } from '../policy.ts';
import { clearPile, emptyPile, growPile, type Pile } from './pile.ts';

/** Options of `clearToolUses`. */
export interface ClearToolUsesOptions extends CommonOptions {
  /** Nothing is masked up to this size of the whole request. */
  readonly trigger?: number;
  /** The number of newest results that are kept. */
  readonly keep?: number;
  /** Nothing is masked unless at least so many tokens go. */
  readonly clearAtLeast?: number;
  readonly excludeTools?: readonly string[];
}

/** Above the trigger, masks all but the last `keep` results. Anthropic's context editing, LangChain's default. */
export function clearToolUses(options: ClearToolUsesOptions = {}): Policy {
  const {
    trigger = 100_000,
    keep = 3,
    clearAtLeast = 0,
    excludeTools = [],
    keepTools = [],
  } = given('clear-tool-uses', options);
  checkOptions('clear-tool-uses', { excludeTools, keepTools }, { excludeTools: names, keepTools: names });
  return createPolicy<Pile>({
    name: 'clear-tool-uses',
    options: { ...options, keepTools: [...keepTools, ...excludeTools] },
    rules: { trigger: count, keep: count, clearAtLeast: count, excludeTools: names },
    init: emptyPile,
    step(state, request, eligible) {
      const wait = (because: string, tokens: number): Reason => ({ act: 'wait', because, tokens });
      if (request.tokens <= trigger)
        return { state, mask: [], because: { ...wait('below the trigger', request.tokens), trigger } };
      const grown = growPile(state, request, request.observations.length - keep, eligible);
      if (grown.tokens === 0 || grown.tokens < clearAtLeast)
        return { state: grown, mask: [], because: wait('too little can be cleared', grown.tokens) };
      return clearPile(grown, request, eligible, 'above the trigger');
    },
    keptFrom: ({ observations }) => observations.length - keep,
  });
}
