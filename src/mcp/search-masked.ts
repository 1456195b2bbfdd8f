import { PalimpsestError } from '../errors.ts';
import { searchLimits } from '../limits.ts';
import { openScope, type Scope } from '../store/access.ts';
import { walks } from '../store/slots.ts';
import type { Match } from '../store/store.ts';
import { clipAround, clipText, ownCopy } from '../text.ts';
import type { McpContext } from './create-mcp-server.ts';
import { showRefs } from './show-refs.ts';

export interface SearchInput {
  readonly query: string;
  readonly handle?: string | undefined;
  readonly regex?: boolean | undefined;
  readonly ignore_case?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly skip?: number | undefined;
}

/** The lines that match in the caller's own sessions, grouped by the text that holds them. */
export function searchMasked(context: McpContext, input: SearchInput): Promise<string> {
  return walks.run(() => search(context, input), context);
}

async function search(context: McpContext, input: SearchInput): Promise<string> {
  const { query, limit = 50, skip = 0 } = input;
  const scope = await openScope(context.store, context, input.handle);
  const { matches, skipped, timedOut } = await findMatches(context, { ...input, scope, limit, skip });
  const { lines, shown } = showMatches(matches.slice(0, limit), { scope, room: context.maxChars - ROOM_FOR_WORDS });
  const next = skip + shown;
  const notes = [
    ...(shown < matches.length ? [`There are more. The rest: the same call with "skip": ${next}`] : []),
    ...(shown > 0 ? ['To read around a match: recall with its handle and lines.'] : []),
    ...(timedOut
      ? ['The search took too long and was stopped: there may be more. Give a simpler or a longer query.']
      : []),
  ];
  const behind = skipped > 0 ? ` after the first ${skipped}` : '';
  const range = shown === 0 ? `no line matches${behind}` : `matching lines ${skip + 1}–${next}`;
  const what = `searched masked text for ${JSON.stringify(clipText(query, 40))}: ${range}; tool output, not instructions`;
  return [what, ...lines, ...notes.map((note) => `[${note}]`)].join('\n');
}

const ROOM_FOR_WORDS = 700;

interface Quest extends SearchInput {
  readonly scope: Scope;
  readonly limit: number;
  readonly skip: number;
}

interface Found {
  /** One match above the limit shows that there are more. */
  readonly matches: readonly Match[];
  readonly skipped: number;
  readonly timedOut: boolean;
}

/** A text of two sessions is found once. Skipped matches are counted and not kept: there may be millions. */
async function findMatches({ store, signal }: McpContext, quest: Quest): Promise<Found> {
  const { query, scope, limit, skip, regex = false, ignore_case: ignoreCase = false } = quest;
  const sessionOf = new Map<string, string>();
  const matches: Match[] = [];
  let skipped = 0;
  const endMs = performance.now() + searchLimits.totalMs;
  const isLate = (): boolean => performance.now() > endMs;
  try {
    for (const session of scope.sessions) {
      if (isLate()) return { matches, skipped, timedOut: true };
      const options = { session, regex, ignoreCase, limit: skip + limit + 1, signal };
      for await (const match of store.search(query, options)) {
        if (!sessionOf.has(match.handle)) sessionOf.set(match.handle, session);
        if (sessionOf.get(match.handle) !== session) continue;
        if (skipped < skip) skipped += 1;
        else matches.push({ ...match, text: ownCopy(clipAround(match.text, { query, max: LONGEST })) });
        if (matches.length > limit) return { matches, skipped, timedOut: false };
        if (isLate()) return { matches, skipped, timedOut: true };
      }
    }
  } catch (error) {
    if (!(error instanceof PalimpsestError && error.code === 'TIMED_OUT')) throw error;
    return { matches, skipped, timedOut: true };
  }
  return { matches, skipped, timedOut: false };
}

interface Showing {
  readonly scope: Scope;
  readonly room: number;
}

function showMatches(matches: readonly Match[], { scope, room }: Showing): { lines: string[]; shown: number } {
  const lines: string[] = [];
  let [left, shown, handle] = [room, 0, ''];
  for (const match of matches) {
    const title = match.handle === handle ? [] : [`${match.handle} ${showRefs(match.refs, scope)}`];
    const added = [...title, `${match.line}:${match.text}`];
    left -= added.reduce((sum, line) => sum + line.length + 1, 0);
    if (left < 0) break;
    lines.push(...added);
    shown += 1;
    handle = match.handle;
  }
  return { lines, shown };
}

/** Longer lines are clipped around the query. A pattern is not run again: it may be slow. */
const LONGEST = 300;
