/** Counts the tokens of a text. */
export type Counter = (text: string) => number;
