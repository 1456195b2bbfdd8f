import { memoryLimits } from '../../limits.ts';
import { conversationId } from '../../store/access.ts';
import { USE_EVERY_MS } from '../../store/prune.ts';
import { type ArmFacts, type Assignment, TREATED } from '../conversation/arm.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import { LruMap } from '../conversation/lru-map.ts';
import { armEventOf, headerSession, toArm } from '../decide/decide.ts';
import type { Decision, GatewayRequest } from '../decide/decision.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Patience, StoreGate } from './store-gate.ts';

/** Which sessions are only measured. */
export interface ArmOptions {
  /** The share of new sessions that is held out, 0 to 1. */
  readonly holdout: number;
  readonly isShadow: boolean;
}

/** The arm of a session in this process. */
interface KnownArm {
  readonly assignment: Assignment;
  readonly isRecorded: boolean;
  /** Read from the store. Until then, another gateway may have recorded a different one at the same time. */
  readonly isConfirmed: boolean;
  /** When the store was told that it is in use. */
  readonly touchedAt: number;
}

/** The arms of a tenant's sessions, by the names of these. */
export type ArmCache = LruMap<string, KnownArm>;

export const createArmCache = (): ArmCache => new LruMap(memoryLimits.conversations);

const isOn = ({ holdout, isShadow }: ArmOptions): boolean => holdout > 0 || isShadow;

/** The decision about small talk with the arm of its session. Undefined where the store has to be asked for it. */
export function withKnownArm(context: GatewayContext, tenant: string, decision: Decision): Decision | undefined {
  const known = context.tenants.arms(tenant).get(decision.session);
  const hasId = decision.session !== decision.part;
  if (!known) return isOn(context.armOptions) || hasId ? undefined : decision;
  return { ...decision, ...toArm(known.assignment) };
}

/** The decision to let a request pass unread, with the session that its headers name and the arm as far as it is known here. */
export function unread(context: GatewayContext, tenant: string, { request, decision }: Unread): Decision {
  const session = headerSession(request);
  const known = context.tenants.arms(tenant).get(session)?.assignment ?? unknownArm(context.armOptions);
  return { ...decision, session, ...toArm(known) };
}

interface Unread {
  readonly request: Pick<GatewayRequest, 'api' | 'headers'>;
  readonly decision: Decision;
}

/** Of a session that is not drawn. */
const unknownArm = ({ isShadow }: ArmOptions): Assignment => (isShadow ? { arm: 'shadow' } : TREATED);

interface Asked {
  readonly gate: StoreGate | StoreTrouble;
  readonly tenant: string;
  readonly session: string;
  readonly credential: string | undefined;
  /** Not there: the usual. */
  readonly patience: Patience | undefined;
}

/** Asks the store for the arm of a session. Where it has none, the session gets the arm of the options. */
export async function learnArm(context: GatewayContext, asked: Asked): Promise<ArmFacts> {
  const { gate, tenant, session, patience } = asked;
  const { holdout } = context.armOptions;
  const arms = context.tenants.arms(tenant);
  const known = arms.get(session);
  const unknown = unknownArm(context.armOptions);
  const facts = { recorded: known?.assignment, starting: unknown, started: unknown };
  if (known?.isConfirmed || typeof gate === 'string') return facts;
  const found = await gate.arm(session, patience);
  if (typeof found === 'object') {
    arms.set(session, { assignment: found, isRecorded: true, isConfirmed: true, touchedAt: context.now() });
    return { ...facts, recorded: found };
  }
  return known || holdout === 0 ? facts : { ...facts, starting: await draw(asked, gate, holdout) };
}

/** A session that had masks before there was a holdout is not drawn, nor one where the key is not known. */
async function draw({ session, credential, patience }: Asked, gate: StoreGate, holdout: number): Promise<Assignment> {
  await gate.learnSecret(patience);
  const own = conversationId(session, gate.ownerOf(credential));
  return (await gate.hasTexts(own, patience)) === true ? TREATED : (gate.drawArm(session, holdout) ?? TREATED);
}

/** Records the arm of a session, and keeps the record in use. Waits for the store only at the first request. */
export async function keepArm(
  context: GatewayContext,
  { gate, tenant, memory }: Pick<Asked, 'gate' | 'tenant'> & { readonly memory: ConversationMemory },
  decision: Decision,
): Promise<void> {
  const { session, arm, holdoutShare: share } = decision;
  const noted = armEventOf(decision);
  if (!noted) return;
  const arms = context.tenants.arms(tenant);
  const known = arms.get(session);
  const now = context.now();
  const assignment = share === undefined ? { arm } : { arm, share };
  const isPlain = arm === 'treated' && share === undefined;
  if (!known?.isConfirmed) {
    const isWanted = isOn(context.armOptions) || !isPlain;
    const isRecorded =
      isWanted && typeof gate !== 'string' && (await gate.recordArm(session, noted.event)) === 'stored';
    arms.set(session, { assignment, isRecorded, isConfirmed: !isWanted, touchedAt: now });
  }
  if (typeof gate === 'string') return;
  // A resumed session may have a new id: it finds the arm on the messages that it begins with.
  if (!isPlain && noted.isNewOnPrefix && session !== decision.part) {
    memory.conversation(decision.conversation).learn([noted.event]);
    gate.record(decision.conversation, [noted.event]);
  }
  if (!known?.isConfirmed || !known.isRecorded || now - known.touchedAt < USE_EVERY_MS) return;
  arms.set(session, { ...known, touchedAt: now });
  gate.touchArm(session);
}
