import { checkOptions, count, names } from '../../../options.ts';
import type { EventOptions } from '../session.ts';

/** Throws for wrong options of the function `of`, which reads events. */
export function checkEventOptions(of: string, options: EventOptions): void {
  checkOptions(of, options, { afterSeq: count, types: names });
}
