import type { Report } from '../plan/report.ts';
import { checkMayList, openScope, refsInScope, type Scope } from '../store/access.ts';
import { walks } from '../store/slots.ts';
import type { Stored } from '../store/store.ts';
import { headsOf } from '../store/text-heads.ts';
import { counted, percentChange, quote, takeLines } from '../text.ts';
import type { McpContext } from './create-mcp-server.ts';
import { showRefs } from './show-refs.ts';

export interface ReportInput {
  readonly handle?: string | undefined;
}

/** How much of the caller's conversation is hidden, and the last request, if it is known. */
export async function contextReport(context: McpContext, { handle }: ReportInput): Promise<string> {
  checkMayList(context);
  if (handle === undefined && context.session === undefined) return NOTHING_KNOWN;
  return walks.run(() => report(context, handle), context);
}

async function report(context: McpContext, handle: string | undefined): Promise<string> {
  const { store, report: lastRequest, maxChars } = context;
  const scope = await openScope(store, context, handle);
  const parts: string[] = [];
  for (const name of scope.sessions) {
    parts.push(...showSession(await countTexts(context, name), { sessions: [name] }));
    const last = await lastRequest?.(name);
    if (last) parts.push(...showRequest(last));
    if (parts.length >= MOST_LINES) break;
  }
  const shown = takeLines(parts.slice(0, MOST_LINES), maxChars - 100);
  return ['context report: what is masked in your conversation', ...shown].join('\n');
}

const NOTHING_KNOWN =
  'context report: if no placeholder in your context shows a handle (p_…), nothing that could be recalled is masked. Otherwise call this again with any such handle.';

/** The report has at most this many lines. */
const MOST_LINES = 60;

interface Counts {
  readonly texts: number;
  readonly chars: number;
  readonly turns: readonly [first: number, last: number] | undefined;
  readonly byTool: ReadonlyMap<string, { readonly texts: number; readonly chars: number }>;
  readonly largest: readonly (Pick<Stored, 'handle' | 'refs'> & { readonly chars: number })[];
}

async function countTexts({ store, signal }: McpContext, session: string): Promise<Counts> {
  const byTool = new Map<string, { texts: number; chars: number }>();
  let largest: Counts['largest'] = [];
  let [texts, chars, first, last] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for await (const { handle, chars: length, refs } of headsOf(store, session, signal)) {
    texts += 1;
    chars += length;
    const own = refsInScope(refs, { sessions: [session] });
    for (const { turn } of own) if (turn !== undefined) [first, last] = [Math.min(first, turn), Math.max(last, turn)];
    const tool = own[0]?.tool ?? 'unknown';
    const known = byTool.get(tool) ?? { texts: 0, chars: 0 };
    byTool.set(tool, { texts: known.texts + 1, chars: known.chars + length });
    largest = [...largest, { handle, refs, chars: length }].sort((a, b) => b.chars - a.chars).slice(0, 3);
  }
  return { texts, chars, turns: first <= last ? [first, last] : undefined, byTool, largest };
}

function showSession({ texts, chars, turns, byTool, largest }: Counts, scope: Scope): string[] {
  const where = turns === undefined ? '' : `, turns ${turns[0]}–${turns[1]}`;
  const tools = [...byTool].sort(([, a], [, b]) => b.chars - a.chars).slice(0, 10);
  return [
    `session ${scope.sessions[0]}: ${counted(texts, 'text')}, ${counted(chars, 'character')} (about ${counted(Math.ceil(chars / 4), 'token')})${where}`,
    ...tools.map(
      ([tool, sizes]) => `  ${quote(tool)}: ${counted(sizes.texts, 'text')}, ${counted(sizes.chars, 'character')}`,
    ),
    ...largest.map(
      (one) => `  largest: ${one.handle} ${showRefs(one.refs, scope)}: ${counted(one.chars, 'character')}`,
    ),
  ];
}

function showRequest({ tokens, edits, epoch, decision }: Report): string[] {
  return [
    `  last request: ${counted(tokens.before, 'token')} before, ${counted(tokens.after, 'token')} after (${percentChange(tokens)}); ${counted(edits.mask, 'result')} masked in ${counted(epoch, 'step')}`,
    `  decision: ${decision.act}: ${decision.because}`,
  ];
}
