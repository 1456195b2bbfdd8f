import { closedGroups } from '../../laws/pairs.ts';
import { userTurns } from '../../laws/task.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { answeredQuestion, type Removal, removalOf, splitTurns, toRemoval } from '../ledger/questions.ts';
import type { Turn } from '../ledger/rows.ts';
import { MESSAGE_TOKENS } from '../ledger/totals.ts';
import { noteTexts, writeNotice } from '../notes.ts';
import { readSummary } from '../summary.ts';
import { type Budget, type DropStage, type Measure, sizeOf } from './stage.ts';

export function drop<M>(ledger: Ledger<M>, { what }: DropStage, budget: Budget): void {
  if (what === 'summary') dropSummary(ledger);
  else if (what === 'notes') ledger.setNotes({});
  else if (what === 'messages' || (what === 'unanswered' && ledger.turns === 0)) dropMessages(ledger, budget);
  else if (what !== 'unanswered') dropTurns(ledger, what === 'turns' ? budget : { ...budget, keepMessages: 0 });
}

type Kept = Pick<Budget, 'keepMessages'>;

/** The turns up to a number that the laws allow to leave out, oldest first, in groups that must be left out together. */
export function removable<M>(ledger: Ledger<M>, upTo: number, { keepMessages = 0 }: Kept = {}): Turn[][] {
  if (!ledger.mayDrop) return [];
  const task = userTurns(ledger.rows);
  const rows = ledger.rows.slice(1, -1);
  const isKept = (row: Turn): boolean => task.has(row) || row.isHead || row.number > upTo || row.from < keepMessages;
  return closedGroups(rows).filter((group) => !group.some(isKept));
}

/** Leaves out whole turns, oldest first, until the target is reached. */
function dropTurns<M>(ledger: Ledger<M>, budget: Budget): void {
  const groups = removable(ledger, ledger.turns, budget);
  const removed = oldestOf(ledger, budget, groups);
  if (!isWorthANotice(ledger, budget, removed) || leaveOut(ledger, removed)) return;
  // Turns that cannot be serialised stay: they could not be recalled.
  const writable = groups.filter((group) => ledger.write(removalOf(ledger, group)) !== undefined);
  leaveOut(ledger, oldestOf(ledger, budget, writable));
}

/** The oldest groups that together bring the history down to the target. */
function oldestOf<M>(ledger: Ledger<M>, budget: Budget, groups: readonly Turn[][]): Removal[] {
  const { measure, target } = budget;
  const size = sizeOf(ledger, budget);
  const going = new Set<Turn>();
  const whole: Record<Measure, number> = { tokens: 0, chars: 0, messages: 0 };
  let last: Turn | undefined;
  for (const group of groups) {
    if (last) {
      const question = questionSize(ledger, last);
      const left = size - whole[measure] + question[measure];
      if (left + noticeSize(ledger, measure, whole.messages - question.messages) <= target) break;
    }
    for (const row of group) {
      going.add(row);
      add(whole, toRemoval(ledger, row));
    }
    last = lastBeforeGap(ledger, last ?? (group[0] as Turn), going);
  }
  // As a repeated cut has them: the handle depends on their text.
  const inOrder = [...going].sort((a, b) => a.number - b.number);
  return removalOf(ledger, inOrder);
}

/** The turn that goes before the first one that stays. Only its question may stay. */
function lastBeforeGap<M>({ rows }: Ledger<M>, from: Turn, going: ReadonlySet<Turn>): Turn {
  let last = from;
  for (let next = rows[from.number + 1]; next && going.has(next); next = rows[next.number + 1]) last = next;
  return last;
}

/** The size of the question at the end of a turn, which stays with its answer. */
function questionSize<M>(ledger: Ledger<M>, row: Turn): Record<Measure, number> {
  const from = answeredQuestion(ledger, row);
  return { ...ledger.totals.between(from, row.to), messages: row.to - from };
}

function add(sizes: Record<Measure, number>, removal: Removal): void {
  for (const measure of ['tokens', 'chars', 'messages'] as const) sizes[measure] += removal[measure];
}

/** Splits turns, so that one message can be left out without the others, also messages that were never answered. */
function dropMessages<M>(ledger: Ledger<M>, budget: Budget): void {
  // An earlier cut may have split them already. A second split could not recognise the system prompt.
  if (!ledger.isSplit) splitTurns(ledger);
  dropTurns(ledger, budget);
}

export const sum = (removed: readonly Removal[], measure: Measure): number =>
  removed.reduce((total, removal) => total + removal[measure], 0);

/** The smallest size after everything possible was left out, with the notice. */
export function leastSize<M>(ledger: Ledger<M>, budget: Budget): number {
  const removed = removalOf(ledger, removable(ledger, ledger.turns, budget).flat());
  const { measure } = budget;
  return sizeOf(ledger, budget) - sum(removed, measure) + noticeSize(ledger, measure, sum(removed, 'messages'));
}

/** How much a notice about more messages adds to the one that is there now. */
function noticeSize<M>(ledger: Ledger<M>, measure: Measure, more: number): number {
  const { notice } = ledger.notes;
  if (measure === 'messages') return notice ? 0 : 1;
  const sizeOfText = (text: string): number => (measure === 'chars' ? text.length : ledger.counter(text) + NOTE_TOKENS);
  const next = writeNotice({ omitted: (notice?.omitted ?? 0) + more, handle: ledger.showHandle('') });
  return sizeOfText(next) - (notice ? sizeOfText(writeNotice(notice)) : 0);
}

/** The framing of a message, and the largest difference in tokens between two handles. */
const NOTE_TOKENS = 2 * MESSAGE_TOKENS;

/** A notice that is larger than the messages it counts would make the request larger. */
function isWorthANotice<M>(ledger: Ledger<M>, { measure }: Budget, removed: readonly Removal[]): boolean {
  const measures: readonly Measure[] = measure === 'messages' ? ['messages'] : ['tokens', 'chars'];
  const messages = sum(removed, 'messages');
  return messages > 0 && measures.every((name) => noticeSize(ledger, name, messages) < sum(removed, name));
}

/** Leaves these turns out, with a notice that continues an earlier one. False if they cannot be serialised. */
export function leaveOut<M>(ledger: Ledger<M>, removed: readonly Removal[]): boolean {
  const { notice } = ledger.notes;
  const written = ledger.write(removed);
  if (written === undefined || removed.length === 0) return false;
  const text = notice ? `${writeNotice(notice)}\n${written}` : written;
  const omitted = (notice?.omitted ?? 0) + sum(removed, 'messages');
  ledger.remove(removed, 'drop', text);
  ledger.setNotes({ ...ledger.notes, notice: { omitted, handle: ledger.showHandle(text) } });
  return true;
}

/** A summary is dropped only when nothing else can be. Its messages then count as omitted. */
function dropSummary<M>(ledger: Ledger<M>): void {
  const { summary, notice } = ledger.notes;
  if (summary === undefined) return;
  const omitted = (readSummary(summary)?.messages ?? 1) + (notice?.omitted ?? 0);
  const text = noteTexts(ledger.notes).join('\n');
  ledger.remove([], 'drop', text);
  ledger.setNotes({ notice: { omitted, handle: ledger.showHandle(text) } });
}
