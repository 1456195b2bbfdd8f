import { arrivalLimits } from '../../limits.ts';
import { LineIndex, type Place } from './line-index.ts';
import { isMarker, linesSpokenOf } from './markers.ts';
import { NumberedLines, Numbering } from './numbered-lines.ts';
import { type About, countedUnit, labelOf, type Reference, readReference, writeReference } from './reference-line.ts';
import { numberedUnit, numbersRise } from './resolve-references.ts';

/** A smaller result is not worth a search. */
const LEAST_TOKENS = 80;
/** A block is replaced if it has at least so many characters. */
const LEAST_BLOCK = 240;
/** A reference line is counted as so many characters. */
const REFERENCE_CHARS = 100;
/** A result is shaped if at least this share of it is saved. */
const LEAST_SHARE = 0.25;

/** A result with references in place of lines that the model can still see. */
export interface Shaped {
  readonly text: string;
  /** The numbers of the texts that the references name. They must stay visible as long as this result. */
  readonly targets: readonly number[];
}

/** A text that is shorter than a block is counted, but not searched. */
const NO_LINES = new NumberedLines('');

interface VisibleText {
  readonly lines: NumberedLines;
  readonly chars: number;
  readonly about: About;
  readonly label: string;
  /** Texts with the same name are told apart by their order. */
  readonly name: string;
  /** Whether its line numbers only rise, so that a number names one line. Worked out when it is first asked for. */
  numbersRise?: boolean;
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly line: string;
  readonly target: number;
}

/**
 * The texts that the model can see, as they were sent: results, and string arguments of its own calls. Each has its number
 * in the conversation; a higher number is newer. Short texts belong here too: references count those of the same name.
 */
export class VisibleLines {
  readonly #texts = new Map<number, VisibleText>();
  /** The numbers of the texts of each name, in rising order. */
  readonly #named = new Map<string, number[]>();
  readonly #index = new LineIndex();
  readonly #labels = new Labels();
  #chars = 0;
  /** The result that was shaped last is mostly the next to be added. */
  #lastShaped: NumberedLines | undefined;

  /** Adds a text as it was sent. It replaces one with the same number. */
  add(id: number, text: string, about: About): void {
    this.remove(id);
    if (text.length > arrivalLimits.visibleChars) return;
    const lines = text.length < LEAST_BLOCK ? NO_LINES : this.#linesOf(text);
    const label = this.#labels.of(about);
    const name = `${about.kind} ${label} ${countedUnit(about)}`;
    this.#texts.set(id, { lines, chars: text.length, about, label, name });
    this.#nameIt(name, id);
    this.#index.add(id, lines);
    this.#chars += text.length;
    if (this.#chars > arrivalLimits.visibleChars) this.#removeOldest();
  }

  /** Forgets a text that was masked or left out. */
  remove(id: number): void {
    const known = this.#texts.get(id);
    if (!known) return;
    this.#texts.delete(id);
    const named = this.#named.get(known.name) ?? [];
    named.splice(countBelow(named, id), 1);
    if (named.length === 0) this.#named.delete(known.name);
    this.#index.remove(id);
    this.#chars -= known.chars;
  }

  /** A new result with references, or undefined where they would not pay or it has references already. */
  shape(text: string, tokens: number = text.length / 4): Shaped | undefined {
    if (tokens <= LEAST_TOKENS || text.length > arrivalLimits.visibleChars) return undefined;
    const lines = this.#linesOf(text);
    this.#lastShaped = lines;
    if (lines.leftOut.some((line) => readReference(lines.slice(line, line + 1)))) return undefined;
    const blocks = this.#findBlocks(lines);
    const saved = blocks.reduce((sum, { from, to }) => sum + lines.sizeOf(from, to) - REFERENCE_CHARS, 0);
    if (blocks.length === 0 || saved < LEAST_SHARE * text.length) return undefined;
    return { text: writeShaped(lines, blocks), targets: [...new Set(blocks.map(({ target }) => target))] };
  }

  #removeOldest(): void {
    for (const oldest of this.#texts.keys()) {
      this.remove(oldest);
      if (this.#chars <= arrivalLimits.visibleChars) break;
    }
  }

  #nameIt(name: string, id: number): void {
    const named = this.#named.get(name);
    if (!named) this.#named.set(name, [id]);
    else if ((named.at(-1) as number) < id) named.push(id);
    else named.splice(countBelow(named, id), 0, id);
  }

