import { dispatchBlocks, isMaskedDispatch } from '../laws/idempotent.ts';
import { clipText } from '../text.ts';

/**
 * Masks everything except the complete blocks. Without any block, the whole text is masked: `maxChars` keeps its head, otherwise a
 * placeholder replaces it.
 */
export function maskDispatchObservation(content: string, maxChars?: number): { masked: string; maskedChars: number } {
  const masked = maskedText(content, maxChars);
  if (masked.length >= content.length) return { masked: content, maskedChars: 0 };
  return { masked, maskedChars: content.length - masked.length };
}

function maskedText(content: string, maxChars?: number): string {
  if (isMaskedDispatch(content)) return content;
  const blocks = dispatchBlocks(content);
  if (blocks.length === 0) {
    return maxChars === undefined ? `[observation masked — ${content.length} chars]` : clipText(content, maxChars);
  }
  const kept = blocks.reduce((sum, block) => sum + block.length, 0);
  return `[dispatch output masked — ${content.length - kept} chars]\n${blocks.join('\n')}`;
}
