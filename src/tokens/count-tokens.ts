import { utf8Bytes as bytes, encodeUtf8 } from './utf8.ts';

/**
 * Estimates o200k tokens with a weighted automaton: one table look-up per UTF-16 unit.
 * Its states follow o200k's own splitting pattern (words, capital humps, groups of three digits,
 * runs of punctuation, blanks). A weight is the chance, in hundredths, that a token starts at
 * that character. No weight is negative, so appending text never lowers the count.
 *
 * @example
 * ```ts
 * import { countTokens } from 'palimpsest/tokens';
 *
 * console.log(countTokens('An estimate of the tokens of this text.'));
 * ```
 */
export function countTokens(text: string): number {
  if (text === '') return 0;
  const hundredths = (text.length < LONG ? undefined : weighAscii(text)) ?? weigh(text);
  return Math.max(1, Math.ceil(hundredths / 100));
}

function weigh(text: string): number {
  let hundredths = 0;
  let row = 0;
  for (let index = 0; index < text.length; index++) {
    const entry = table[row + (classes[text.charCodeAt(index)] as number)] as number;
    row = entry & ROW_MASK;
    hundredths += entry >> ROW_BITS;
  }
  return hundredths;
}

/** A shorter text is not worth cutting into parts. */
const LONG = 512;

/**
 * The same for a text in ASCII, in half the time. Each step waits for the one before it, so four parts of the text are counted at the
 * same time. After a newline, ASCII is counted as at the start of a text. Undefined for other and for longer texts.
 */
function weighAscii(text: string): number | undefined {
  const end = text.length;
  if (encodeUtf8(text) !== end) return undefined;
  const b = behindNewline(text, end >> 2);
  const c = behindNewline(text, Math.max(b, end >> 1));
  const d = behindNewline(text, Math.max(c, end - (end >> 2)));
  const steps = Math.min(b, c - b, d - c, end - d);
  let hundredths = 0;
  let [rowA, rowB, rowC, rowD] = [0, 0, 0, 0];
  for (let i = 0; i < steps; i++) {
    const entryA = asciiTable[rowA + (bytes[i] as number)] as number;
    const entryB = asciiTable[rowB + (bytes[b + i] as number)] as number;
    const entryC = asciiTable[rowC + (bytes[c + i] as number)] as number;
    const entryD = asciiTable[rowD + (bytes[d + i] as number)] as number;
    rowA = entryA & ROW_MASK;
    rowB = entryB & ROW_MASK;
    rowC = entryC & ROW_MASK;
    rowD = entryD & ROW_MASK;
    hundredths += (entryA >> ROW_BITS) + (entryB >> ROW_BITS) + (entryC >> ROW_BITS) + (entryD >> ROW_BITS);
  }
  hundredths += weighBytes(steps, b, rowA) + weighBytes(b + steps, c, rowB);
  return hundredths + weighBytes(c + steps, d, rowC) + weighBytes(d + steps, end, rowD);
}

/** The first position after a newline from here on; the end of the text if there is none. */
function behindNewline(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline < 0 ? text.length : newline + 1;
}

/** Weighs a part of the text that is being counted, from a row of the table on. */
function weighBytes(from: number, to: number, start: number): number {
  let hundredths = 0;
  let row = start;
  for (let i = from; i < to; i++) {
    const entry = asciiTable[row + (bytes[i] as number)] as number;
    row = entry & ROW_MASK;
    hundredths += entry >> ROW_BITS;
  }
  return hundredths;
}

const ROW_BITS = 15;
const ROW_MASK = (1 << ROW_BITS) - 1;

