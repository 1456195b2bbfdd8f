import { type SessionPlaceOptions, withPlace } from './find-place.ts';

/** Removes a session and all that was ever said in it. Answers whether there was one. Throws where a process has it open. */
export async function deleteSession({ id, ...place }: SessionPlaceOptions & { readonly id: string }): Promise<boolean> {
  return withPlace('deleteSession', place, (found) => found.delete(id));
}
