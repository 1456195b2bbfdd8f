import type { GcReport, Problem, StoreStats } from '../store/store.ts';

/** What a store holds, at a glance. */
export function showStats(stats: StoreStats, path: string): string {
  const { kind, texts, sessions, turns, textBytes, diskBytes, deadBytes } = stats;
  const rows = [
    ['store', `${path} (${kind})`],
    ['holds', `${count(texts, 'text')} of ${count(sessions, 'session')}, ${count(turns, 'turn')}`],
    ['text', showBytes(textBytes)],
    ...(diskBytes === undefined ? [] : [['on disk', showBytes(diskBytes) + ratio(diskBytes, textBytes)]]),
    ...(deadBytes === undefined ? [] : [['to free', showDead(deadBytes, diskBytes ?? 0)]]),
  ];
  return `${rows.map(([name = '', value]) => `${name.padEnd(8)} ${value}`).join('\n')}\n`;
}

const ratio = (disk: number, text: number): string =>
  text === 0 ? '' : `, ${(disk / text).toFixed(2)} times the text`;

function showDead(dead: number, disk: number): string {
  if (dead === 0) return 'nothing';
  const share = disk === 0 ? '' : ` (${Math.round((100 * dead) / disk)} %)`;
  return `${showBytes(dead)}${share}; palimpsest store gc`;
}

/** What `verify` found, each with what to do. */
export function showProblems(problems: readonly Problem[], path: string): string {
  if (problems.length === 0) return `${path}: everything is as it was written\n`;
  const lines = problems.slice(0, MOST_PROBLEMS).map(showProblem);
  const more = problems.length - lines.length;
  if (more > 0) lines.push(`  … and ${more.toLocaleString('en-US')} more; --json lists all`);
  return `${path}: ${count(problems.length, 'problem')}\n${lines.join('\n')}\n`;
}

const MOST_PROBLEMS = 20;

function showProblem({ what, remedy, handle, at }: Problem): string {
  const where = [handle, at === undefined ? undefined : `at byte ${at.toLocaleString('en-US')}`].filter((part) => part);
  return `  ${what}${where.length > 0 ? ` (${where.join(', ')})` : ''}\n    ${remedy}`;
}

export function showGc({ freedBytes, removedTexts, repaired }: GcReport): string {
  if (freedBytes === 0 && removedTexts === 0 && repaired === 0) return 'nothing to free\n';
  const gaveUp = repaired === 0 ? '' : `; gave up ${count(repaired, 'damaged record')}`;
  return `freed ${showBytes(freedBytes)}, removed ${count(removedTexts, 'text')}${gaveUp}\n`;
}

const count = (n: number, noun: string): string => `${n.toLocaleString('en-US')} ${noun}${n === 1 ? '' : 's'}`;

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** In steps of 1,000, as disks are sold and `ls -h --si` counts. */
export function showBytes(bytes: number): string {
  // 999,950 and above would be rounded to 1000.0 KB.
  let [value, unit] = [bytes, 0];
  while (value >= 999.95 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  if (unit === 0) return count(bytes, 'byte');
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}