// Classes of characters.
const VOWEL = 0;
const CONSONANT = 1;
const CAPITAL = 2;
const DIGIT = 3;
const SPACE = 4;
const TAB = 5;
const NEWLINE = 6;
const LINE_JOINER = 7; // - _ . = #   joins the next word and is drawn as rulers
const JOINER = 8; // ( / ' $ [ , \   joins the next word: "(x", "/usr", "'s"
const LINE_MARK = 9; // * ~ +
const CODE_MARK = 10; // { } < > ; | &
const MARK = 11; // all other ASCII punctuation
const SYMBOL = 12; // arrows, dashes, CJK punctuation, control characters, ...
const FULLWIDTH = 13; // the commas and brackets of Chinese: common words take one along
const BOX = 14;
const COMBINING = 15; // accents, Arabic and Hebrew vowel points
const ACCENTED = 16;
const VIETNAMESE = 17;
const CYRILLIC = 18; // the letters of Russian
const CYRILLIC_OTHER = 19; // letters that Russian does not have: Ukrainian, Serbian, ...
const ARABIC = 20; // and Armenian
const DEVANAGARI = 21;
const GREEK = 22; // and Georgian, other Indic scripts
const HEBREW = 23;
const THAI = 24;
const KHMER = 25; // and Burmese
const RARE = 26; // scripts without words in the vocabulary: Lao, Tibetan, Ethiopic, ...: two tokens a letter
const HANGUL = 27;
const HAN = 28;
const HAN_SIMPLIFIED = 29; // forms that traditional Chinese does not have
const HIRAGANA = 30;
const KATAKANA = 31;
const HIGH_SURROGATE = 32;
const LOW_SURROGATE = 33;
const CLASS_COUNT = 34;
const ASCII_COUNT = 128;

const ALPHABET = -1; // the script of all letters but Han and kana

type Place =
  | { readonly kind: 'line' | 'space' | 'spaces' | 'tab' | 'tabs' | 'symbol' | 'fullwidth' | 'box' }
  | { readonly kind: 'letters'; readonly script: number; readonly letters: number }
  | { readonly kind: 'word'; readonly size: number; readonly consonants: number; readonly style: number }
  | { readonly kind: 'capitals'; readonly letters: number; readonly style: number }
  | { readonly kind: 'digits'; readonly digits: number; readonly style: number }
  | { readonly kind: 'marks'; readonly marks: number; readonly last: number; readonly afterBlank: boolean };

/** First unit of each class; a class lasts until the next one. */
const CLASS_STARTS: ReadonlyArray<readonly [number, number]> = [
  [0x0000, SYMBOL],
  [0x0020, SPACE],
  [0x0021, MARK],
  [0x0030, DIGIT],
  [0x003a, MARK],
  [0x0041, CAPITAL],
  [0x005b, MARK],
  [0x0061, CONSONANT],
  [0x007b, MARK],
  [0x0080, SYMBOL],
  [0x00c0, ACCENTED],
  [0x0300, COMBINING],
  [0x0370, GREEK],
  [0x0400, CYRILLIC_OTHER],
  [0x0410, CYRILLIC],
  [0x0450, CYRILLIC_OTHER],
  [0x0530, ARABIC],
  [0x0591, COMBINING],
  [0x05d0, HEBREW],
  [0x0600, ARABIC],
  [0x064b, COMBINING],
  [0x0653, ARABIC],
  [0x0700, RARE],
  [0x0750, ARABIC],
  [0x0780, RARE],
  [0x0900, DEVANAGARI],
  [0x0980, GREEK],
  [0x0e00, THAI],
  [0x0e80, RARE],
  [0x1000, KHMER],
  [0x10a0, GREEK],
  [0x1100, RARE],
  [0x1780, KHMER],
  [0x1800, RARE],
  [0x1e00, ACCENTED],
  [0x1ea0, VIETNAMESE],
  [0x1f00, GREEK],
  [0x2000, SYMBOL],
  [0x2500, BOX],
  [0x25c0, SYMBOL],
  [0x2c00, RARE],
  [0x2e80, HAN],
  [0x3000, SYMBOL],
  [0x3040, HIRAGANA],
  [0x30a0, KATAKANA],
  [0x3100, RARE],
  [0x4e00, HAN],
  [0xa000, RARE],
  [0xac00, HANGUL],
  [0xd800, HIGH_SURROGATE],
  [0xdc00, LOW_SURROGATE],
  [0xe000, SYMBOL],
  [0xf900, HAN],
  [0xfb00, ARABIC],
  [0xfe00, SYMBOL],
  [0xfe40, ARABIC],
  [0xff00, FULLWIDTH],
  [0xff20, SYMBOL],
];

