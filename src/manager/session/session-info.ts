import type { SessionEvent, SessionStatus } from './session-event.ts';

/** A session as a list shows it, without opening it. */
export interface SessionInfo {
  readonly id: string;
  readonly format: string;
  readonly status: SessionStatus;
  /** 1, and one more with each restart. */
  readonly number: number;
  /** How many events it has had. */
  readonly events: number;
  /** When the last of them was written. */
  readonly lastActive: string;
}

/** A session without events. */
export const nothingKnown = (id: string): SessionInfo => ({
  id,
  format: 'chat',
  status: 'active',
  number: 1,
  events: 0,
  lastActive: '',
});

/** The fields that an event changes. */
export function changesBy(event: SessionEvent): Partial<SessionInfo> {
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
