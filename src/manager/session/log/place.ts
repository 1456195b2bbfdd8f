/** The position of an event's line. */
export interface Place {
  /** On disk, the byte where the line begins. In a database, the number of the event. */
  readonly offset: number;
  /** The length of the line. On disk, this includes the newline. */
  readonly bytes: number;
}
