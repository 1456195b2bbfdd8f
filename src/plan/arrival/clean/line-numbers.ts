import { endOfLine, Rewriting } from './rewriting.ts';

/**
 * Strips the blanks before line numbers: `     7→text`, or with a tab after the number. A tab before it is a separate column. A file may
 * hold numbers and tabs itself. So with `onlyRising`, a number before a tab is a line number only if it is one more than that of the line
 * above, or one less than that of the line below.
 */
export function unpadLineNumbers(text: string, { onlyRising }: { readonly onlyRising: boolean }): string {
  if (!text.includes('\t') && !text.includes('→')) return text;
  const kept = new Rewriting(text);
  let above = Number.NaN;
  let number = numberAt(text, 0);
  for (let start = 0; start < text.length; ) {
    const next = endOfLine(text, start) + 1;
    const below = numberAt(text, next);
    if (number >= 0) {
      const padding = endOfBlanks(text, start);
      const isSure = !onlyRising || above === number - 1 || below === number + 1;
      if (padding > start && (isSure || text.charCodeAt(endOfDigits(text, padding)) === ARROW))
        kept.replace(start, padding);
    }
    above = number;
    number = below;
    start = next;
  }
  return kept.finish();
}

const MOST_DIGITS = 9;

/** The number that a line begins with, before an arrow or a tab; NaN if there is none. */
function numberAt(text: string, start: number): number {
  const from = endOfBlanks(text, start);
  let number = 0;
  let at = from;
  let code = text.charCodeAt(at);
  for (; isDigit(code) && at - from <= MOST_DIGITS; code = text.charCodeAt(++at)) number = number * 10 + code - ZERO;
  const isMarked = at > from && at - from <= MOST_DIGITS && (code === ARROW || code === TAB);
  return isMarked ? number : Number.NaN;
}

function endOfBlanks(text: string, start: number): number {
  let end = start;
  while (text.charCodeAt(end) === BLANK) end += 1;
  return end;
}

/** Stops after as many digits as a line number may have. */
function endOfDigits(text: string, start: number): number {
  let end = start;
  while (end - start <= MOST_DIGITS && isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

const [TAB, BLANK, ZERO, NINE, ARROW] = [9, 32, 48, 57, 0x2192];
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
