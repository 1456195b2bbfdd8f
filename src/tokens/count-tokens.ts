/**
 * Estimates o200k tokens with a weighted automaton: one table look-up per UTF-16 unit.
 * Its states follow o200k's own splitting pattern (words, capital humps, groups of three digits,
 * runs of punctuation, blanks). A weight is the chance, in hundredths, that a token starts at
 * that character. No weight is negative, so appending text never lowers the count.
 */
export function countTokens(text: string): number {
  const length = text.length;
  if (length === 0) return 0;
  let hundredths = 0;
  let row = 0;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    const column = code < 128 ? (asciiClass[code] as number) : (wideClass[code >> 6] as number);
    const entry = table[row + column] as number;
    row = entry & ROW_MASK;
    hundredths += entry >> ROW_BITS;
  }
  return Math.max(1, Math.ceil(hundredths / 100));
}

const ROW_BITS = 14;
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
const BOX = 13;
const ACCENTED = 14;
const CYRILLIC = 15;
const ARABIC = 16; // and Devanagari
const GREEK = 17; // and Hebrew, Georgian, other Indic scripts
const RARE = 18; // Thai and every other alphabet
const HANGUL = 19;
const HAN = 20;
const KANA = 21;
const HIGH_SURROGATE = 22;
const LOW_SURROGATE = 23;
const CLASS_COUNT = 24;

type Place =
  | { readonly kind: 'line' | 'space' | 'spaces' | 'tab' | 'tabs' | 'alphabet' | 'ideograph' | 'symbol' | 'box' }
  | { readonly kind: 'word'; readonly size: number; readonly consonants: number; readonly style: number }
  | { readonly kind: 'capitals'; readonly letters: number; readonly style: number }
  | { readonly kind: 'digits'; readonly digits: number; readonly style: number }
  | { readonly kind: 'marks'; readonly marks: number; readonly last: number; readonly afterBlank: boolean };

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

const asciiClass = buildAsciiClasses();
const wideClass = buildWideClasses();
const table = buildTable();

function buildAsciiClasses(): Uint8Array {
  const classes = new Uint8Array(128).fill(MARK);
  classes.fill(SYMBOL, 0, 32);
  classes.fill(DIGIT, 48, 58);
  classes.fill(CAPITAL, 65, 91);
  classes.fill(CONSONANT, 97, 123);
  assign(classes, 'aeiouy', VOWEL);
  assign(classes, ' ', SPACE);
  assign(classes, '\t', TAB);
  assign(classes, '\r\n', NEWLINE);
  assign(classes, '-_.=#', LINE_JOINER);
  assign(classes, "(/'$[,\\", JOINER);
  assign(classes, '*~+', LINE_MARK);
  assign(classes, '{}<>;|&', CODE_MARK);
  return classes;
}

function assign(classes: Uint8Array, characters: string, value: number): void {
  for (const character of characters) classes[character.charCodeAt(0)] = value;
}

/** One class per block of 64 code units. */
function buildWideClasses(): Uint8Array {
  const starts: ReadonlyArray<readonly [number, number]> = [
    [0x0080, SYMBOL],
    [0x00c0, ACCENTED],
    [0x0380, GREEK],
    [0x0400, CYRILLIC],
    [0x0540, RARE],
    [0x0580, GREEK],
    [0x0600, ARABIC],
    [0x0780, RARE],
    [0x0900, ARABIC],
    [0x0980, GREEK],
    [0x0e00, RARE],
    [0x1080, GREEK],
    [0x1100, HANGUL],
    [0x1200, RARE],
    [0x1e00, ACCENTED],
    [0x1f00, GREEK],
    [0x2000, SYMBOL],
    [0x2500, BOX],
    [0x25c0, SYMBOL],
    [0x2e80, HAN],
    [0x3000, SYMBOL],
    [0x3040, KANA],
    [0x3100, HAN],
    [0xa000, RARE],
    [0xac00, HANGUL],
    [0xd800, HIGH_SURROGATE],
    [0xdc00, LOW_SURROGATE],
    [0xe000, SYMBOL],
    [0xf900, HAN],
    [0xfb00, ARABIC],
    [0xfe00, SYMBOL],
    [0xfe40, ARABIC],
    [0xff00, SYMBOL],
  ];
  const classes = new Uint8Array(1024);
  for (const [start, value] of starts) classes.fill(value, start >> 6);
  return classes;
}