/** Unicode orders Han by radical. These radicals have a form that only simplified Chinese uses: 纟见讠贝车钅门页饣马鱼鸟. */
const SIMPLIFIED_RADICALS: ReadonlyArray<readonly [number, number]> = [
  [0x7e9f, 0x7f35],
  [0x89c1, 0x89d1],
  [0x8ba0, 0x8c36],
  [0x8d1d, 0x8d5c],
  [0x8f66, 0x8f9a],
  [0x9485, 0x9576],
  [0x957f, 0x957f],
  [0x95e8, 0x961b],
  [0x9875, 0x9893],
  [0x9963, 0x9995],
  [0x9a6c, 0x9aa7],
  [0x9c7c, 0x9ce4],
  [0x9e1f, 0x9e74],
];

const START: Place = { kind: 'line' };

interface Step {
  readonly weight: number;
  readonly next: Place;
}

// Styles of a run of letters and digits. Short humps and digits between letters are signs of a random id.
const PLAIN = 0;
const JOINED = 1; // begins right after punctuation: names and paths, rarer than words of prose
const SUSPECT = 2; // one sign
const RANDOM = 3; // two signs: letters cost as in base64

const LONGEST_WORD = 9; // about 18 letters; a longer unbroken run is no word

/** Weights of the first, second, third and every later letter of a run, read off the texts named in docs/sizes.md. */
const LETTER_WEIGHTS: Readonly<Record<number, readonly [number, number, number, number]>> = {
  [CYRILLIC]: [100, 12, 8, 17],
  [ARABIC]: [100, 12, 21, 23],
  [DEVANAGARI]: [100, 12, 17, 28],
  [GREEK]: [100, 30, 25, 34],
  [HEBREW]: [100, 27, 46, 26],
  [THAI]: [100, 26, 27, 41],
  [KHMER]: [105, 75, 35, 56],
  [RARE]: [200, 200, 200, 200],
  [HANGUL]: [103, 54, 76, 37],
  [HAN]: [104, 77, 94, 90],
  [HIRAGANA]: [100, 48, 58, 51],
  [KATAKANA]: [100, 58, 55, 46],
};
const CYRILLIC_FOREIGN = [100, 23, 12, 28];
const CYRILLIC_OTHER_WEIGHTS = [100, 34, 45, 56];
const HAN_FAMILIAR = [101, 60, 84, 72];

// Modes: signs in the text so far of how its words are split.
const ORDINARY = 0;
const FOREIGN = 1; // after an accented or Ukrainian letter, until a mark of code or a blank line: words are split more often
const FAMILIAR = 2; // after kana or simplified Han: Han is split less often than in traditional Chinese
const MODE_COUNT = 3;
// All other weights are the same in each mode.
const WEIGHED_BY_MODE = new Set([VOWEL, CONSONANT, ACCENTED, VIETNAMESE, CYRILLIC, HAN]);

const classes = buildClasses();
const table = buildTable();
const asciiTable = buildAsciiTable();

/** One class per UTF-16 unit. */
function buildClasses(): Uint8Array {
  const classes = new Uint8Array(65536);
  for (const [start, value] of CLASS_STARTS) classes.fill(value, start);
  assign(classes, 'aeiouy', VOWEL);
  assign(classes, '\t', TAB);
  assign(classes, '\r\n', NEWLINE);
  assign(classes, '-_.=#', LINE_JOINER);
  assign(classes, "(/'$[,\\", JOINER);
  assign(classes, '*~+', LINE_MARK);
  assign(classes, '{}<>;|&', CODE_MARK);
  assign(classes, 'ăđơưĂĐƠƯ', VIETNAMESE);
  assign(classes, 'ёЁ', CYRILLIC);
  for (const [first, last] of SIMPLIFIED_RADICALS) classes.fill(HAN_SIMPLIFIED, first, last + 1);
  assign(classes, '个们这为来时对会国发过动开关无务变数选应处当现从进点图标显条号机权类单写', HAN_SIMPLIFIED);
  return classes;
}

