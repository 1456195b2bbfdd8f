/** The purpose of a tool. It determines how soon its results are no longer needed. */
export type ToolKind = 'read' | 'search' | 'shell' | 'edit' | 'other';

export const KINDS: readonly ToolKind[] = ['read', 'search', 'shell', 'edit', 'other'];

/** The kind of a call and, for a read, the file and the lines that it shows. */
export interface ToolUse {
  readonly kind: ToolKind;
  readonly read?: LineRange;
  /** Whether it leaves the shell in another folder. */
  readonly moves?: true;
}

/** Lines count from 1; `to` is Infinity if the call asked for all. */
export interface LineRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

export const EDIT: ToolUse = { kind: 'edit' };
export const SHELL: ToolUse = { kind: 'shell' };
export const SEARCH: ToolUse = { kind: 'search' };
export const readOf = (read: LineRange | undefined): ToolUse => (read ? { kind: 'read', read } : { kind: 'read' });

/** A negative end is the end of the file. */
export const toRange = (path: string, from: number, to: number): LineRange => ({
  path: plainPath(path),
  from: Math.max(1, from),
  to: to < 0 ? Number.POSITIVE_INFINITY : to,
});

function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    const isUp = part === '..' && parts.length > 0 && parts.at(-1) !== '..' && parts.at(-1) !== '';
    if (isUp) parts.pop();
    else if (part !== '.' && (part !== '' || parts.length === 0)) parts.push(part);
  }
  return parts.join('/');
}
