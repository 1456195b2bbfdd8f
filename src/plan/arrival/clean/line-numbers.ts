/**
 * Strips the blanks before line numbers: `     7→text`, or with a tab. A file may hold numbers and tabs of its own, so with
 * `onlyRising` a number before a tab is a line number only if it is one more than that of the line above, or one less than
 * that of the line below.
 */
export function unpadLineNumbers(text: string, { onlyRising }: { readonly onlyRising: boolean }): string {
  if (!PADDED_SOMEWHERE.test(text)) return text;
  const lines = text.split('\n');
  const numbers = lines.map(numberOf);
  const isLineNumber = (i: number, mark: string | undefined): boolean => {
    const number = numbers[i] ?? 0;
    return mark === '→' || !onlyRising || numbers[i - 1] === number - 1 || numbers[i + 1] === number + 1;
  };
  return lines
    .map((line, i) => {
      const [, padding = '', mark] = numbers[i] === undefined ? [] : (PADDED.exec(line) ?? []);
      return padding !== '' && isLineNumber(i, mark) ? line.slice(padding.length) : line;
    })
    .join('\n');
}

const PADDED_SOMEWHERE = /(?:^|\n)[ \t]+\d{1,9}[→\t]/;
const PADDED = /^([ \t]+)\d{1,9}([→\t])/;
const NUMBERED = /^[ \t]*(\d{1,9})[→\t]/;

function numberOf(line: string): number | undefined {
  const number = NUMBERED.exec(line)?.[1];
  return number === undefined ? undefined : Number(number);
}
