import type { Ledger } from './ledger/ledger.ts';
import { clip } from './stages/clip.ts';
import { drop } from './stages/drop.ts';
import { type MaskCandidates, mask } from './stages/mask.ts';
import { type Budget, type ReductionStage, type Stage, sizeOf } from './stages/stage.ts';
import { summarise } from './stages/summarise.ts';

/** Brings a history below its budget. Returns the last stage that was needed; undefined if it already fits. */
export function reduce<M>(
  ledger: Ledger<M>,
  budget: Budget,
  candidates: MaskCandidates = budget,
): ReductionStage | undefined {
  let reached: ReductionStage | undefined;
  if (sizeOf(ledger, budget) <= budget.max) return reached;
  for (const [i, stage] of budget.stages.entries()) {
    if (sizeOf(ledger, budget) <= limitOf(stage, budget)) continue;
    apply(ledger, stage, budget, candidates);
    reached = reachOf(stage);
    const isStillTooLarge = stage.kind === 'summarise' && stage.onlyIfEnough && sizeOf(ledger, budget) > budget.max;
    if (!isStillTooLarge) continue;
    ledger.undoRequest();
    for (const earlier of budget.stages.slice(0, i)) apply(ledger, earlier, budget, candidates);
  }
  return reached;
}

/** A mask loses no decision, so masking continues to the target. Everything else waits until the budget itself is exceeded. */
const limitOf = (stage: Stage, { max, target }: Budget): number =>
  stage.kind === 'mask' && stage.which === 'inside' ? target : max;

function apply<M>(ledger: Ledger<M>, stage: Stage, budget: Budget, candidates: MaskCandidates): void {
  if (stage.kind === 'mask') mask(ledger, stage, budget, candidates);
  else if (stage.kind === 'summarise') summarise(ledger, stage, budget);
  else if (stage.kind === 'drop') drop(ledger, stage, budget);
  else clip(ledger, stage, budget);
}

function reachOf(stage: Stage): ReductionStage {
  if (stage.kind === 'mask' && stage.which !== 'all') return 'masking';
  return stage.kind === 'summarise' ? 'summarization' : 'fallback';
}