  #linesOf(text: string): NumberedLines {
    const last = this.#lastShaped;
    this.#lastShaped = undefined;
    return last?.text === text ? last : new NumberedLines(text, isMarker);
  }

  #findBlocks(lines: NumberedLines): Block[] {
    const blocks: Block[] = [];
    let ends: Int32Array | undefined;
    for (let line = this.#index.nextLikely(lines, 0); line < lines.count; ) {
      ends ??= endsOfStretches(lines);
      const block = this.#longestBlock(lines, line, ends[line] as number, this.#index.find(lines, line));
      if (block) blocks.push(block);
      line = this.#index.nextLikely(lines, block ? block.to : line + 1);
    }
    return blocks;
  }

  /** The longest block from a line on that one of the places has; of equally long ones that of the first place. */
  #longestBlock(lines: NumberedLines, from: number, end: number, places: readonly Place[]) {
    let longest = 0;
    let best: Place | undefined;
    for (const place of places) {
      const { lines: target } = this.#texts.get(place.id) as VisibleText;
      if (!areNumbersKnown(lines, from, from + 1, target.prefix(place.line))) continue;
      const length = lines.countEqual({ from, to: end }, target, place.line);
      if (length > longest) [longest, best] = [length, place];
    }
    if (!best || lines.sizeOf(from, from + longest) < LEAST_BLOCK) return undefined;
    return this.#verified(lines, from, from + longest, best);
  }

  /** The block, if its reference gives back the very lines: the target has them, and their numbers can be written again. */
  #verified(lines: NumberedLines, from: number, to: number, place: Place): Block | undefined {
    const target = this.#texts.get(place.id) as VisibleText;
    if (!areNumbersKnown(lines, from, to, target.lines.prefix(place.line))) return undefined;
    const { about, label, name } = target;
    const named = this.#named.get(name) ?? [];
    const first = lines.isNumbered(from) ? lines.numberAt(from) : from + 1;
    const reference: Reference = {
      lines: { unit: lines.isNumbered(from) ? 'file' : 'output', from: first, to: first + to - from - 1 },
      kind: about.kind,
      label,
      newer: named.length - 1 - countBelow(named, place.id),
      targetLines: printedLines(target, place.line, to - from),
      target: place.id,
    };
    return { from, to, line: writeReference(reference), target: place.id };
  }
}

/** For each line, the end of the block that may begin with it: lines without numbers, or with numbers that rise by one. */
function endsOfStretches(lines: NumberedLines): Int32Array {
  const kept = keptForMarkers(lines);
  const ends = new Int32Array(lines.count);
  for (let line = lines.count - 1; line >= 0; line--) {
    const isContinued = line + 1 < lines.count && lines.isContinued(line);
    const end = isContinued ? (ends[line + 1] as number) : line + 1;
    ends[line] = kept.has(line) ? line : end;
  }
  return ends;
}

/** Lines that a marker below them speaks of as those above it. */
function keptForMarkers(lines: NumberedLines): ReadonlySet<number> {
  const kept = new Set<number>();
  for (const marker of lines.leftOut) {
    const first = Math.max(0, marker - linesSpokenOf(lines.slice(marker, marker + 1)));
    for (let line = first; line < marker; line++) kept.add(line);
  }
  return kept;
}

/**
 * Whether the numbers of a block can be given back: each is one more than that above it, and all are written like the one
 * above the block or, where that has none, like that of the target.
 */
function areNumbersKnown(lines: NumberedLines, from: number, to: number, targetPrefix: string): boolean {
  if (!lines.isNumbered(from)) return true;
  const above = from === 0 ? '' : lines.prefix(from - 1);
  const numbering = new Numbering(above || targetPrefix);
  const first = lines.numberAt(from);
  for (let line = from; line < to; line++)
    if (lines.prefix(line) !== numbering.prefix(first + line - from)) return false;
  return true;
}

/** How many of the first numbers of a rising list are below this one. */
function countBelow(rising: readonly number[], id: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] as number) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

const MOST_LABELS = 64;
/** Labels without the name of a tool. They differ between calls and results. */
const OF_ITS_KIND = /^(?:a tool|result)/;

/** The labels that were made last: the arguments of a call and its result have the same one. */
class Labels {
  readonly #bySubject = new Map<string, { readonly about: About; readonly label: string }>();

  of(about: About): string {
    const subject = about.subject ?? '';
    const known = this.#bySubject.get(subject);
    const isSame = known?.about.tool === about.tool;
    if (known && isSame && (known.about.kind === about.kind || !OF_ITS_KIND.test(known.label))) return known.label;
    if (this.#bySubject.size === MOST_LABELS) this.#bySubject.clear();
    const label = labelOf(about);
    this.#bySubject.set(subject, { about, label });
    return label;
  }
}

/** Names lines of a visible text by the numbers that are printed there, if these name them, or else by counting. */
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
