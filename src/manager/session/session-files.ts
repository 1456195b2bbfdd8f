/** The log. */
export const EVENTS = 'events.jsonl';
/** What the events amount to. */
export const SNAPSHOT = 'state.yaml';
/** Events that are no longer needed to go on. */
export const ARCHIVE = 'events.archive.jsonl';
/** Lines that were cut off although they had an end: somebody may want to see what was in them. */
export const TORN = 'events.torn.jsonl';
/** The last event that was acknowledged, while a session is open or after it was killed. */
export const SYNCED = 'events.synced';
