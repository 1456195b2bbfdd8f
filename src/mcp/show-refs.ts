import { refsInScope, type Scope } from '../store/access.ts';
import type { Reference } from '../store/store.ts';
import { quote } from '../text.ts';

/** `turn 12, read_file`, for each place in the caller's sessions where a text was hidden. */
export function showRefs(refs: readonly Reference[], scope: Scope): string {
  const places = refsInScope(refs, scope).map((ref) => placeOf(ref, scope));
  const [shown, more] = [[...new Set(places)].slice(0, MOST), places.length > MOST ? '; …' : ''];
  return shown.join('; ') + more;
}

const MOST = 3;

function placeOf({ session, turn, tool }: Reference, { sessions }: Scope): string {
  const parts = [
    ...(sessions.length > 1 ? [`session ${session}`] : []),
    ...(turn === undefined ? [] : [`turn ${turn}`]),
    // The name of a tool came from a model.
    ...(tool === undefined ? [] : [quote(tool)]),
  ];
  return parts.join(', ');
}
