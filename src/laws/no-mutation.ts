import type { Violation } from '../message.ts';
import { type Law, movedTo } from './law.ts';

/** Law 10, no mutation: an object that no edit names is neither copied nor changed. */
export const noMutation: Law = {
  name: 'no-mutation',
  check({ before, after, segments, plan }) {
    const moved = movedTo(before.length, plan.edits);
    const edited = new Uint8Array(before.length);
    for (const edit of plan.edits) if (edit.kind === 'replace') edited[segments[edit.segment]?.message ?? -1] = 1;
    const violations: Violation[] = [];
    for (let i = 0; i < before.length; i++) {
      const to = moved[i] ?? -1;
      if (to < 0 || after[to] === before[i] || edited[i] === 1) continue;
      violations.push({ law: 'no-mutation', message: i, text: `Message ${i} was replaced though no edit names it.` });
    }
    return violations;
  },
};
