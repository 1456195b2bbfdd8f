import type { GcReport, Problem, PruneReport, Removed, StoreStats } from '../../store/store.ts';
import { counted, grouped } from '../../text.ts';
import { type GatewayEvents, type GatewayStats, withoutEvents } from './gateway-events.ts';
import type { Retention } from './retention.ts';
import { DEFAULT_TENANT } from './stores.ts';

/** Which store is shown. */
export interface Shown {
  /** Its place, and its tenant if there are several. */
  readonly where: string;
  readonly tenant: string;
  /** The configured retention. */
  readonly retention?: Retention | undefined;
}

/** The content of a store at a glance. */
export function showStats(stats: GatewayStats, { where, tenant, retention }: Shown): string {
  const { kind, texts, sessions, turns, notes, records = 0, textBytes, diskBytes, deadBytes } = withoutEvents(stats);
  const others = [
    ...(notes > 0 ? [counted(notes, 'note')] : []),
    ...(records > 0 ? [`${counted(records, 'record')} of requests`] : []),
  ];
  const rows = [
    ['store', `${where} (${kind})`],
    [
      'holds',
      [`${counted(texts, 'text')} of ${counted(sessions, 'session')}`, counted(turns, 'turn'), ...others].join(', '),
    ],
    ['text', showBytes(textBytes)],
    ...eventRows(stats.gateway),
    ...(diskBytes === undefined ? [] : [['on disk', showBytes(diskBytes) + ratio(diskBytes, textBytes)]]),
    ...(deadBytes === undefined ? [] : [['to free', showDead(deadBytes, diskBytes ?? 0, tenant)]]),
    ...ageRows(stats),
    ['keeps', showRetention(retention)],
  ];
  return `${rows.map(([name = '', value]) => `${name.padEnd(8)} ${value}`).join('\n')}\n`;
}

function eventRows({ texts, textBytes }: GatewayEvents): string[][] {
  if (texts === 0) return [];
  return [['gateway', `${counted(texts, 'event')} of its own, such as masks that were sent: ${showBytes(textBytes)}`]];
}

function ageRows({ oldestAt, newestAt, weekBytes = 0 }: StoreStats): string[][] {
  if (newestAt === undefined) return [];
  // Data of older versions has no time.
  const since = oldestAt === undefined ? '' : `${showTime(oldestAt)} to `;
  const days = Math.min(7, Math.max(1, (newestAt - (oldestAt ?? 0)) / DAY_MS));
  return [
    ['stored', `${since}${showTime(newestAt)} UTC`],
    ['grows', `${showBytes(Math.round(weekBytes / days))} a day, over the last ${counted(Math.ceil(days), 'day')}`],
  ];
}

const DAY_MS = 86_400_000;

const showTime = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

function showRetention({ maxAgeMs, maxBytes }: Retention = {}): string {
  const limits = [
    ...(maxAgeMs === undefined ? [] : [`what was used in the last ${counted(Math.round(maxAgeMs / DAY_MS), 'day')}`]),
    ...(maxBytes === undefined ? [] : [`${showBytes(maxBytes)} at most`]),
  ];
  return limits.length === 0 ? 'everything' : `${limits.join(', ')} (a gateway that serves removes the rest)`;
}

/** The number and size of deleted items. */
export function showRemoved(removed: Removed, { dryRun }: { dryRun: boolean }): string {
  const { sessions, texts, turns, records = 0, bytes } = removed;
  if (sessions + texts + turns + records === 0) return 'nothing to remove\n';
  const what = [
    `${counted(sessions, 'session')} with ${counted(texts, 'text')} and ${counted(turns, 'turn')}`,
    ...(records > 0 ? [`${counted(records, 'record')} of requests`] : []),
    showBytes(bytes),
  ].join(', ');
  return `${dryRun ? 'would remove' : 'removed'} ${what}\n`;
}

export function showPruned(report: PruneReport, how: { dryRun: boolean }): string {
  const inUse = report.inUse === 0 ? '' : `  ${report.inUse} of them used in the last 6 hours: the size needs it\n`;
  return `${showRemoved(report, how)}${inUse}${how.dryRun ? 'would leave' : 'left'} ${showBytes(report.usedBytes)}\n`;
}

