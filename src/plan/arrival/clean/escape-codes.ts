/**
 * Strips the escape codes of terminals: colours, cursor movement, titles, links. An ESC without a code is removed too, so that the rest can
 * never join to form a new code.
 */
export function stripEscapeCodes(text: string): string {
  return text.includes('\u001b') ? text.replace(ESCAPE_CODE, '') : text;
}

/**
 * In this order (ECMA-48): a string with its terminator (OSC, DCS, SOS, PM, APC), a control sequence (CSI), any other code,
 * a lone ESC. A string ends on its line and before the next ESC, so a missing terminator swallows no output.
 */
const ESCAPE_CODE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
  /\u001b(?:[\]PX^_][^\u0007\u001b\u009c\r\n]*(?:\u0007|\u001b\\|\u009c)|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]|)/g;
