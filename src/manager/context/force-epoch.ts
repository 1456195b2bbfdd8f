import type { Format } from '../../message.ts';
import type { ArrivalOptions } from '../../plan/arrival/options.ts';
import { createPlanner, type FitOptions } from '../../plan/fit.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { Planner } from '../../plan/planner.ts';
import type { EpochRecord, Policy } from '../../plan/policy.ts';

/** How much a forced epoch should mask: exactly `count` results, or `least` and as many as save more than `saveTokens`. */
export type EpochGoal = ({ readonly count: number } | { readonly least: number; readonly saveTokens: number }) &
  Pick<EpochRecord, 'inside'>;

/** The result of a forced epoch. */
export interface ForcedEpoch<M> {
  /** The messages to send now. */
  readonly messages: M[];
  /** How many results it masked. */
  readonly masked: number;
  /** How many are masked now, those of the policy included. */
  readonly total?: number;
  /** Estimated, before and after. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** All that the messages hide, this epoch's results last. */
  readonly hidden: readonly Hidden[];
  /** Pass this in `facts.epochs` from now on to repeat the epoch. Undefined if nothing could be masked. */
  readonly record: EpochRecord | undefined;
}

export type PlanOptions<M> = Omit<FitOptions, 'format'> & { readonly format: Format<M> };

/** Masks the oldest results that a policy lets go, without waiting for its decision. `record` repeats the epoch later. */
export function forceEpoch<M>(messages: readonly M[], goal: EpochGoal, options: PlanOptions<M>): ForcedEpoch<M> {
  const before = planFor(messages, options);
  const chosen = chooseResults(before, goal);
  const last = chosen[chosen.length - 1];
  if (!last) return { ...resultOf(before, before), masked: 0, record: undefined };
  const { turns } = before.ledger;
  const record: EpochRecord = {
    turns,
    messages: messages.length,
    before: last.segment + 1,
    ...(goal.inside ? { inside: true } : {}),
  };
  const epochs = [...(options.facts?.epochs ?? []), record];
  const after = planFor(messages, { ...options, facts: { ...options.facts, epochs } });
  return { ...resultOf(before, after), masked: chosen.length, record };
}

/** Previews an epoch: how many results it would mask, and the estimated saving. */
export function previewEpoch<M>(
  messages: readonly M[],
  goal: EpochGoal,
  options: PlanOptions<M>,
): { readonly count: number; readonly savedTokens: number } {
  const chosen = chooseResults(planFor(messages, options), goal);
  return { count: chosen.length, savedTokens: chosen.reduce((sum, { gain }) => sum + gain, 0) };
}

/** A planner that has taken in these messages as they are sent: it only follows their references. */
export function planFor<M>(messages: readonly M[], { format, ...options }: PlanOptions<M>): Planner<M> {
  const planner = createPlanner(format, { arrival: FOLLOW, ...options }, { sent: new Set(messages) });
  planner.take(messages);
  return planner;
}

const FOLLOW: ArrivalOptions = { clean: false, references: true, shellOutput: false, truncate: false };

function resultOf<M>(before: Planner<M>, after: Planner<M>): Omit<ForcedEpoch<M>, 'masked' | 'record'> {
  return {
    messages: after.messages(),
    tokens: { before: before.tokens, after: after.tokens },
    hidden: after.hidden.slice(),
    total: after.ledger.observations.filter((result) => result.masked).length,
  };
}

function chooseResults<M>(planner: Planner<M>, goal: EpochGoal): ReturnType<Planner<M>['forceable']> {
  const results = planner.forceable(goal);
  if ('count' in goal) return results.slice(0, goal.count);
  let [next, saved] = [0, 0];
  for (; next < results.length && (next < goal.least || saved <= goal.saveTokens); next++)
    saved += results[next]?.gain ?? 0;
  return results.slice(0, next);
}

/** A policy that masks nothing by itself: it only says what may go when an epoch is forced. */
export function onlyForced({ limit: _limit, maxResultTokens: _max, arrival: _arrival, ...policy }: Policy): Policy {
  return { ...policy, init: () => undefined, step: (state) => ({ state, mask: [], because: WAITS }) };
}

const WAITS = { act: 'wait', because: 'only what is forced is masked' } as const;
