import { arrival } from './arrival.ts';
import { budget } from './budget.ts';
import { oldTexts } from './old-texts.ts';
import type { PlannerParts } from './parts.ts';

/** Every part, for bundles whose size does not matter. */
export const allParts: Required<PlannerParts> = { arrival, budget, oldTexts };
