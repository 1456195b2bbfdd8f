import { type SessionPlaceOptions, withPlace } from './find-place.ts';

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
export async function deleteSession({ id, ...place }: SessionPlaceOptions & { readonly id: string }): Promise<boolean> {
  return withPlace('deleteSession', place, (found) => found.delete(id));
}
