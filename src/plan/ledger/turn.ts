/** Nearly no turn is linked to another. */
const NONE: readonly Turn[] = [];

/** One turn that is sent: a row of the ledger. */
export class Turn {
  /** Its place among the turns that are sent. Turn 0 holds the messages before the first reply. */
  number: number;
  /** Its first message. */
  from: number;
  /** The message behind its last one. */
  to: number;
  tokens = 0;
  /** The size of its texts alone, in tokens: without framing, ids and names of results. */
  text = 0;
  chars = 0;
  openCalls = 0;
  hasUser = false;
  /** It holds words of a user that do not read like a note of ours. */
  hasWords = false;
  hasCalls = false;
  /** Its last segment that is signed over everything before it, or -1. */
  lastSigned = -1;
  /** It was split off turn 0 and is never left out. */
  isHead = false;
  /** Turns that answer its calls, or whose calls it answers: all of them are left out, or none. */
  linked: readonly Turn[] = NONE;

  constructor(number: number, from: number) {
    this.number = number;
    this.from = from;
    this.to = from;
  }

  link(other: Turn): void {
    if (other === this || this.linked.includes(other)) return;
    this.linked = [...this.linked, other];
    other.linked = [...other.linked, this];
  }
}

/** The part of a call that its result needs. */
export interface Call {
  readonly row: Turn;
  readonly message: number;
  readonly args: string;
  /** The arguments are the agent's own words: a call without any that can be read. */
  readonly isProse: boolean;
}
