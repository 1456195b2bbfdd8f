import type { SessionNames } from '../session-storage.ts';

/** The log. */
export const EVENTS = 'events.jsonl';
/** The snapshot: the state that the events add up to. */
export const SNAPSHOT = 'state.yaml';
export const NAMES: SessionNames = { events: EVENTS, snapshot: SNAPSHOT };
/** Events that are no longer needed to continue. */
export const ARCHIVE = 'events.archive.jsonl';
/** Whole lines that recovery cut off, kept for inspection. */
export const TORN = 'events.torn.jsonl';
/** The last acknowledged event. The file exists while a session is open, and after its process was killed. */
export const SYNCED = 'events.synced';
