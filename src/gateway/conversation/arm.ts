import { createHmac } from 'node:crypto';
import type { Arm } from '../../report/request-record.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import type { Conversation } from './conversation.ts';
import type { ArmEvent, Found } from './events.ts';

/** The arm of a session, and how it was chosen. */
export interface Assignment {
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Absent if the session takes no part in the comparison. */
  readonly share?: number;
  /** The session that this one continues, as a fork, a resume or after a compaction. Absent if it continues none. */
  readonly root?: string;
  /** The store did not tell the arm of the session: `arm` says only how this request is handled, without new masks. */
  readonly isUnknown?: boolean;
}

/** The session is masked, and is in no comparison. */
export const TREATED: Assignment = { arm: 'treated' };

/** The recorded arm of a session, and the arms by the options if none is recorded. */
export interface ArmFacts {
  readonly recorded?: Assignment | undefined;
  /** For the first request of a session. */
  readonly starting: Assignment;
  /** For a later one: the session began before it was recorded, or elsewhere. */
  readonly started: Assignment;
  /** Why the store did not answer whether it has a record. */
  readonly trouble?: StoreTrouble | undefined;
}

/** The arm of a session of which the store may have a record of another. */
export const assumed = (assignment: Assignment, trouble: StoreTrouble | undefined): Assignment =>
  trouble ? { ...assignment, isUnknown: true } : assignment;

/** Draws the arm of a session: the same in every process that has the key and the share. */
export function drawArm(key: string, session: string, share: number): Assignment {
  const drawn = createHmac('sha256', key).update(`palimpsest holdout\n${session}`).digest().readUIntBE(0, 6);
  return { arm: drawn < share * 2 ** 48 ? 'held-out' : 'treated', share };
}

/** If a session has several records, one that says `treated` counts: masks may have been sent. */
export function chooseArm(records: readonly Assignment[]): Assignment | undefined {
  const treated = records.filter(({ arm }) => arm === 'treated');
  return treated.find(({ share }) => share === undefined) ?? treated[0] ?? records[0];
}

/**
 * The arm of a request. A conversation that has masks stays treated. Then the record on its prefix counts, which a resumed
 * session under a new id finds too; then the record of the session; then the options.
 */
export function armOf(found: readonly Found[], conversation: Conversation, given: ArmGiven): Assignment {
  const { arms = NO_ARMS, session, isUnderWay } = given;
  const onPrefix = found.find(isArm)?.event;
  const known = onPrefix ?? arms.recorded;
  if (known?.arm !== 'treated' && isMasked(found, conversation))
    return known ? TREATED : assumed(TREATED, arms.trouble);
  if (!known) return isUnderWay() ? arms.started : arms.starting;
  const root = [onPrefix?.root, arms.recorded?.root].find((one) => one !== undefined && one !== session);
  const { arm, share } = known;
  // The session was drawn for another arm: this conversation keeps its own and is in no comparison.
  const isOther = arms.recorded !== undefined && arms.recorded.arm !== arm;
  return { arm, ...(share === undefined || isOther ? {} : { share }), ...(root === undefined ? {} : { root }) };
}

interface ArmGiven {
  readonly arms: ArmFacts | undefined;
  readonly session: string;
  /** Whether earlier requests of the session must have been sent. */
  isUnderWay(): boolean;
}

const NO_ARMS: ArmFacts = { starting: TREATED, started: TREATED };

export const isArm = (found: Found): found is Found & { readonly event: ArmEvent } => found.event.kind === 'arm';

/** Settings are recorded with the first mask. Those of requests that were not sent as decided are never recorded. */
function isMasked(found: readonly Found[], conversation: Conversation): boolean {
  return found.some(({ event }) => event.kind === 'settings' && !conversation.isPending(event));
}
