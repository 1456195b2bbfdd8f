import type { Disk } from './disk.ts';
import type { Limits } from './generation.ts';

export interface EmbeddedOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly mode: 'read' | 'write';
  readonly limits?: StoreLimits;
  /** Throws STORE_LOCKED if another process has taken over. Called after each sync, before anything is acknowledged. */
  mayWrite?(): void;
  /** The previous writer may still run and write to the files that it has open. */
  readonly isContested?: boolean;
  /** Takes a lock that was lost again. Rejects with STORE_LOCKED while another process has it. */
  takeLockAgain?(): Promise<void>;
  /** Called once all files in use belong to this writer alone. */
  onOpen?(): void;
  /** Called after the store is closed. */
  onClose?(): void;
}

/** Limits that tests lower to see checkpoints and compactions often. */
export interface StoreLimits extends Limits {
  /** Fewer dead bytes are not worth a compaction. */
  readonly leastDead?: number;
  /** Bytes that a compaction copies per step. */
  readonly copyStepBytes?: number;
  /** The delay before a failed task is retried. It doubles after each failure. */
  readonly retryMs?: number;
}
