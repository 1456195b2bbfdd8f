import { arrivalLimits } from '../../limits.ts';
import { LineIndex, type Place } from './line-index.ts';
import { isMarker, linesSpokenOf } from './markers.ts';
import { NumberedLines, Numbering } from './numbered-lines.ts';
import { type About, countedUnit, labelOf, type Reference, readReference, writeReference } from './reference-line.ts';
import { numberedUnit, numbersRise } from './resolve-references.ts';
import { TextNames } from './text-names.ts';

/** A smaller result is not worth a search. */
const LEAST_TOKENS = 80;
/** A block is replaced if it has at least this many characters. */
const LEAST_BLOCK = 240;
/**
 * References are used if blocks have at least this share of a result. All blocks of all visible texts count, also overlapping ones: with
 * fewer visible texts the share is never larger. So a result that was sent whole stays whole when older texts are masked.
 */
const LEAST_SHARE = 0.3;

/** A reference goes back at most to the fourth last text of a name, which a model can still find. */
const MOST_NEWER = 3;

/** For each line of a result, at most this many lines are compared: a repetitive text has very many runs. */
const MOST_COMPARED = 16;

class VisibleText {
  readonly text: string;
  readonly about: About;
  /** Whether its line numbers only rise, so that a number names one line. Computed on demand. */
  numbersRise: boolean | undefined = undefined;
  #lines: NumberedLines | undefined;

  constructor(text: string, about: About, lines: NumberedLines | undefined) {
    this.text = text;
    this.about = about;
    this.#lines = lines;
  }

  /** Read only when a search meets them: most texts have no lines of another. */
  get lines(): NumberedLines {
    this.#lines ??= new NumberedLines(this.text, isMarker);
    return this.#lines;
  }
}

/** The lines that a block may have, and the upper bound of the numbers of texts above it. */
interface Search {
  readonly from: number;
  readonly end: number;
  readonly below: number;
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly line: string;
}

/**
 * The texts that the model can see, as they were sent: results, and string arguments of its own calls. Each has its number
 * in the conversation; a higher number is newer. Short texts belong here too: references count those of the same name.
 */
export class VisibleLines {
  readonly #texts = new Map<number, VisibleText>();
  /** The names of all texts, also of those that are no longer visible. */
  readonly #names = new TextNames();
  readonly #index = new LineIndex();
  /** The visible texts that the next search adds to the index. */
  readonly #unindexed = new Map<number, string>();
  #chars = 0;
  /** The lines of the last result, original and cleaned: one of them is usually added next. */
  #lastShaped: NumberedLines[] = [];
  readonly #isThere: (id: number) => boolean;

  /** `isThere` may exclude texts that a request leaves out, as long as that can be undone. */
  constructor(isThere: (id: number) => boolean = () => true) {
    this.#isThere = isThere;
  }

  /** Adds the next text as it was sent. */
  add(id: number, text: string, about: About): void {
    this.#names.add(id, about);
    this.#show(id, text, about);
  }

  /** Updates a text that was masked or cut. References still count it, as the model does. */
  change(id: number, text: string): void {
    const about = this.#names.about(id);
    this.hide(id);
    if (about) this.#show(id, text, about);
  }