function assign(classes: Uint8Array, characters: string, value: number): void {
  for (const character of characters) classes[character.charCodeAt(0)] = value;
}

/** A row per place and mode. The next place is the same in each mode. */
function buildTable(): Int32Array {
  const places: Place[] = [START];
  const numbers = new Map([[keyOf(START), 0]]);
  const entries = new Int32Array(1 << ROW_BITS);
  for (let number = 0; number < places.length; number++) {
    const place = places[number] as Place;
    for (let column = 0; column < CLASS_COUNT; column++) {
      const ordinary = step(place, column, ORDINARY);
      const key = keyOf(ordinary.next);
      const nextNumber = numbers.get(key) ?? places.push(ordinary.next) - 1;
      numbers.set(key, nextNumber);
      for (let mode = ORDINARY; mode < MODE_COUNT; mode++) {
        const nextRow = nextNumber * MODE_COUNT + modeAfter(place, column, mode);
        const { weight } = WEIGHED_BY_MODE.has(column) ? step(place, column, mode) : ordinary;
        entries[(number * MODE_COUNT + mode) * CLASS_COUNT + column] = (weight << ROW_BITS) | (nextRow * CLASS_COUNT);
      }
    }
  }
  return entries;
}

/** The rows that ASCII reaches, with an entry for each byte: one look-up in place of two. */
function buildAsciiTable(): Int32Array {
  const numbers = new Map([[0, 0]]);
  const entries: number[] = [];
  // The loop also visits the rows that it adds.
  for (const row of numbers.keys())
    for (let byte = 0; byte < ASCII_COUNT; byte++) {
      const entry = table[row + (classes[byte] as number)] as number;
      const next = entry & ROW_MASK;
      const number = numbers.get(next) ?? numbers.size;
      numbers.set(next, number);
      entries.push((entry - next) | (number * ASCII_COUNT));
    }
  return Int32Array.from(entries);
}

function keyOf(place: Place): string {
  return Object.values(place).join();
}

function modeAfter(place: Place, column: number, mode: number): number {
  switch (column) {
    case ACCENTED:
    case CYRILLIC_OTHER:
      return FOREIGN;
    case HIRAGANA:
    case KATAKANA:
    case HAN_SIMPLIFIED:
      return FAMILIAR;
    case VIETNAMESE:
      return ORDINARY;
    case CODE_MARK:
      return mode === FOREIGN ? ORDINARY : mode;
    case NEWLINE:
      return mode === FOREIGN && place.kind === 'line' ? ORDINARY : mode;
    default:
      return mode;
  }
}

function step(place: Place, column: number, mode: number): Step {
  if (column <= CONSONANT || column === ACCENTED || column === VIETNAMESE) {
    return stepLowerCase(place, column, mode === FOREIGN);
  }
  if (column === CAPITAL) return stepCapital(place);
  if (column === DIGIT) return stepDigit(place);
  if (column <= NEWLINE) return stepBlank(place, column);
  if (column <= MARK) return stepMark(place, column);
  return stepWide(place, column, mode);
}

function stepLowerCase(place: Place, column: number, foreign: boolean): Step {
  const consonant = column === CONSONANT ? 1 : 0;
  if (place.kind === 'word') {
    const consonants = consonant * (place.consonants + 1);
    const next = longerWord(place.size + (place.size < 3 || column === VOWEL ? 1 : 0), consonants, place.style);
    return { weight: accentWeight(column) ?? letterWeight(place.style, consonants, foreign), next };
  }
  if (place.kind === 'capitals') {
    const hump = place.letters === 1;
    const next = word(2, consonant + 1, hump ? place.style : suspect(place.style));
    return { weight: afterCapitalsWeight(hump, place.style, foreign), next };
  }
  return { weight: wordStartWeight(place), next: word(1, consonant, styleAfter(place)) };
}

