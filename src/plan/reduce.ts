import type { Ledger } from './ledger/ledger.ts';
import type { Prices } from './prices.ts';
import { type ClipStage, clip } from './stages/clip.ts';
import { type DropStage, drop } from './stages/drop.ts';
import { type MaskStage, mask } from './stages/mask.ts';
import { type SummariseStage, summarise } from './stages/summarise.ts';
import type { Summarize } from './summary.ts';

/** One step of a reduction, as data. A door is a list of these, run in order until the history fits. */
export type Stage = MaskStage | SummariseStage | DropStage | ClipStage;

/** How far a reduction had to go. */
export type ReductionStage = 'masking' | 'summarization' | 'fallback';

export type Measure = 'tokens' | 'chars' | 'messages';

/** How small a history must become, what it keeps, and by which stages. */
export interface Budget {
  readonly max: number;
  readonly measure: Measure;
  /** A cut goes down to this, so that the next turn does not cut again. */
  readonly target: number;
  readonly stages: readonly Stage[];
  /** A summary leaves the last turns alone: so many. */
  readonly window: number;
  /** The conversation before the loop, in messages: it goes last. */
  readonly keepMessages?: number;
  readonly summaryMaxChars?: number;
  readonly summarize?: Summarize | undefined;
  /** A cut that rewrites a provider's cache goes deeper where that pays. */
  readonly prices?: Pick<Prices, 'read' | 'write'> | undefined;
}

/** The results that a policy lets go when a budget forces a cut, by their segments, oldest first. */
export interface Yielding {
  outside(): readonly number[];
  inside(): readonly number[];
}

const NOTHING: Yielding = { outside: () => [], inside: () => [] };

/** Brings a history below its budget. Answers how far it had to go; undefined where it fits already. */
export function reduce<M>(ledger: Ledger<M>, budget: Budget, yielding = NOTHING): ReductionStage | undefined {
  let reached: ReductionStage | undefined;
  if (sizeOf(ledger, budget) <= budget.max) return reached;
  for (const [i, stage] of budget.stages.entries()) {
    if (sizeOf(ledger, budget) <= limitOf(stage, budget)) continue;
    apply(ledger, stage, budget, yielding);
    reached = reachOf(stage);
    const isInVain = stage.kind === 'summarise' && stage.onlyIfEnough && sizeOf(ledger, budget) > budget.max;
    if (!isInVain) continue;
    ledger.undoRequest();
    for (const earlier of budget.stages.slice(0, i)) apply(ledger, earlier, budget, yielding);
  }
  return reached;
}

export function sizeOf<M>(ledger: Ledger<M>, { measure }: Pick<Budget, 'measure'>): number {
  if (measure === 'messages') return ledger.sentMessages;
  return measure === 'tokens' ? ledger.tokens : ledger.chars;
}

/** A mask loses no decision, so it goes on to the target. Everything else waits until the budget itself is exceeded. */
const limitOf = (stage: Stage, { max, target }: Budget): number =>
  stage.kind === 'mask' && stage.which === 'inside' ? target : max;

function apply<M>(ledger: Ledger<M>, stage: Stage, budget: Budget, yielding: Yielding): void {
  if (stage.kind === 'mask') mask(ledger, stage, budget, yielding);
  else if (stage.kind === 'summarise') summarise(ledger, budget);
  else if (stage.kind === 'drop') drop(ledger, stage, budget);
  else clip(ledger, stage, budget);
}

function reachOf(stage: Stage): ReductionStage {
  if (stage.kind === 'mask' && stage.which !== 'all') return 'masking';
  return stage.kind === 'summarise' ? 'summarization' : 'fallback';
}