  /** Forgets the lines of a text. */
  hide(id: number): void {
    const known = this.#texts.get(id);
    if (!known) return;
    this.#texts.delete(id);
    if (!this.#unindexed.delete(id)) this.#index.remove(id);
    this.#chars -= known.text.length;
  }

  /** Forgets a text that was left out. */
  remove(id: number): void {
    this.hide(id);
    this.#names.remove(id);
  }

  /** The name of a text. */
  about(id: number): About | undefined {
    return this.#names.about(id);
  }

  /** The text that a reference is about, in the text with the number `below` or in the next one. */
  find(reference: Reference, below: number = Number.POSITIVE_INFINITY): number | undefined {
    const named = this.#names.likeTarget(reference);
    let { newer } = reference;
    for (let i = named.length - 1; i >= 0; i--) {
      const id = named[i] as number;
      if (id < below && this.#isThere(id) && newer-- === 0) return id;
    }
    return undefined;
  }

  /**
   * A result with references to texts above it. Undefined if they would not pay, or if it already has references. `below` is its number,
   * if it has one.
   */
  shape(text: string, tokens: number = text.length / 4, below: number = Number.POSITIVE_INFINITY): string | undefined {
    const lines = tokens <= LEAST_TOKENS ? undefined : this.#linesOf(text);
    if (!lines) return undefined;
    const leastSize = LEAST_SHARE * text.length;
    if (!this.#mayHaveBlocks(lines, leastSize) || !this.#hasBlocks(lines, below, leastSize)) return undefined;
    return this.#withReferences(lines, below);
  }

  /** The same for a result that once had references: texts that were part of its share may be masked since. */
  shapeAgain(text: string): string | undefined {
    const lines = this.#linesOf(text);
    return lines && this.#withReferences(lines, Number.POSITIVE_INFINITY);
  }

  /** The lines of a result. Undefined if it is too long, or already has references. */
  #linesOf(text: string): NumberedLines | undefined {
    if (text.length > arrivalLimits.visibleChars) return undefined;
    this.#indexTexts();
    const lines = this.#knownLines(text) ?? new NumberedLines(text, isMarker);
    this.#lastShaped = [...this.#lastShaped.slice(-1), lines];
    return lines.leftOut.some((line) => readReference(lines.slice(line, line + 1))) ? undefined : lines;
  }

  #withReferences(lines: NumberedLines, below: number): string | undefined {
    const blocks = this.#findBlocks(lines, below);
    return blocks.length === 0 ? undefined : writeShaped(lines, blocks);
  }

  #show(id: number, text: string, about: About): void {
    if (text.length < LEAST_BLOCK || text.length > arrivalLimits.visibleChars) return;
    const known = this.#knownLines(text);
    this.#lastShaped = [];
    if (known) this.#index.add(id, known);
    else this.#unindexed.set(id, text);
    this.#texts.set(id, new VisibleText(text, about, known?.release()));
    this.#chars += text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#chars <= arrivalLimits.visibleChars) break;
      this.hide(oldest);
    }
  }

  #knownLines(text: string): NumberedLines | undefined {
    return this.#lastShaped.find((last) => last.text === text);
  }

  #indexTexts(): void {
    for (const [id, text] of this.#unindexed) {
      const lines = new NumberedLines(text, isMarker);
      this.#index.add(id, lines);
      lines.release();
    }
    this.#unindexed.clear();
  }

  /** Whether blocks may have this size in all, by the index alone: their lines are in stretches of lines that it may have. */
  #mayHaveBlocks(lines: NumberedLines, leastSize: number): boolean {
    const index = this.#index;
    let size = 0;
    let end = 0;
    for (let line = index.nextLikely(lines, 0); line < lines.count; line = index.nextLikely(lines, end)) {
      end = index.endOfLikely(lines, line);
      const stretch = lines.sizeOf(line, end);
      if (stretch >= LEAST_BLOCK) size += stretch;
      if (size >= leastSize) return true;
      if (size + lines.sizeOf(end, lines.count) < leastSize) return false;
    }
    return false;
  }

  /** Whether the lines that are part of a block of some visible text have at least this size. */
  #hasBlocks(lines: NumberedLines, below: number, leastSize: number): boolean {
    const first = this.#index.nextLikely(lines, 0);
    if (first === lines.count) return false;
    let ends: Int32Array | undefined;
    /** The end of each run of equal lines that was followed, by its text and the distance between its lines. */
    const followed = new Map<number, number>();
    let [size, counted] = [0, 0];
    let left = MOST_COMPARED * lines.count;
    for (let line = first; left > 0; line = this.#index.nextLikely(lines, line + 1)) {
      if (size + lines.sizeOf(Math.max(line, counted), lines.count) < leastSize) return false;
      for (const place of this.#places(lines, line, below)) {
        const run = place.id * 2 ** 32 + place.line - line;
        if (left <= 0 || (followed.get(run) ?? 0) > line) continue;
        ends ??= endsOfStretches(lines);
        const { lines: target } = this.#texts.get(place.id) as VisibleText;
        if (!areNumbersKnown(lines, line, line + 1, target.prefix(place.line))) continue;
        const end = line + lines.countEqual({ from: line, to: ends[line] as number }, target, place.line);
        followed.set(run, end);
        left -= end - line;
        if (lines.sizeOf(line, end) < LEAST_BLOCK || end <= counted || !this.#canBeNamed(place, below)) continue;
        size += lines.sizeOf(Math.max(line, counted), end);
        counted = end;
        if (size >= leastSize) return true;
      }
    }
    return false;
  }

  #places(lines: NumberedLines, line: number, below: number): readonly Place[] {
    return this.#index.find(lines, line, (id) => id < below && this.#isThere(id));
  }

  /** Called last, because most texts never need a name. */
  #canBeNamed({ id }: Place, below: number): boolean {
    return this.#newer(id, below) <= MOST_NEWER;
  }

  #findBlocks(lines: NumberedLines, below: number): Block[] {
    const blocks: Block[] = [];
    let ends: Int32Array | undefined;
    for (let line = this.#index.nextLikely(lines, 0); line < lines.count; ) {
      ends ??= endsOfStretches(lines);
      const block = this.#longestBlock(
        lines,
        { from: line, end: ends[line] as number, below },
        this.#places(lines, line, below),
      );
      if (block) blocks.push(block);
      line = this.#index.nextLikely(lines, block ? block.to : line + 1);
    }
    return blocks;
  }

  /** The longest block from a line on that one of the places has; for equal lengths that of the first place. */
  #longestBlock(lines: NumberedLines, { from, end, below }: Search, places: readonly Place[]) {
    let longest = 0;
    let best: Place | undefined;
    for (const place of places) {
      const { lines: target } = this.#texts.get(place.id) as VisibleText;
      if (!areNumbersKnown(lines, from, from + 1, target.prefix(place.line))) continue;
      const length = lines.countEqual({ from, to: end }, target, place.line);
      if (length > longest && this.#canBeNamed(place, below)) [longest, best] = [length, place];
    }
    if (!best || lines.sizeOf(from, from + longest) < LEAST_BLOCK) return undefined;
    return this.#verified(lines, from, from + longest, best, below);
  }

  /** The block, if its reference restores exactly these lines: the target has them, and their numbers can be written again. */
  #verified(lines: NumberedLines, from: number, to: number, place: Place, below: number): Block | undefined {
    const target = this.#texts.get(place.id) as VisibleText;
    if (!areNumbersKnown(lines, from, to, target.lines.prefix(place.line))) return undefined;
    const { about } = target;
    const first = lines.isNumbered(from) ? lines.numberAt(from) : from + 1;
    const reference: Reference = {
      lines: { unit: lines.isNumbered(from) ? 'file' : 'output', from: first, to: first + to - from - 1 },
      kind: about.kind,
      label: labelOf(about),
      newer: this.#newer(place.id, below),
      targetLines: printedLines(target, place.line, to - from),
    };
    return { from, to, line: writeReference(reference) };
  }

  /** The number of newer texts above with the same name, up to one more than allowed. */
  #newer(id: number, below: number): number {
    const named = this.#names.likeText(id);
    let newer = 0;
    for (let i = named.length - 1; (named[i] as number) > id && newer <= MOST_NEWER; i--)
      if ((named[i] as number) < below && this.#isThere(named[i] as number)) newer += 1;
    return newer;
  }
}

