import { adapterLimits } from '../limits.ts';

/** The parts of a request that `fit` compares with those of the previous call. */
interface Request<M> {
  readonly messages: readonly M[];
  readonly system?: unknown;
  readonly tools?: unknown;
}

interface Conversation {
  readonly session: string | undefined;
  readonly request: Request<unknown>;
}

/**
 * Frameworks create the messages of a request again for every step. `fit` plans only new messages if it gets the same objects as in
 * the previous call. This replaces equal messages by those objects.
 */
export class KnownRequests {
  /** The most recently used first. */
  readonly #conversations: Conversation[] = [];

  reuse<M>({ messages, system, tools }: Request<M>, session: string | undefined): Request<M> {
    const { index, length } = this.#longest(messages, session);
    const [found] = length > 0 ? this.#conversations.splice(index, 1) : [];
    const known = found?.request;
    const request = {
      messages: [...((known?.messages.slice(0, length) ?? []) as M[]), ...messages.slice(length)],
      system: isEqual(known?.system, system) ? known?.system : system,
      tools: isEqual(known?.tools, tools) ? known?.tools : tools,
    };
    this.#conversations.unshift({ session, request });
    if (this.#conversations.length > adapterLimits.conversations) this.#conversations.pop();
    return request;
  }

  /** The conversation that begins with the most of these messages. */
  #longest(messages: readonly unknown[], session: string | undefined): { index: number; length: number } {
    let longest = { index: 0, length: 0 };
    for (const [index, { session: of, request }] of this.#conversations.entries()) {
      const length = of === session ? sharedLength(request.messages, messages) : 0;
      if (length > longest.length) longest = { index, length };
    }
    return longest;
  }
}

function sharedLength(known: readonly unknown[], messages: readonly unknown[]): number {
  const most = Math.min(known.length, messages.length);
  for (let i = 0; i < most; i++) if (!isEqual(known[i], messages[i])) return i;
  return most;
}

/** Whether two values are the same data. Objects of classes other than these are equal only to themselves. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (a instanceof Uint8Array)
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i]);
  if (a instanceof URL) return b instanceof URL && a.href === b.href;
  const prototype = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b) || (prototype !== null && prototype !== Object.prototype)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual((a as Fields)[name], (b as Fields)[name]))
  );
}

type Fields = Readonly<Record<string, unknown>>;
