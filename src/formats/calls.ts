import type { Violation } from '../message.ts';

/** The calls that are still unanswered. If ids repeat, the oldest call is answered first. */
export class OpenCalls<T> {
  /** The last call is not in the map, because nearly every call is answered before the next one. */
  #lastId: string | undefined;
  #last: T | undefined;
  readonly #older = new Map<string, T[]>();

  made(id: string, call: T): void {
    if (this.#lastId !== undefined) this.#keep(this.#lastId, this.#last as T);
    this.#lastId = id;
    this.#last = call;
  }

  /** The call that this result answers. Undefined if there is none. */
  answered(id: string): T | undefined {
    const older = this.#older.size === 0 ? undefined : this.#older.get(id);
    if (older) {
      if (older.length === 1) this.#older.delete(id);
      return older.shift();
    }
    if (this.#lastId !== id) return undefined;
    const call = this.#last;
    this.#lastId = undefined;
    this.#last = undefined;
    return call;
  }

  all(): T[] {
    return [...[...this.#older.values()].flat(), ...(this.#lastId === undefined ? [] : [this.#last as T])];
  }

  #keep(id: string, call: T): void {
    const calls = this.#older.get(id);
    if (calls) calls.push(call);
    else this.#older.set(id, [call]);
  }
}

/** The tools of calls, for the results that answer them. */
export class Calls {
  readonly #open = new OpenCalls<{ readonly tool: string | undefined }>();

  made(id: string, tool: string | undefined): void {
    this.#open.made(id, { tool });
  }

  answered(id: string): { readonly tool: string | undefined } | undefined {
    return this.#open.answered(id);
  }
}

/** A call whose result may name it by its id, or by the tool alone. */
export interface NamedCall {
  readonly callId: string;
  readonly tool: string;
  readonly hasId: boolean;
}

/** Unanswered calls, oldest first, for formats in which an id may be missing: calls of one tool are answered in order. */
export class NamedCalls {
  #open: NamedCall[] = [];

  made(id: string | undefined, tool: string): NamedCall {
    const call = { callId: id ?? `function ${tool}`, tool, hasId: id !== undefined };
    this.#open.push(call);
    return call;
  }

  /** The call that this result answers; undefined if there is none. */
  answered(id: string | undefined, name: string | undefined): NamedCall | undefined {
    const byId = this.#open.findIndex((call) => call.callId === id);
    const byName = this.#open.findIndex((call) => call.tool === name && !(call.hasId && id !== undefined));
    const found = byId >= 0 ? byId : byName;
    return found < 0 ? undefined : this.#open.splice(found, 1)[0];
  }

  get oldest(): NamedCall | undefined {
    return this.#open[0];
  }

  clear(): void {
    this.#open = [];
  }
}

export interface PairWords {
  missing(message: number, ids: readonly string[]): string;
  orphan(message: number, id: string): string;
}

/** The calls and results of one message, in order. */
export interface PairStep {
  readonly turn: number;
  readonly calls?: readonly string[];
  readonly results?: readonly string[];
  /** The point after which the provider accepts no more answers: before this message's results, or after them. */
  readonly closes?: 'before' | 'after' | undefined;
}

/**
 * Reports every call that was not answered in time and every result without a call.
 * Calls of the last reply that are still open when the list ends are legal.
 */
export function checkPairs(steps: Iterable<PairStep>, words: PairWords): Violation[] {
  const violations: Violation[] = [];
  let open: { id: string; message: number; turn: number }[] = [];
  const missing = (calls: typeof open): void => {
    for (const message of new Set(calls.map((call) => call.message))) {
      const ids = calls.filter((call) => call.message === message).map((call) => call.id);
      const text = words.missing(message, ids);
      for (const about of ids) violations.push({ law: 'pairs', message, text, about });
    }
  };
  const close = (): void => {
    missing(open);
    open = [];
  };
  let [index, turn] = [0, 0];
  for (const step of steps) {
    turn = step.turn;
    if (step.closes === 'before') close();
    for (const id of step.results ?? []) {
      const call = open.findIndex((candidate) => candidate.id === id);
      if (call >= 0) open.splice(call, 1);
      else violations.push({ law: 'pairs', message: index, text: words.orphan(index, id), about: id });
    }
    if (step.closes === 'after') close();
    for (const id of step.calls ?? []) open.push({ id, message: index, turn });
    index += 1;
  }
  missing(open.filter((call) => call.turn < turn));
  return violations;
}
