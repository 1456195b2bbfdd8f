import type { EventBody, SessionStatus } from './session-event.ts';

/** Facts about a session that are known without opening it. */
export interface SessionInfo {
  /** The id that `openSession` was given. */
  readonly id: string;
  /** The name of the format of its messages. */
  readonly format: string;
  /** `active`, `paused` or `completed`. */
  readonly status: SessionStatus;
  /** 1, and one more with each restart. */
  readonly number: number;
  /** The number of events so far. */
  readonly events: number;
  /** The time of the last event. */
  readonly lastActive: string;
}

/** The facts about a session without events. */
export const nothingKnown = (id: string): SessionInfo => ({
  id,
  format: 'chat',
  status: 'active',
  number: 1,
  events: 0,
  lastActive: '',
});

/** The fields that an event changes. */
export function changesBy(event: EventBody<unknown>): Partial<SessionInfo> {
  if (event.type === 'session_start') return { format: event.format };
  if (event.type === 'session_end') return { status: 'completed' };
  if (event.type === 'status_change') return { status: event.to };
  if (event.type === 'session_restart') return { number: event.session_number };
  if (event.type === 'reset') return { number: 1, status: 'active' };
  if (event.type === 'checkpoint') {
    const { format, status, number } = event.state as SessionInfo;
    return { format, status, number };
  }
  return event.type === 'message' ? { status: 'active' } : {};
}
