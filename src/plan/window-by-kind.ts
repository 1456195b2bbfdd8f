import type { Observation, RequestView } from './policy.ts';
import { KINDS, type ToolKind } from './tool-kind.ts';

/** The share of the window after which the results of a kind may be masked. */
export type KindShares = Readonly<Partial<Record<ToolKind, number>>>;

/** Results of edits and shells are quoted again far less than those of reads. */
export const KIND_SHARES: Required<KindShares> = { read: 1, search: 2 / 3, shell: 1 / 3, edit: 1 / 5, other: 1 };

/** The number of turns after which a result may be masked, by its kind; the same for all if kinds make no difference. */
export interface Ages extends Readonly<Record<ToolKind, number>> {
  /** Whether a read that a newer one covers has left the window. Another policy of the conversation may have the kinds read. */
  readonly isByKind: boolean;
}

export function agesOf(window: number, byKind: boolean | KindShares = false): Ages {
  const own = typeof byKind === 'object' ? byKind : {};
  const shares: KindShares = byKind === false ? {} : { ...KIND_SHARES, ...own };
  // 3.0000000000000004 turns are 3. `createPolicy` refuses values that are not numbers.
  const age = (kind: ToolKind): number => Math.max(0, Math.ceil(Number(window) * Number(shares[kind] ?? 1) - 1e-9));
  const ages = Object.fromEntries(KINDS.map((kind) => [kind, age(kind)])) as unknown as Record<ToolKind, number>;
  return { ...ages, isByKind: byKind !== false };
}

/**
 * The number of turns at which a result has left its window: by its age, or at once if a newer read covers it. Results that refer to
 * each other leave it together, with the last of them.
 */
export function leavesWindowAt(observation: Observation, ages: Ages): number {
  const { coveredBy, group } = observation;
  let at = ageEnd(observation, ages);
  if (!group) return coveredBy && ages.isByKind ? Math.min(at, coveredBy.turn) : at;
  for (const member of group.newest) at = Math.max(at, ageEnd(member, ages));
  return at;
}

const isLast = (observation: Observation, ages: Ages): boolean =>
  leavesWindowAt(observation, ages) === ageEnd(observation, ages);

const ageEnd = ({ turn, kind }: Observation, ages: Ages): number => turn + ages[kind];

export const hasLeftWindow = (observation: Observation, { turns }: RequestView, ages: Ages): boolean =>
  leavesWindowAt(observation, ages) <= turns;

/** The position in the results up to which those outside the window were found. */
export interface WindowCursor {
  readonly turns: number;
  readonly seen: number;
  /** For each kind, in the order of `KINDS`, the first result that is still in its window. */
  readonly next: readonly number[];
}

export const startCursor = (): WindowCursor => ({ turns: -1, seen: 0, next: KINDS.map(() => 0) });

/** The cursor after all results that have left their window. Its time depends on the window, not on the history. */
export function cursorAtEnd({ observations, turns }: RequestView, ages: Ages): WindowCursor {
  const next = KINDS.map((kind) => {
    let i = observations.length;
    while (i > 0 && turns - (observations[i - 1] as Observation).turn < ages[kind]) i -= 1;
    return i;
  });
  return { turns, seen: observations.length, next };
}

/**
 * The results that left their window since the last request, each returned once. It takes time for new results only. A policy that does
 * not act on every turn passes the turn that counts.
 */
export function newlyOutside(
  cursor: WindowCursor,
  request: RequestView,
  ages: Ages,
  turns = request.turns,
): { readonly cursor: WindowCursor; readonly fresh: Observation[] } {
  const { observations } = request;
  const fresh = new Set<Observation>();
  const look = (observation: Observation): void => {
    const at = leavesWindowAt(observation, ages);
    if (cursor.turns < at && at <= turns) fresh.add(observation);
  };
  const next = cursor.next.slice();
  for (let k = 0; k < KINDS.length; k++) {
    const kind = KINDS[k] as ToolKind;
    // Also results before the frontier: one that must stay may be the last of its group.
    let i = next[k] as number;
    for (; i < observations.length; i++) {
      const observation = observations[i] as Observation;
      if (turns - observation.turn < ages[kind]) break;
      if (observation.kind !== kind) continue;
      look(observation);
      // The others of its group may have waited only for it.
      if (observation.group && isLast(observation, ages)) for (const member of observation.group.members) look(member);
    }
    next[k] = i;
  }
  let { seen } = cursor;
  for (; seen < observations.length; seen++) {
    const newer = observations[seen] as Observation;
    if (newer.turn > turns) break;
    for (const older of newer.covers) look(older);
  }
  return { cursor: { turns, seen, next }, fresh: [...fresh] };
}
