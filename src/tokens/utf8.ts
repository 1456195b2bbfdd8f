const encoder = new TextEncoder();

/** The bytes of the text that was encoded last. A result is counted, and right after that read into lines. */
export const utf8Bytes = new Uint8Array(1 << 18);
let encoded: { readonly text: string; readonly length: number | undefined } = { text: '', length: 0 };

/** Encodes a text in UTF-8 into `utf8Bytes`. Answers how many bytes it has; undefined if it is too long. */
export function encodeUtf8(text: string): number | undefined {
  if (text.length > utf8Bytes.length) return undefined;
  if (encoded.text !== text) {
    const { read, written } = encoder.encodeInto(text, utf8Bytes);
    encoded = { text, length: read === text.length ? written : undefined };
  }
  return encoded.length;
}
