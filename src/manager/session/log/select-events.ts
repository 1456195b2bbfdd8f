import { checkOptions, count, names } from '../../../options.ts';
import type { EventOptions } from '../session.ts';
import type { SessionEvent } from '../session-event.ts';
import type { ReadEventsOptions } from '../session-storage.ts';

/** Throws for wrong options of the function `of`, which reads events. */
export function checkEventOptions(of: string, options: EventOptions): void {
  checkOptions(of, options, { afterSeq: count, types: names });
}

/** A line of a log. It has no event if it is damaged. */
export interface LogLine<M> {
  readonly event: SessionEvent<M> | undefined;
}

/** The events that a caller asked for, each once. Damaged lines are counted, and reported at the end. */
export async function* selectEvents<M>(
  lines: Iterable<LogLine<M>> | AsyncIterable<LogLine<M>>,
  { afterSeq = 0, types, onDamage }: ReadEventsOptions,
): AsyncGenerator<SessionEvent<M>> {
  let [last, damaged, acknowledged] = [afterSeq, 0, 0];
  for await (const { event } of lines) {
    if (!event) damaged += 1;
    if (event?.type === 'damage_acknowledged') acknowledged = Math.max(acknowledged, event.lines);
    if (!event || event.seq <= last) continue;
    last = event.seq;
    if (types ? types.includes(event.type) : event.type !== 'checkpoint') yield event;
  }
  if (damaged > acknowledged) onDamage(damaged);
}