/** Two rows per place: one for ordinary text, one for foreign text (see `isForeign`). */
function buildTable(): Int32Array {
  const places: Place[] = [START];
  const numbers = new Map<string, number>([[keyOf(START), 0]]);
  const entries: number[] = [];
  for (let number = 0; number < places.length; number++) {
    for (let column = 0; column < CLASS_COUNT; column++) {
      const place = places[number] as Place;
      const ordinary = step(place, column, false);
      const key = keyOf(ordinary.next);
      const next = 2 * (numbers.get(key) ?? places.push(ordinary.next) - 1);
      numbers.set(key, next / 2);
      const cell = 2 * number * CLASS_COUNT + column;
      entries[cell] = pack(ordinary.weight, column === ACCENTED ? next + 1 : next);
      entries[cell + CLASS_COUNT] = pack(step(place, column, true).weight, isForeign(place, column) ? next + 1 : next);
    }
  }
  return Int32Array.from(entries);
}

function keyOf(place: Place): string {
  return Object.values(place).join();
}

function pack(weight: number, row: number): number {
  return (weight << ROW_BITS) | (row * CLASS_COUNT);
}

/** Foreign text begins at an accented letter and lasts until a mark of code or a blank line; its words are split more often. */
function isForeign(place: Place, column: number): boolean {
  return column !== CODE_MARK && !(column === NEWLINE && place.kind === 'line');
}

function step(place: Place, column: number, foreign: boolean): Step {
  if (column <= CONSONANT || column === ACCENTED) return stepLowerCase(place, column, foreign);
  if (column === CAPITAL) return stepCapital(place);
  if (column === DIGIT) return stepDigit(place);
  if (column <= NEWLINE) return stepBlank(place, column);
  if (column <= MARK) return stepMark(place, column);
  return stepWide(place, column);
}

function stepLowerCase(place: Place, column: number, foreign: boolean): Step {
  const consonant = column === CONSONANT ? 1 : 0;
  if (place.kind === 'word') {
    const consonants = consonant * (place.consonants + 1);
    const next = longerWord(place.size + (place.size < 3 || column === VOWEL ? 1 : 0), consonants, place.style);
    return { weight: column === ACCENTED ? 40 : letterWeight(place.style, consonants, foreign), next };
  }
  if (place.kind === 'capitals') {
    const hump = place.letters === 1;
    const next = word(2, consonant + 1, hump ? place.style : suspect(place.style));
    return { weight: afterCapitalsWeight(hump, place.style, foreign), next };
  }
  return { weight: wordStartWeight(place), next: word(1, consonant, styleAfter(place)) };
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

function stepWide(place: Place, column: number): Step {
  switch (column) {
    case HAN:
    case KANA:
      return { weight: ideographWeight(place, column), next: { kind: 'ideograph' } };
    case BOX:
      return { weight: place.kind === 'box' ? 25 : 100, next: { kind: 'box' } };
    case SYMBOL:
    case HIGH_SURROGATE:
      return { weight: 100, next: { kind: 'symbol' } };
    case LOW_SURROGATE:
      return { weight: 110, next: { kind: 'symbol' } }; // a pair costs 2.1: common emoji one token, rare ones two or three
    default:
      return { weight: place.kind === 'alphabet' ? alphabetWeight(column) : 100, next: { kind: 'alphabet' } };
  }
}

/** Common words of two or three characters are one token. */
function ideographWeight(place: Place, column: number): number {
  if (place.kind !== 'ideograph' && place.kind !== 'symbol') return 105;
  return column === HAN ? 75 : 60;
}

function alphabetWeight(column: number): number {
  switch (column) {
    case CYRILLIC:
      return 16;
    case ARABIC:
      return 22;
    case GREEK:
      return 30;
    case HANGUL:
      return 55;
    default:
      return 40;
  }
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
