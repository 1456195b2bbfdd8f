import { type SessionPlaceOptions, withPlace } from './find-place.ts';

/** Removes a session with all its messages. Answers whether there was one. Throws if a process has it open. */
export async function deleteSession({ id, ...place }: SessionPlaceOptions & { readonly id: string }): Promise<boolean> {
  return withPlace('deleteSession', place, (found) => found.delete(id));
}
