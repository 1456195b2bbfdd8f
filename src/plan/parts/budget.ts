import { defaultContextWindow } from '../../budget.ts';
import { impossible } from '../impossible.ts';
import { DEFAULT_WINDOW } from '../policy.ts';
import { reduce } from '../reduce.ts';
import { CLIP_NEWEST, LAST_RESORTS, ROOM, type Stage } from '../stages/stage.ts';
import { summariseTurns } from '../stages/summarise.ts';
import { summarizeNow } from '../summary.ts';
import type { BudgetPart } from './parts.ts';

/** A budget masks first, also inside the window. A decision of the agent is left out only when no old result can be masked. */
const STAGES: readonly Stage[] = [
  { kind: 'mask', which: 'outside' },
  { kind: 'mask', which: 'inside' },
  CLIP_NEWEST,
  { kind: 'summarise' },
  ...LAST_RESORTS,
];

/** The part for `maxTokens`, `model` and policies with a limit or summaries. */
export const budget: BudgetPart = {
  windowOf: defaultContextWindow,
  impossible,
  reduce,
  summariseTurns,
  summarizeNow,
  budgetsOf(policy, maxTokens) {
    const own = policy.limit ? [policy.limit] : [];
    if (maxTokens === undefined) return own;
    const { window = DEFAULT_WINDOW, prices } = policy;
    const target = Math.floor(maxTokens * ROOM);
    return [...own, { max: maxTokens, measure: 'tokens', target, stages: STAGES, window, prices }];
  },
};
