import { decodeValue, encodeValue } from './encode-value.ts';
import type { EventBody, SessionEvent } from './session-event.ts';

/** When an event was written, and with which others. */
export interface LineStamp {
  readonly seq: number;
  readonly time: string;
  /** The first event that was written, and synced, together with this one. */
  readonly batch: number;
}

/** An event as it was read. */
export interface ReadEvent<M> {
  readonly event: SessionEvent<M>;
  readonly batch: number;
}

/** What happened, as JSON. It is written before it waits, so that what cannot be written is refused at once. */
export const encodeBody = <M>(body: EventBody<M>): string => encodeValue(body);

/** One line: sequence number and time come first. */
export function writeLine(body: string, { seq, time, batch }: LineStamp): string {
  const together = batch === seq ? '' : `"batch":${batch},`;
  return `{"seq":${seq},"time":"${time}",${together}${body.slice(1)}\n`;
}

/** Undefined for what is no event. */
export function readEvent<M>(line: string): ReadEvent<M> | undefined {
  let value: Partial<SessionEvent<M>> & { batch?: unknown };
  try {
    value = decodeValue(line) as typeof value;
  } catch {
    return undefined;
  }
  const { seq, time, type, batch = seq, ...fields } = value ?? {};
  if (!Number.isSafeInteger(seq) || typeof time !== 'string' || typeof type !== 'string') return undefined;
  if (typeof batch !== 'number') return undefined;
  return { event: { seq, time, type, ...fields } as unknown as SessionEvent<M>, batch };
}
