import { headOf } from '../text.ts';

/** Exact tokenizers take time quadratic in the length of an unbroken run, so none gets a longer one. */
const LONGEST_RUN = 256;
const RUN = new RegExp(String.raw`\S{${LONGEST_RUN}}|\s{${LONGEST_RUN}}`);
const BLANK = /\s/;

/** Cuts long unbroken runs of a text apart; everything else stays whole. */
export function* cutRuns(text: string): Iterable<string> {
  if (!RUN.test(text)) {
    yield text;
    return;
  }
  let from = 0;
  let runStart = 0;
  let wasBlank: boolean | undefined;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isBlank = code < 128 ? code <= 32 : BLANK.test(text[i] as string);
    if (isBlank !== wasBlank) [runStart, wasBlank] = [i, isBlank];
    if (i - runStart + 1 < LONGEST_RUN) continue;
    const piece = headOf(text.slice(from), i + 1 - from);
    yield piece;
    from += piece.length;
    runStart = from;
  }
  if (from < text.length) yield text.slice(from);
}
