import { checkOptions, count, given, names } from '../../options.ts';
import { type CommonOptions, createPolicy, type Policy, type Reason } from '../policy.ts';
import { addPending, maskPending, nothingPending, type Pending } from './pending.ts';

/** Options of `clearToolUses`. */
export interface ClearToolUsesOptions extends CommonOptions {
  /** Nothing is masked up to this size of the whole request, in tokens. @default 100000 */
  readonly trigger?: number;
  /** The number of newest results that are kept. @default 3 */
  readonly keep?: number;
  /** Nothing is masked unless at least so many tokens go. @default 0 */
  readonly clearAtLeast?: number;
  /** Results of these tools stay, beside those of `keepTools`. @default none */
  readonly excludeTools?: readonly string[];
}

/**
 * Above the trigger, masks all but the last `keep` results. Anthropic's context editing, LangChain's default.
 *
 * @example
 * ```ts
 * import { clearToolUses, fit } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: clearToolUses({ trigger: 60_000, keep: 5, excludeTools: ['memory'] }) });
 * ```
 */
export function clearToolUses(options: ClearToolUsesOptions = {}): Policy {
  const {
    trigger = 100_000,
    keep = 3,
    clearAtLeast = 0,
    excludeTools = [],
    keepTools = [],
  } = given('clear-tool-uses', options);
  checkOptions('clear-tool-uses', { excludeTools, keepTools }, { excludeTools: names, keepTools: names });
  return createPolicy<Pending>({
    name: 'clear-tool-uses',
    options: { ...options, keepTools: [...keepTools, ...excludeTools] },
    rules: { trigger: count, keep: count, clearAtLeast: count, excludeTools: names },
    init: nothingPending,
    step(state, request, eligible) {
      const wait = (because: string, tokens: number): Reason => ({ act: 'wait', because, tokens });
      if (request.tokens <= trigger)
        return { state, mask: [], because: { ...wait('below the trigger', request.tokens), trigger } };
      const grown = addPending(state, request, request.observations.length - keep, eligible);
      if (grown.tokens === 0 || grown.tokens < clearAtLeast)
        return { state: grown, mask: [], because: wait('too little can be cleared', grown.tokens) };
      return maskPending(grown, request, eligible, 'above the trigger');
    },
    keptFrom: ({ observations }) => observations.length - keep,
  });
}