function accentWeight(column: number): number | undefined {
  if (column === ACCENTED) return 40;
  return column === VIETNAMESE ? 18 : undefined;
}

/** Words are mostly whole tokens; clusters of consonants (abbreviations, ids) are split. */
function letterWeight(style: number, consonants: number, foreign: boolean): number {
  const random = style === RANDOM;
  if (consonants >= 4) return random ? 50 : 24;
  if (consonants === 3) return random ? 41 : foreign || style !== PLAIN ? 14 : 9;
  if (random) return 20;
  if (foreign) return 8;
  return style === PLAIN ? 2 : 5;
}

/** "Xml" is mostly one token, "XMl" seldom. */
function afterCapitalsWeight(hump: boolean, style: number, foreign: boolean): number {
  if (style === RANDOM) return hump ? 45 : 75;
  if (!hump) return 35;
  return foreign ? 12 : 4;
}

function stepCapital(place: Place): Step {
  if (place.kind === 'capitals') {
    const random = place.style === RANDOM;
    const weight = place.letters === 1 ? (random ? 34 : 18) : random ? 55 : 13;
    return { weight, next: capitals(place.letters + 1, place.style) };
  }
  if (place.kind === 'word') {
    return { weight: 100, next: capitals(1, afterRun(place.size, place.style)) }; // o200k always splits at a hump
  }
  return { weight: wordStartWeight(place), next: capitals(1, styleAfter(place)) };
}

function stepDigit(place: Place): Step {
  if (place.kind === 'digits') {
    const full = place.digits === 3;
    return { weight: full ? 100 : 0, next: { ...place, digits: full ? 1 : place.digits + 1 } };
  }
  if (place.kind === 'word' || place.kind === 'capitals') {
    const size = place.kind === 'word' ? place.size : place.letters;
    const style = suspect(afterRun(size, place.style));
    return { weight: 100, next: { kind: 'digits', digits: 1, style } };
  }
  const blank = place.kind === 'space' || place.kind === 'spaces';
  return { weight: blank ? 200 : 100, next: { kind: 'digits', digits: 1, style: SUSPECT } }; // digits never take the space along
}

function stepBlank(place: Place, column: number): Step {
  if (column === NEWLINE) return { weight: newlineWeight(place), next: { kind: 'line' } };
  if (column === TAB) {
    if (place.kind === 'tabs') return { weight: 4, next: place };
    return { weight: 100, next: { kind: place.kind === 'tab' ? 'tabs' : 'tab' } };
  }
  if (place.kind === 'spaces') return { weight: 1, next: place };
  if (place.kind === 'space') return { weight: 100, next: { kind: 'spaces' } };
  return { weight: 0, next: { kind: 'space' } }; // the next word takes a single space along
}

/** Punctuation takes the newlines after it along, and so do blanks. */
function newlineWeight(place: Place): number {
  switch (place.kind) {
    case 'line':
      return 3;
    case 'marks':
    case 'symbol':
    case 'fullwidth':
    case 'box':
    case 'spaces':
    case 'tab':
    case 'tabs':
      return 1;
    default:
      return 100;
  }
}

function stepMark(place: Place, column: number): Step {
  if (place.kind !== 'marks') {
    const afterBlank = place.kind === 'space' || place.kind === 'spaces';
    return { weight: 100, next: { kind: 'marks', marks: 1, last: column, afterBlank } };
  }
  const ruler = column === place.last && (column === LINE_JOINER || column === LINE_MARK);
  const next: Place = { kind: 'marks', marks: Math.min(place.marks + 1, 6), last: column, afterBlank: false };
  return { weight: ruler ? 2 : mixedMarkWeight(place.marks), next };
}

