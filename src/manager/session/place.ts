/** The place of a line in a file, its newline included. In a database, `offset` is the number of the event. */
export interface Place {
  readonly offset: number;
  readonly bytes: number;
}
