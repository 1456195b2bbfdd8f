import type { Conversation } from '../conversation/conversation.ts';
import type { SessionEvent } from '../session-event.ts';
import { Damage } from './damage.ts';
import type { Place } from './event-line.ts';
import type { Snapshot } from './snapshot.ts';

/** An event as a storage finds it. Undefined if there is no such event. */
type Found<M> = SessionEvent<M> | 'damaged' | undefined;

/** The events that a snapshot refers to. */
export interface SnapshotEvents<M> {
  /** The event that holds a message. */
  holding(key: string, place: Place): Found<M>;
  /** The last event that the snapshot covers. */
  last(): Found<M>;
}

/** Where the replay of a log begins. */
export interface Start<M> {
  /** The snapshot that was restored, if there is a sound one. */
  readonly snapshot?: Snapshot<M>;
  /** The last event that the snapshot covers, even if it cannot be used; 0 without a snapshot. */
  readonly seq: number;
  readonly damage: Damage;
  /** Why an existing snapshot is not used. */
  readonly problem?: string;
}

interface SnapshotSource<M> {
  /** The name of the snapshot in its place. */
  readonly name: string;
  /** Undefined if there is no snapshot. Throws if it cannot be read. */
  readonly read: () => Snapshot<M> | undefined;
  /** If this throws, the log cannot be read either, so its error is thrown on. */
  readonly eventsOf: (snapshot: Snapshot<M>) => SnapshotEvents<M> | Promise<SnapshotEvents<M>>;
}

/** Restores a conversation from its snapshot. If the snapshot cannot be used, the conversation stays empty. */
export async function loadSnapshot<M>(
  conversation: Conversation<M>,
  { name, read, eventsOf }: SnapshotSource<M>,
): Promise<Start<M>> {
  const unusable = (seq: number, error: unknown): Start<M> => ({
    seq,
    damage: new Damage(),
    problem: `${name} cannot be used: ${(error as Error).message}`,
  });
  let snapshot: Snapshot<M> | undefined;
  try {
    snapshot = read();
  } catch (error) {
    return unusable(0, error);
  }
  if (!snapshot) return { seq: 0, damage: new Damage() };
  const { seq } = snapshot;
  const events = await eventsOf(snapshot);
  try {
    return { snapshot, seq, damage: restoreSnapshot(conversation, snapshot, events) };
  } catch (error) {
    conversation.clear();
    return unusable(seq, error);
  }
}

/** Restores a conversation. Answers the damage so far. Throws if the snapshot was made from other events. */
function restoreSnapshot<M>(
  conversation: Conversation<M>,
  { seq, state, messages, damage: known }: Snapshot<M>,
  events: SnapshotEvents<M>,
): Damage {
  const damage = new Damage();
  if (known) damage.add(known);
  const sound = new Map<string, { message: M; place: Place }>();
  for (const [key, place] of messages) {
    const event = events.holding(key, place);
    const message = messagesOf(event).find((other) => other.key === key)?.message;
    if (message !== undefined) sound.set(key, { message, place });
    else if (event === 'damaged') noteDamage(damage, seqOfKey(key));
    else throw new Error(`expected message ${key} in event ${seqOfKey(key)}, but it is not there`);
  }
  const last = events.last();
  if (last === 'damaged') noteDamage(damage, seq);
  else if (last?.seq !== seq) throw new Error(`expected event ${seq}, the last that it covers, but it is not there`);
  conversation.load({ ...state, messages: messages.map(([key]) => key) }, (key) => sound.get(key));
  return damage;
}

/** The messages of an event, with their keys. */
export function messagesOf<M>(event: Found<M>): { key: string; message: M }[] {
  if (event === undefined || event === 'damaged') return [];
  if (event.type === 'message') return [{ key: String(event.seq), message: event.message }];
  if (event.type !== 'session_restart') return [];
  return event.messages.map((message, i) => ({ key: `${event.seq}.${i}`, message }));
}

/** The event that holds the message of this key. */
export const seqOfKey = (key: string): number => Number.parseInt(key, 10);

/** Records the line of this event as damaged and the event as missing. */
function noteDamage(damage: Damage, seq: number): void {
  if (damage.isMissing(seq)) return;
  damage.lines += 1;
  damage.miss(seq, seq + 1);
}
