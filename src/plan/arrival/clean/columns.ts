/** The columns that a line takes on a terminal. */
export function columnsOf(text: string): number {
  if (!MAY_DIFFER.test(text)) return text.length;
  let columns = 0;
  // Counts UTF-16 units: a character beyond the first plane has two, and mostly two columns.
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === TAB) columns += 8 - (columns % 8);
    else columns += code < 0x300 ? 1 : columnsOfUnit(text.charAt(i));
  }
  return columns;
}

function columnsOfUnit(unit: string): number {
  if (NO_COLUMN.test(unit)) return 0;
  return WIDE.test(unit) ? 2 : 1;
}

const TAB = 9;
// Single units are looked for, so no character can combine with its neighbour in a class.
/* biome-ignore-start lint/suspicious/noMisleadingCharacterClass: see above */
const MAY_DIFFER = /[\t\u0300-\uffff]/;
const NO_COLUMN = /[\p{M}\u200b-\u200f\ufe00-\ufe0f\ufeff]/u;
/* biome-ignore-end lint/suspicious/noMisleadingCharacterClass: see above */
/** Hangul, Chinese and Japanese characters and their punctuation. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/;
