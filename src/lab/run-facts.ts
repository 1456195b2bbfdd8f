import { ratesFor } from '../money/index.ts';
import type { ContextSetting } from './context-setting.ts';
import type { ReplaySetting } from './replay-context.ts';
import type { RunResult, UsageTotal } from './replay-result.ts';
import type { Context } from './run.ts';

/** The model, the times and the usage of a run. */
export class RunFacts {
  /** The turns and the price list of each model. */
  readonly #models = new Map<string, { turns: number; prices: string | undefined }>();
  readonly #usage = { requests: 0, countedTokens: 0, replayedTokens: 0, hiddenTokens: 0 };
  #from = Number.POSITIVE_INFINITY;
  #to = Number.NEGATIVE_INFINITY;
  #dollars: number | undefined;

  add(context: Context, { model, list, inferred, setting, hasCost }: ContextSetting): void {
    if (model !== undefined) {
      const { turns } = this.#models.get(model) ?? { turns: 0 };
      this.#models.set(model, { turns: turns + (context.replies?.length ?? 0), prices: list?.name });
    }
    for (const time of context.times) {
      this.#from = Math.min(this.#from, time ?? this.#from);
      this.#to = Math.max(this.#to, time ?? this.#to);
    }
    if (!inferred) return;
    this.#usage.requests += inferred.requests;
    this.#usage.countedTokens += inferred.countedTokens;
    this.#usage.replayedTokens += inferred.replayedTokens;
    this.#usage.hiddenTokens += inferred.hiddenTokens * inferred.requests;
    const dollars = hasCost ? usageDollars(context, setting) : undefined;
    if (dollars !== undefined) this.#dollars = (this.#dollars ?? 0) + dollars;
  }

  facts(): Pick<RunResult, 'model' | 'prices' | 'from' | 'to' | 'usage'> {
    const [model, about] = [...this.#models].sort(([, a], [, b]) => b.turns - a.turns)[0] ?? [];
    const dollars = this.#dollars === undefined ? {} : { dollars: this.#dollars };
    const usage: UsageTotal = { ...this.#usage, ...dollars };
    return {
      ...(model === undefined ? {} : { model }),
      ...(about?.prices === undefined ? {} : { prices: about.prices }),
      ...(this.#from <= this.#to ? { from: this.#from, to: this.#to } : {}),
      ...(usage.requests > 0 ? { usage } : {}),
    };
  }
}

/** The prompts of a context at the first price list, as the provider's cache was used. */
function usageDollars(
  { replies = [], carriedTurns }: Context,
  { prices, modelPrice }: ReplaySetting,
): number | undefined {
  const [list] = prices;
  if (!list || !modelPrice) return undefined;
  let dollars = 0;
  for (const { usage } of replies.slice(carriedTurns)) {
    if (!usage) continue;
    const tokens = list.read * usage.cached + list.write * (usage.prompt - usage.cached);
    dollars += (tokens * ratesFor(modelPrice, usage.prompt).input) / 1_000_000;
  }
  return dollars;
}