const ratio = (disk: number, text: number): string =>
  text === 0 ? '' : `, ${(disk / text).toFixed(2)} times the text`;

function showDead(dead: number, disk: number, tenant: string): string {
  if (dead === 0) return 'nothing';
  const share = disk === 0 ? '' : ` (${Math.round((100 * dead) / disk)} %)`;
  return `${showBytes(dead)}${share}; ${gcOf(tenant)}`;
}

/** The sums over several stores of one kind. */
export function sumOf(all: readonly StoreStats[]): StoreStats | undefined {
  return all.reduce<StoreStats | undefined>((sum, one) => (sum === undefined ? one : added(sum, one)), undefined);
}

function added(a: StoreStats, b: StoreStats): StoreStats {
  return {
    kind: a.kind,
    texts: a.texts + b.texts,
    turns: a.turns + b.turns,
    notes: a.notes + b.notes,
    ...(a.records === undefined ? {} : { records: a.records + (b.records ?? 0) }),
    sessions: a.sessions + b.sessions,
    textBytes: a.textBytes + b.textBytes,
    ...(a.diskBytes === undefined ? {} : { diskBytes: a.diskBytes + (b.diskBytes ?? 0) }),
    ...(a.deadBytes === undefined ? {} : { deadBytes: a.deadBytes + (b.deadBytes ?? 0) }),
    ...(a.usedBytes === undefined ? {} : { usedBytes: a.usedBytes + (b.usedBytes ?? 0) }),
    ...(a.weekBytes === undefined ? {} : { weekBytes: a.weekBytes + (b.weekBytes ?? 0) }),
    ...pick('oldestAt', Math.min, a, b),
    ...pick('newestAt', Math.max, a, b),
  };
}

function pick(field: 'oldestAt' | 'newestAt', choose: (...times: number[]) => number, ...all: readonly StoreStats[]) {
  const times = all.flatMap((one) => one[field] ?? []);
  return times.length === 0 ? {} : { [field]: choose(...times) };
}

/** The problems that `verify` found, each with its remedy. */
export function showProblems(problems: readonly Problem[], { where, tenant }: Shown): string {
  if (problems.length === 0) return `${where}: everything is as it was written\n`;
  const lines = problems.slice(0, MOST_PROBLEMS).map((problem) => showProblem(problem, tenant));
  const more = problems.length - lines.length;
  if (more > 0) lines.push(`  … and ${grouped(more)} more; --json lists all`);
  return `${where}: ${counted(problems.length, 'problem')}\n${lines.join('\n')}\n`;
}

const MOST_PROBLEMS = 20;

function showProblem({ what, remedy, handle, at }: Problem, tenant: string): string {
  const where = [handle, at === undefined ? undefined : `at byte ${grouped(at)}`].filter((part) => part);
  return `  ${what}${where.length > 0 ? ` (${where.join(', ')})` : ''}\n    ${remedy.replace(GC, gcOf(tenant))}`;
}

const GC = 'palimpsest store gc';
const gcOf = (tenant: string): string => (tenant === DEFAULT_TENANT ? GC : `${GC} --tenant ${tenant}`);

export function showGc({ freedBytes, removedTexts, repaired }: GcReport): string {
  if (freedBytes === 0 && removedTexts === 0 && repaired === 0) return 'nothing to free\n';
  const gaveUp = repaired === 0 ? '' : `; gave up ${counted(repaired, 'damaged record')}`;
  return `freed ${showBytes(freedBytes)}, removed ${counted(removedTexts, 'text')}${gaveUp}\n`;
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** In steps of 1,000, as disks are sold and `ls -h --si` counts. */
export function showBytes(bytes: number): string {
  // 999,950 and above would be rounded to 1000.0 KB.
  let [value, unit] = [bytes, 0];
  while (value >= 999.95 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  if (unit === 0) return counted(bytes, 'byte');
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}
