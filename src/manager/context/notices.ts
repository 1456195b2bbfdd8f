/** Shown to the model after results were masked: how many now and in all, and the share of the window that this freed. */
export function compressedNotice(about: { masked: number; total: number; reclaimedPct: number }): string {
  const { masked, total, reclaimedPct } = about;
  const share = Math.round(reclaimedPct);
  return `[Context compressed: ${masked} observations masked this round, ${total} total, ~${share}% context reclaimed]`;
}

/** Shown to the model when the window is nearly full, before a restart. */
export function windDownNotice(usagePct: number): string {
  const share = Math.round(usagePct);
  return `[Context window ${share}% full. Please wrap up your current task and write any important state to workspace files. The session will restart shortly.]`;
}

/** Shown to the model after a restart. */
export function restartNotice(sessionNumber: number): string {
  return `[Session restarted. Session #${sessionNumber}. Previous session context was full. Check your workspace files for progress state.]`;
}

/** The text that a restarted session adds to its system prompt. Empty in the first session. */
export function sessionContinuity(sessionNumber: number): string {
  if (sessionNumber <= 1) return '';
  return [
    '## Session Continuity',
    '',
    `This is session #${sessionNumber}. You have been restarted due to context window limits.`,
    'Of the earlier conversation only the task and the latest turns are here. Before you go on, check your workspace',
    'files for the state you saved, and do not repeat work that is already done.',
  ].join('\n');
}
