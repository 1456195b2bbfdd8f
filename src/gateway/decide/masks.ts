import { recordLimits } from '../../limits.ts';
import type { ReplaceEdit, Segment } from '../../message.ts';
import { clipText } from '../../text.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Mask } from '../receipts/receipt.ts';
import type { PlannedRequest } from './plan.ts';

/** The edits that the last request did not carry yet, in the order of the messages. `sent` has its texts by segment. */
export function changedSince(sent: ReadonlyMap<number, string>, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
  return edits.filter(({ segment, text }) => sent.get(segment) !== text);
}

/** An edit as a receipt tells it. */
export function toMask({ hidden, segments }: PlannedRequest, edit: ReplaceEdit): Mask {
  const { segment, text, handle = '' } = edit;
  const { turn, tool } = segments[segment] as Segment;
  const original = hidden.findLast((one) => one.handle === handle)?.text ?? '';
  const tokens = Math.max(0, countTokens(original) - countTokens(text));
  const named = tool === undefined ? {} : { tool: clipText(tool, recordLimits.toolChars) };
  return { handle, turn, ...named, placeholder: text, chars: original.length, tokens };
}
