/** Where a line stands in a file, its newline included. */
export interface Place {
  readonly offset: number;
  readonly bytes: number;
}
