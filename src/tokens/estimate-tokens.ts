/**
 * The plain heuristic: UTF-8 bytes / 4, rounded up. A lone surrogate is written as three bytes.
 *
 * @example
 * ```ts
 * import { fit } from 'palimpsest';
 * import { estimateTokens } from 'palimpsest/tokens';
 *
 * const { report } = fit(history, { counter: estimateTokens });
 * ```
 */
export function estimateTokens(text: string): number {
  return Math.ceil(utf8Length(text) / 4);
}

export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (code >= 0xd800 && code < 0xdc00 && isLowSurrogate(text, i + 1)) {
      bytes += 2;
      i += 1;
    } else bytes += 2;
  }
  return bytes;
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code < 0xe000;
}
