import { shortenOldTexts } from '../laws/old-texts.ts';
import { headOf } from '../text.ts';
import { shownBy } from './arrival/shown-by.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { ReadToolUse } from './ledger/read-coverage.ts';
import type { Call, Result } from './ledger/rows.ts';
import { failureOf, subjectOf } from './placeholder.ts';

/** An old text is shortened this many turns after its call. */
const AGE = 2;

/**
 * Shortens the old texts of edits after the first change of this request: from there on, a provider's cache is written again anyway. It
 * decides by the history as it is sent, so a fed-back history is shortened in the same way.
 */
export function shortenCalls<M>(ledger: Ledger<M>, toolUse: ReadToolUse): void {
  const change = ledger.firstChange();
  if (change === undefined) return;
  let isShortened = false;
  for (let i = ledger.observations.length - 1; i >= 0; i--) {
    const result = ledger.observations[i] as Result;
    if (result.original.message <= change) break;
    const { call, tool } = result;
    if (!call || call.message <= change || ledger.turns - call.row.number < AGE) continue;
    const short = hasFailed(result) ? undefined : shortenedArguments(call, tool, toolUse);
    if (short !== undefined && ledger.shortenCall(call, short)) isShortened = true;
  }
  // Sums over the sent texts must be computed again.
  if (isShortened) ledger.revision += 1;
}

const FAILURE =
  /\b(?:error|fail(?:ed|ure)?|exception|not found|no match(?:es)?|cannot|could not|unable|invalid|denied)\b/i;

/** Judged by its flag, its exit code or its first line. In doubt an edit has failed, and its old text stays. */
const hasFailed = (result: Result): boolean =>
  failureOf(result) !== undefined || FAILURE.test(headOf(result.text.trimStart().split('\n', 1)[0] ?? '', 200));

/** The arguments of an edit without its old texts; undefined if all of them stay. */
function shortenedArguments(
  { args, isProse }: Call,
  tool: string | undefined,
  toolUse: ReadToolUse,
): string | undefined {
  if (isProse || toolUse(tool, args).kind !== 'edit') return undefined;
  const short = shortenOldTexts(args);
  // The placeholder of its result must name the same subject, and its result must be made smaller in the same way.
  const isSame =
    short !== undefined && subjectOf(short) === subjectOf(args) && shownBy(tool, short) === shownBy(tool, args);
  return isSame ? short : undefined;
}
