import { clipText } from '../text.ts';

const BEGIN = 'BEGIN_DISPATCH_RESULT';
const END = 'END_DISPATCH_RESULT';
const NOTE = /^\[(?:dispatch output masked — \d+ chars|[^[\]\n]+ \d+ chars masked · (?:recall )?p_[a-z2-7]{26})\]$/;

/** The complete blocks of a dispatch result. A block that never ends does not cost the others. */
export function dispatchBlocks(content: string): string[] {
  const blocks: string[] = [];
  let from = 0;
  for (;;) {
    const end = content.indexOf(END, from);
    if (end < 0) return blocks;
    const begin = content.lastIndexOf(BEGIN, end);
    if (begin >= from) blocks.push(content.slice(begin, end + END.length));
    from = end + END.length;
  }
}

/**
 * Masks all but the complete blocks. Without any, the whole is masked: a number of characters
 * keeps the head of it, none leaves the placeholder.
 */
export function maskDispatchObservation(content: string, maxChars?: number): { masked: string; maskedChars: number } {
  const masked = maskedText(content, maxChars);
  return masked.length < content.length
    ? { masked, maskedChars: content.length - masked.length }
    : { masked: content, maskedChars: 0 };
}

function maskedText(content: string, maxChars?: number): string {
  if (isMaskedDispatch(content)) return content;
  const blocks = dispatchBlocks(content);
  if (blocks.length === 0) return maxChars === undefined ? observationMasked(content) : clipText(content, maxChars);
  const kept = blocks.join('\n');
  return `[dispatch output masked — ${content.length - blocks.reduce((sum, block) => sum + block.length, 0)} chars]\n${kept}`;
}

export const observationMasked = (content: string): string => `[observation masked — ${content.length} chars]`;

/** Our line, then complete blocks and nothing else. */
export function isMaskedDispatch(text: string): boolean {
  const lineEnd = text.indexOf('\n');
  if (lineEnd < 0 || !NOTE.test(text.slice(0, lineEnd))) return false;
  const rest = text.slice(lineEnd + 1);
  return rest !== '' && dispatchBlocks(rest).join('\n') === rest;
}
