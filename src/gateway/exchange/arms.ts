import { linkLimits, memoryLimits } from '../../limits.ts';
import { conversationId } from '../../store/access.ts';
import { USE_EVERY_MS } from '../../store/prune.ts';
import { type ArmFacts, type Assignment, assumed, TREATED } from '../conversation/arm.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import { LruMap } from '../conversation/lru-map.ts';
import { linksOf, newLinksOf } from '../decide/continuation.ts';
import { armRecordOf, type Opened, toArm } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Patience, StoreGate } from './store-gate.ts';

/** The sessions that are only measured. */
export interface ArmOptions {
  /** The share of new sessions that is held out, 0 to 1. */
  readonly holdout: number;
  readonly isShadow: boolean;
}

/** The arm of a session in this process. */
interface KnownArm {
  readonly assignment: Assignment;
  readonly isRecorded: boolean;
  /** Whether it was read from the store. Until then, another gateway may have recorded a different one at the same time. */
  readonly isConfirmed: boolean;
  /** The time of the last `touch` of the store. */
  readonly touchedAt: number;
  /** The number of requests whose results this process recorded as links to it. */
  readonly links: number;
}

/** The arms of a tenant's sessions, by name. */
export type ArmCache = LruMap<string, KnownArm>;

export const createArmCache = (): ArmCache => new LruMap(memoryLimits.conversations);

const isOn = ({ holdout, isShadow }: ArmOptions): boolean => holdout > 0 || isShadow;

/** The decision about small talk with the arm of its session. Undefined if the store has to be asked for it. */
export function withKnownArm(context: GatewayContext, tenant: string, decision: Decision): Decision | undefined {
  const known = context.tenants.arms(tenant).get(decision.session);
  const hasId = decision.session !== decision.part;
  if (!known) return isOn(context.armOptions) || hasId ? undefined : decision;
  return { ...decision, ...toArm(known.assignment) };
}

/** The arm of a session with an unread request: the recorded one, otherwise that of the options, unless the session may have another. */
export async function armOfUnread(
  context: GatewayContext,
  { tenant, session, gate, patience }: Unread,
): Promise<Assignment> {
  const arms = context.tenants.arms(tenant);
  const known = arms.get(session)?.assignment;
  const unknown = unknownArm(context.armOptions);
  if (known || !session) return known ?? unknown;
  const found = typeof gate === 'string' ? gate : await gate.session(session, patience);
  if (typeof found === 'string') return assumed(unknown, found);
  // The first request that can be read is drawn.
  if (!found.assignment) return context.armOptions.holdout > 0 ? { ...unknown, isUnknown: true } : unknown;
  arms.set(session, recordedArm(context, found.assignment));
  return found.assignment;
}

interface Unread extends Pick<Asked, 'gate' | 'tenant'> {
  /** Empty if it is not known. */
  readonly session: string;
  readonly patience: Patience;
}

const recordedArm = ({ now }: GatewayContext, assignment: Assignment): KnownArm => ({
  assignment,
  isRecorded: true,
  isConfirmed: true,
  touchedAt: now(),
  links: 0,
});

/** The arm of a session that is not drawn. */
const unknownArm = ({ isShadow }: ArmOptions): Assignment => (isShadow ? { arm: 'shadow' } : TREATED);

interface Asked {
  readonly gate: StoreGate | StoreTrouble;
  readonly tenant: string;
  readonly opened: Opened;
  readonly credential: string | undefined;
  /** Undefined: the usual wait. */
  readonly patience: Patience | undefined;
}