/** Pairs are tokens, and so are many short runs of code such as `"},{"`; long mixtures are noise. */
function mixedMarkWeight(marksBefore: number): number {
  if (marksBefore === 1) return 5;
  return marksBefore < 6 ? 20 : 50;
}

function stepWide(place: Place, column: number, mode: number): Step {
  switch (column) {
    case COMBINING:
      return { weight: 100, next: place };
    case BOX:
      return { weight: place.kind === 'box' ? 25 : 100, next: { kind: 'box' } };
    case FULLWIDTH:
      return { weight: 100, next: { kind: 'fullwidth' } };
    case SYMBOL:
    case HIGH_SURROGATE:
      return { weight: 100, next: { kind: 'symbol' } };
    case LOW_SURROGATE:
      return { weight: 110, next: { kind: 'symbol' } }; // a pair costs 2.1: common emoji one token, rare ones two or three
    default:
      return stepLetter(place, column, mode);
  }
}

function stepLetter(place: Place, column: number, mode: number): Step {
  const script = scriptOf(column);
  const before = place.kind === 'letters' && place.script === script ? place.letters : 0;
  const weights = letterWeights(column, mode);
  const weight = before === 0 ? firstLetterWeight(place, script, weights) : weights[before];
  return { weight: weight as number, next: { kind: 'letters', script, letters: Math.min(before + 1, 3) } };
}

/** Han and kana follow each other without a blank; a token ends where the script changes. */
function scriptOf(column: number): number {
  if (column < HAN) return ALPHABET;
  return column === HAN_SIMPLIFIED ? HAN : column;
}

function letterWeights(column: number, mode: number): readonly number[] {
  if (column === CYRILLIC_OTHER) return CYRILLIC_OTHER_WEIGHTS;
  if (column === HAN_SIMPLIFIED) return HAN_FAMILIAR;
  if (column === CYRILLIC && mode === FOREIGN) return CYRILLIC_FOREIGN;
  if (column === HAN && mode === FAMILIAR) return HAN_FAMILIAR;
  return LETTER_WEIGHTS[column] as readonly number[];
}

/** Few words of Chinese and Japanese take a space along, but many take a fullwidth mark. */
function firstLetterWeight(place: Place, script: number, weights: readonly number[]): number {
  const first = weights[0] as number;
  if (script === ALPHABET) return first;
  if (place.kind === 'space' || place.kind === 'spaces') return first + 28;
  if (place.kind === 'fullwidth') return 60;
  return place.kind === 'symbol' ? 93 : first;
}

/** A word takes one mark before it along, unless the mark already belongs to a blank or to other marks. */
function wordStartWeight(place: Place): number {
  if (place.kind === 'tab' || place.kind === 'tabs') return 12;
  if (place.kind === 'symbol') return 70;
  if (place.kind !== 'marks' || place.marks > 1 || place.afterBlank) return 100;
  if (place.last === LINE_JOINER) return 5; // ".word" and "_word" are tokens
  return place.last === JOINER ? 18 : 75; // "(word" mostly, ":word" seldom
}

/** The size of a word is its letters up to three, then one more for each vowel. */
function word(size: number, consonants: number, style: number): Place {
  return {
    kind: 'word',
    size: style === RANDOM ? Math.min(size, 3) : size,
    consonants: Math.min(consonants, 4),
    style,
  };
}

function longerWord(size: number, consonants: number, style: number): Place {
  return word(size, consonants, consonants > 4 || size > LONGEST_WORD ? RANDOM : style);
}

function capitals(letters: number, style: number): Place {
  return { kind: 'capitals', letters: Math.min(letters, 3), style };
}

function styleAfter(place: Place): number {
  if (place.kind === 'digits') return place.style;
  return place.kind === 'marks' ? JOINED : PLAIN;
}

function afterRun(size: number, style: number): number {
  return size <= 2 ? suspect(style) : style;
}

function suspect(style: number): number {
  return style >= SUSPECT ? RANDOM : SUSPECT;
}
