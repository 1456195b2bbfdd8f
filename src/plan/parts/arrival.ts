import { Arrivals } from '../arrival/arrivals.ts';
import type { ArrivalPart } from './parts.ts';

/** The part for `arrival` and for policies with `clean`, `references`, `shellOutput` or `maxResultTokens`. */
export const arrival: ArrivalPart = { createArrivals: (ledger, options) => new Arrivals(ledger, options) };