/** Asks the store for the arm of a session. If it has none, the session gets the arm of the options. */
export async function learnArm(context: GatewayContext, asked: Asked): Promise<ArmFacts> {
  const { gate, tenant, opened, patience } = asked;
  const { session } = opened;
  const { holdout } = context.armOptions;
  const arms = context.tenants.arms(tenant);
  const known = arms.get(session);
  const unknown = unknownArm(context.armOptions);
  const facts = { recorded: known?.assignment, starting: unknown, started: unknown };
  if (known?.isConfirmed) return facts;
  if (typeof gate === 'string') return { ...facts, started: assumed(unknown, gate), trouble: gate };
  const found = await gate.session(session, patience);
  if (typeof found === 'string') {
    const starting = known || holdout === 0 ? unknown : await draw(asked, gate, holdout);
    return { ...facts, starting, started: assumed(unknown, found), trouble: found };
  }
  const { assignment, hasBegun } = found;
  if (assignment) {
    arms.set(session, recordedArm(context, assignment));
    return { ...facts, recorded: assignment };
  }
  if (known) return facts;
  const recorded = await armOfRoot(gate, opened);
  if (recorded || hasBegun || holdout === 0) return { ...facts, recorded };
  return { ...facts, starting: await draw(asked, gate, holdout) };
}

/** After a compaction, an agent that sends no id may have kept tool results. They show which session continues, and its arm. */
async function armOfRoot(gate: StoreGate, { read }: Opened): Promise<Assignment | undefined> {
  const links = typeof read === 'string' ? [] : linksOf(read);
  const linked = links.length === 0 ? undefined : await gate.linked(links);
  if (typeof linked !== 'object') return undefined;
  const found = await gate.session(linked.session);
  return typeof found === 'object' && found.assignment ? { root: linked.session, ...found.assignment } : undefined;
}

/** A session that had masks before there was a holdout is not drawn. Nor is one if the key is unknown. */
async function draw({ opened, credential, patience }: Asked, gate: StoreGate, holdout: number): Promise<Assignment> {
  await gate.learnSecret(patience);
  const { session } = opened;
  const own = conversationId(session, gate.ownerOf(credential));
  return (await gate.hasTexts(own, patience)) === true ? TREATED : (gate.drawArm(session, holdout) ?? TREATED);
}

interface Keeping extends Pick<Asked, 'gate' | 'tenant'>, Pick<ArmFacts, 'trouble'> {
  readonly memory: ConversationMemory;
}

/** Records the arm of a session, and keeps the record in use. Waits for the store only at the first request. */
export async function keepArm(
  context: GatewayContext,
  { gate, tenant, memory, trouble }: Keeping,
  decision: Decision,
): Promise<void> {
  const { session } = decision;
  const noted = armRecordOf(decision);
  if (!noted) return;
  const { assignment, event, onPrefix } = noted;
  const arms = context.tenants.arms(tenant);
  const known = arms.get(session);
  const now = context.now();
  const hasId = session !== decision.part;
  const isPlain = assignment.arm === 'treated' && assignment.share === undefined;
  if (!known?.isConfirmed) {
    const isWanted = isOn(context.armOptions) || !isPlain;
    // A slow store must not cause a drawn session to be recorded as one that was not.
    const mayRecord = typeof gate !== 'string' && !(trouble && isPlain);
    const isRecorded =
      mayRecord &&
      (isWanted ? (await gate.recordArm(session, event)) === 'stored' : hasId && gate.recordBegun(session));
    const isConfirmed = !isWanted && !trouble;
    arms.set(session, { assignment, isRecorded, isConfirmed, touchedAt: now, links: known?.links ?? 0 });
  }
  if (typeof gate === 'string') return;
  // A resumed session may have a new id: it finds the arm on the messages that it begins with.
  if (!isPlain && onPrefix && hasId) {
    memory.conversation(decision.conversation).learn([onPrefix]);
    gate.record(decision.conversation, [onPrefix]);
  }
  if (!isPlain && !hasId) keepLink(arms, gate, decision);
  if (!known?.isConfirmed || !known.isRecorded || now - known.touchedAt < USE_EVERY_MS) return;
  arms.set(session, { ...(arms.get(session) ?? known), touchedAt: now });
  gate.touchArm(session);
}

/** An agent that sends no id may keep this result when it compacts its history. */
function keepLink(arms: ArmCache, gate: StoreGate, { session, root = session, basis }: Decision): void {
  const known = arms.get(session);
  const links = basis ? newLinksOf(basis.planned.request) : [];
  if (!known || links.length === 0 || known.links >= linkLimits.linksPerConversation) return;
  arms.set(session, { ...known, links: known.links + 1 });
  gate.recordLinks(root, links);
}