/** For each line, the end of the block that may begin with it: lines without numbers, or with numbers that rise by one. */
function endsOfStretches(lines: NumberedLines): Int32Array {
  const ends = new Int32Array(lines.count);
  if (!lines.hasNumbers && lines.leftOut.length === 0) return ends.fill(lines.count);
  const kept = keptForMarkers(lines);
  for (let line = lines.count - 1; line >= 0; line--) {
    const isContinued = line + 1 < lines.count && lines.isContinued(line);
    const end = isContinued ? (ends[line + 1] as number) : line + 1;
    ends[line] = kept.has(line) ? line : end;
  }
  return ends;
}

/** Lines that a marker below them refers to. */
function keptForMarkers(lines: NumberedLines): ReadonlySet<number> {
  const kept = new Set<number>();
  for (const marker of lines.leftOut) {
    const first = Math.max(0, marker - linesSpokenOf(lines.slice(marker, marker + 1)));
    for (let line = first; line < marker; line++) kept.add(line);
  }
  return kept;
}

/**
 * Whether the numbers of a block can be restored: each is one more than the one above it, and all are written like the one above the
 * block or, if that has none, like the target's.
 */
function areNumbersKnown(lines: NumberedLines, from: number, to: number, targetPrefix: string): boolean {
  if (!lines.isNumbered(from)) return true;
  if (to === from + 1 && from > 0 && lines.isContinued(from - 1)) return true;
  const above = from === 0 ? '' : lines.prefix(from - 1);
  const numbering = new Numbering(above || targetPrefix);
  const first = lines.numberAt(from);
  for (let line = from; line < to; line++)
    if (lines.prefix(line) !== numbering.prefix(first + line - from)) return false;
  return true;
}

/** Names lines of a visible text by their printed numbers, if these are unique, otherwise by counting. */
function printedLines(target: VisibleText, first: number, count: number): Reference['targetLines'] {
  const { lines, about } = target;
  const isNumbered = about.kind === 'result' && isNumberedBlock(lines, first, count);
  if (isNumbered) target.numbersRise ??= numbersRise(lines);
  const isByNumber = isNumbered && target.numbersRise === true;
  const from = isByNumber ? lines.numberAt(first) : first + 1;
  return { unit: isByNumber ? numberedUnit : countedUnit(about), from, to: from + count - 1 };
}

function isNumberedBlock(lines: NumberedLines, first: number, count: number): boolean {
  if (!lines.isNumbered(first)) return false;
  const number = lines.numberAt(first);
  for (let i = 1; i < count; i++)
    if (!lines.isNumbered(first + i) || lines.numberAt(first + i) !== number + i) return false;
  return true;
}

function writeShaped(lines: NumberedLines, blocks: readonly Block[]): string {
  const parts: string[] = [];
  let next = 0;
  for (const { from, to, line } of blocks) {
    if (from > next) parts.push(lines.slice(next, from));
    parts.push(line);
    next = to;
  }
  if (next < lines.count) parts.push(lines.slice(next, lines.count));
  return `${parts.join('\n')}${lines.text.endsWith('\n') ? '\n' : ''}`;
}
