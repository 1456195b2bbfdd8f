import type { Observation, RequestView } from './policy.ts';
import { KINDS, type ToolKind } from './tool-kind.ts';

/** The share of the window after which the results of a kind may go. */
export type KindShares = Readonly<Partial<Record<ToolKind, number>>>;

/** Results of edits and shells are quoted again far less than those of reads. */
export const KIND_SHARES: Required<KindShares> = { read: 1, search: 2 / 3, shell: 1 / 3, edit: 1 / 5, other: 1 };

/** After how many turns a result may go, by its kind; the same for all where kinds make no difference. */
export type Ages = Readonly<Record<ToolKind, number>>;

export function agesOf(window: number, byKind: boolean | KindShares = false): Ages {
  const own = typeof byKind === 'object' ? byKind : {};
  const shares: KindShares = byKind === false ? {} : { ...KIND_SHARES, ...own };
  // 3.0000000000000004 turns are 3. Numbers that are none are refused by the maker, in its own words.
  const age = (kind: ToolKind): number => Math.max(0, Math.ceil(Number(window) * Number(shares[kind] ?? 1) - 1e-9));
  return Object.fromEntries(KINDS.map((kind) => [kind, age(kind)])) as unknown as Ages;
}

/**
 * The number of turns with which a result has left its window: by its age, or at once where a newer read covers it. Results that
 * refer to each other leave it together, with the last of them.
 */
export function ripeAt(observation: Observation, ages: Ages): number {
  const { coveredBy, group } = observation;
  let at = ageEnd(observation, ages);
  if (!group) return coveredBy ? Math.min(at, coveredBy.turn) : at;
  for (const member of group.newest) at = Math.max(at, ageEnd(member, ages));
  return at;
}

const isLast = (observation: Observation, ages: Ages): boolean =>
  ripeAt(observation, ages) === ageEnd(observation, ages);

const ageEnd = ({ turn, kind }: Observation, ages: Ages): number => turn + ages[kind];

export const isRipe = (observation: Observation, { turns }: RequestView, ages: Ages): boolean =>
  ripeAt(observation, ages) <= turns;

/** How far the results were looked at. */
export interface Ripe {
  readonly turns: number;
  readonly seen: number;
  /** For each kind, in the order of `KINDS`, the first result that is still in its window. */
  readonly next: readonly number[];
}

export const noRipe = (): Ripe => ({ turns: -1, seen: 0, next: KINDS.map(() => 0) });

/** How far the results are looked at once all that have left their window were told. Costs the window, not the history. */
export function allRipe({ observations, turns }: RequestView, ages: Ages): Ripe {
  const next = KINDS.map((kind) => {
    let i = observations.length;
    while (i > 0 && turns - (observations[i - 1] as Observation).turn < ages[kind]) i -= 1;
    return i;
  });
  return { turns, seen: observations.length, next };
}

/**
 * The results that left their window since the last request, each told once. Costs what is new.
 * A policy that does not act on every turn gives the turn that counts.
 */
export function ripen(
  ripe: Ripe,
  request: RequestView,
  ages: Ages,
  turns = request.turns,
): { readonly ripe: Ripe; readonly fresh: Observation[] } {
  const { observations } = request;
  const fresh = new Set<Observation>();
  const look = (observation: Observation): void => {
    const at = ripeAt(observation, ages);
    if (ripe.turns < at && at <= turns) fresh.add(observation);
  };
  const next = ripe.next.slice();
  for (let k = 0; k < KINDS.length; k++) {
    const kind = KINDS[k] as ToolKind;
    // Also those before the frontier: one that must stay may be the last of its group.
    let i = next[k] as number;
    for (; i < observations.length; i++) {
      const observation = observations[i] as Observation;
      if (turns - observation.turn < ages[kind]) break;
      if (observation.kind !== kind) continue;
      look(observation);
      // The others of its group may have waited for it alone.
      if (observation.group && isLast(observation, ages)) for (const member of observation.group.members) look(member);
    }
    next[k] = i;
  }
  let { seen } = ripe;
  for (; seen < observations.length; seen++) {
    const newer = observations[seen] as Observation;
    if (newer.turn > turns) break;
    for (const older of newer.covers) look(older);
  }
  return { ripe: { turns, seen, next }, fresh: [...fresh] };
}
