import { badOption, rule } from '../options.ts';

const CELLS = 10;

/** A gauge of the window for people. */
export interface ContextGauge {
  /** `[████░░░░░░] 48%` */
  readonly text: string;
  /** Green below 50 %, yellow below 70 %, red from there on. */
  readonly color: 'green' | 'yellow' | 'red';
}

const PERCENT = rule('a number of 0 or more', (v) => typeof v === 'number' && v >= 0 && Number.isFinite(v));

/** Draws how full the window is, for a terminal or a page. */
export function contextGauge(usagePct: number): ContextGauge {
  if (!PERCENT.check(usagePct)) throw badOption('contextGauge argument usagePct', PERCENT.expected, usagePct);
  const filled = Math.min(CELLS, Math.floor((usagePct / 100) * CELLS));
  const text = `[${'█'.repeat(filled)}${'░'.repeat(CELLS - filled)}] ${Math.round(usagePct)}%`;
  return { text, color: usagePct < 50 ? 'green' : usagePct < 70 ? 'yellow' : 'red' };
}
