import { checkOptions } from '../../options.ts';
import { sessionRule } from '../../store/store.ts';
import { PLACE_RULES, type SessionPlaceOptions, withPlace } from './find-place.ts';

/**
 * Removes a session with all its messages. Answers whether there was one. Throws if a process has it open.
 *
 * @example
 * ```ts
 * import { deleteSession } from 'palimpsest/manager';
 *
 * await deleteSession({ directory: 'sessions', id: 'ticket-42' });
 * ```
 */
export async function deleteSession(options: SessionPlaceOptions & { readonly id: string }): Promise<boolean> {
  checkOptions('deleteSession', options, { ...PLACE_RULES, id: sessionRule }, ['id']);
  const { id, ...place } = options;
  return withPlace('deleteSession', place, (found) => found.delete(id));
}
