import { amount, badOption } from '../../options.ts';

const CELLS = 10;

/** A gauge of the window for people. */
export interface ContextGauge {
  /** `[████░░░░░░] 48%` */
  readonly text: string;
  /** Green below 50 %, yellow below 70 %, red from there on. */
  readonly color: 'green' | 'yellow' | 'red';
}

/** Draws how full the window is, for a terminal or a page. */
export function contextGauge(usagePct: number): ContextGauge {
  if (!amount.check(usagePct)) throw badOption('contextGauge argument usagePct', amount.expected, usagePct);
  const filled = Math.min(CELLS, Math.floor((usagePct / 100) * CELLS));
  const text = `[${'█'.repeat(filled)}${'░'.repeat(CELLS - filled)}] ${Math.round(usagePct)}%`;
  return { text, color: usagePct < 50 ? 'green' : usagePct < 70 ? 'yellow' : 'red' };
}
