import type { Ledger } from '../ledger/ledger.ts';
import { Arrivals } from './arrivals.ts';
import { readReferences } from './reference-line.ts';

/** Follows the references in a ledger of messages as they were sent. Undefined if there are none. */
export function followReferences<M>(ledger: Ledger<M>): Arrivals<M> | undefined {
  if (!ledger.observations.some(({ masked, text }) => !masked && readReferences(text).length > 0)) return undefined;
  const sent = new Set(ledger.messages);
  const period = { fromMessage: 0, clean: false, references: true, shellOutput: undefined, truncate: undefined };
  const arrivals = new Arrivals(ledger, { periods: [period], sent });
  arrivals.take();
  return arrivals;
}
