import type { Session } from '../session/session.ts';

/**
 * The part of a session that a run needs. `openSession` gives one that survives the process, `createMemorySession` one that does
 * not.
 */
export type AgentContext<M> = Pick<
  Session<M>,
  | 'format'
  | 'number'
  | 'status'
  | 'manager'
  | 'add'
  | 'answer'
  | 'messages'
  | 'view'
  | 'render'
  | 'mask'
  | 'restart'
  | 'continuity'
  | 'decidedApprovals'
  | 'windDown'
  | 'log'
>;
