/** An event's number, and whether its line has a checksum. */
export interface LineNumber {
  readonly seq: number;
  readonly isSealed: boolean;
}

/** A line, and whether its number fits the numbers around it. */
interface Placed<T> {
  readonly line: T;
  readonly fits: boolean;
}

/**
 * Finds lines whose number is damaged. Only lines of the first format, without a checksum, can be read with a wrong number.
 * A number fits if it is the next one, or greater than the last and less than the following one. A following number that
 * is not greater than the last is ignored.
 * `numberOf` answers undefined for a line that is no event.
 */
export function* inOrder<T>(
  lines: Iterable<T>,
  numberOf: (line: T) => LineNumber | undefined,
): Generator<Placed<T>, void> {
  let before = 0;
  /** The number of the next line if no line is missing. */
  let next = 1;
  /** An event with an unexpected number and the lines after it, kept until the next event shows whether it fits. */
  let held: { readonly seq: number; readonly lines: T[] } | undefined;
  function* place(line: T, number: LineNumber | undefined, fits: boolean): Generator<Placed<T>> {
    if (number && fits) before = Math.max(before, number.seq);
    next = number && fits ? number.seq + 1 : next + 1;
    yield { line, fits };
  }
  function* release(following: number | undefined): Generator<Placed<T>> {
    if (!held) return;
    const { seq, lines } = held;
    held = undefined;
    const isContradicted = following !== undefined && following > before && following <= seq;
    const fits = seq > before && !isContradicted;
    for (const [i, line] of lines.entries())
      yield* i === 0 ? place(line, { seq, isSealed: false }, fits) : place(line, undefined, true);
  }
  for (const line of lines) {
    const number = numberOf(line);
    if (!number && held) held.lines.push(line);
    else {
      if (number) yield* release(number.seq);
      if (!number || number.isSealed || number.seq === next) yield* place(line, number, true);
      else held = { seq: number.seq, lines: [line] };
    }
  }
  yield* release(undefined);
}
