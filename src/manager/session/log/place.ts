/** The position of a line in a file, newline included. */
export interface Place {
  readonly offset: number;
  readonly bytes: number;
}
