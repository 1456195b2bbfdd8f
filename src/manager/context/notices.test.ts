import { describe, expect, it } from 'vitest';
import { isManagerNotice } from '../../laws/idempotent.ts';
import { compressedNotice, restartNotice, sessionContinuity, windDownNotice } from './notices.ts';

describe('notices', () => {
  it('say what was masked, in these words', () => {
    expect(compressedNotice({ masked: 3, total: 10, reclaimedPct: 15 })).toBe(
      '[Context compressed: 3 observations masked this round, 10 total, ~15% context reclaimed]',
    );
  });

  it('ask to wrap up, in these words', () => {
    expect(windDownNotice(91.6)).toBe(
      '[Context window 92% full. Please wrap up your current task and write any important state to workspace files. The session will restart shortly.]',
    );
  });

  it('say that the session was restarted, in these words', () => {
    expect(restartNotice(2)).toBe(
      '[Session restarted. Session #2. Previous session context was full. Check your workspace files for progress state.]',
    );
  });

  it('are known again to the letter, and nothing else is', () => {
    const notices = [
      compressedNotice({ masked: 1, total: 1, reclaimedPct: 0.2 }),
      windDownNotice(100),
      restartNotice(12),
    ];
    for (const notice of notices) {
      expect(isManagerNotice(notice)).toBe(true);
      expect(isManagerNotice(`${notice} and more`)).toBe(false);
      expect(isManagerNotice(`The log says ${notice}`)).toBe(false);
    }
    expect(isManagerNotice('[Context compressed: many]')).toBe(false);
  });
});

describe('sessionContinuity', () => {
  it('adds nothing to the prompt of a first session', () => {
    expect(sessionContinuity(1)).toBe('');
  });

  it('tells a restarted model which session this is, and to look for its state', () => {
    expect(sessionContinuity(3)).toMatch(/^## Session Continuity\n\nThis is session #3\. You have been restarted/);
    expect(sessionContinuity(3)).toContain('workspace');
  });
});
