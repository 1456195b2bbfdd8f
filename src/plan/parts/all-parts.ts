import { arrival } from './arrival.ts';
import { budget } from './budget.ts';
import { oldTexts } from './old-texts.ts';
import type { PlannerParts } from './parts.ts';

/** Every part, where the size of a bundle does not matter. */
export const allParts: Required<PlannerParts> = { arrival, budget, oldTexts };
