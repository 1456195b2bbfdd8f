import { count, given } from '../../options.ts';
import { type CommonOptions, createPolicy, type Observation, type Policy, type RequestView } from '../policy.ts';
import { addPending, maskPending, nothingPending, type Pending } from './pending.ts';

/** Options of `protectTokens`. */
export interface ProtectTokensOptions extends CommonOptions {
  /** The newest results are kept up to this many tokens. @default 40000 (`geminiCli`: 50000) */
  readonly protect?: number;
  /** Nothing is masked unless at least so many tokens go. @default 20000 (`geminiCli`: 30000) */
  readonly atLeast?: number;
}

/**
 * Keeps the newest results up to `protect` tokens, and acts only if `atLeast` can be freed. opencode's rule.
 *
 * @example
 * ```ts
 * import { fit, protectTokens } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: protectTokens({ protect: 40_000, atLeast: 20_000 }) });
 * ```
 */
export function protectTokens(options: ProtectTokensOptions = {}): Policy {
  const { protect = 40_000, atLeast = 20_000 } = given('protect-tokens', options);
  return createPolicy<Pending>({
    name: 'protect-tokens',
    options,
    rules: { protect: count, atLeast: count },
    init: nothingPending,
    step(state, request, eligible) {
      const grown = addPending(state, request, protectedFrom(request, protect), eligible);
      const { tokens } = grown;
      if (tokens > 0 && tokens >= atLeast) return maskPending(grown, request, eligible, 'enough can be freed');
      return { state: grown, mask: [], because: { act: 'wait', because: 'too little can be freed', tokens } };
    },
    keptFrom: (request) => protectedFrom(request, protect),
  });
}

/** The first of the newest results that together hold at most `protect` tokens. */
function protectedFrom({ observations }: RequestView, protect: number): number {
  let tokens = 0;
  for (let i = observations.length - 1; i >= 0; i--) {
    tokens += (observations[i] as Observation).tokens;
    if (tokens > protect) return i + 1;
  }
  return 0;
}

/**
 * gemini-cli's numbers for the same rule.
 *
 * @example
 * ```ts
 * import { fit, geminiCli } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: geminiCli() });
 * ```
 */
export function geminiCli(options: ProtectTokensOptions = {}): Policy {
  const { protect = 50_000, atLeast = 30_000 } = given('gemini-cli', options);
  return protectTokens({ ...options, protect, atLeast });
}
