import { isRecallName } from '../handles.ts';
import { mayHoldFileText, readToolUse } from '../tool-kind.ts';

/** The content of a result, as far as it decides what may be cleaned. */
export type Shown = 'file' | 'search' | 'shell' | 'other';

/** The content that a call shows; undefined for a recall, whose text must stay the exact original. */
export function shownBy(tool: string | undefined, args: string): Shown | undefined {
  if (tool !== undefined && isRecallName(tool)) return undefined;
  if (mayHoldFileText(tool, args)) return 'file';
  const { kind } = readToolUse(tool, args);
  return kind === 'search' || kind === 'other' ? kind : 'shell';
}
