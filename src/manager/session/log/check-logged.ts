import { PalimpsestError } from '../../../errors.ts';
import type { LoggedEvent } from '../session-event.ts';

const LOGGED = [
  'token_usage',
  'run_start',
  'session_end',
  'status_change',
  'approval_required',
  'approval_decision',
  'tools_skipped',
  'error',
];

/** Refuses events that only the session itself writes: they would change its state. */
export function checkLogged(event: LoggedEvent): LoggedEvent {
  if (LOGGED.includes(event?.type) || String(event?.type).startsWith('x_')) return event;
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected an event of type ${LOGGED.join(', ')}, or x_ and a name of your own, but found ${String(event?.type)}`,
  );
}
