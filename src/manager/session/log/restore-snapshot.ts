import type { Conversation } from '../conversation/conversation.ts';
import type { SessionEvent } from '../session-event.ts';
import { Damage } from './damage.ts';
import type { Place } from './place.ts';
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

/** Restores a conversation. Answers the damage so far. Throws if the snapshot was made from other events. */
export function restoreSnapshot<M>(
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
