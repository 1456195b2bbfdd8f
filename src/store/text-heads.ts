import { setImmediate } from 'node:timers/promises';
import { countLines, ownCopy, quote } from '../text.ts';
import type { Store, Stored } from './store.ts';

/** What a list shows of a text. */
export interface TextHead extends Omit<Stored, 'text'> {
  readonly chars: number;
  readonly lines: number;
  /** The first line, made safe to be shown, at most 60 characters. */
  readonly first: string;
}

/** A store that lives in another process: only heads come from there, not whole texts. */
export interface RemoteHeads {
  heads(session: string): AsyncIterable<TextHead>;
}

/**
 * The heads of a session's texts, oldest first. One text at a time is in memory, and after each part of the work all
 * else has its turn: a session may have hundreds of megabytes.
 */
export async function* headsOf(store: Store | (Store & RemoteHeads), session: string): AsyncGenerator<TextHead> {
  if ('heads' in store) {
    yield* store.heads(session);
    return;
  }
  let chars = 0;
  for await (const stored of store.list(session)) {
    yield toHead(stored);
    chars += stored.text.length;
    if (chars < CHARS_PER_STEP) continue;
    await setImmediate();
    chars = 0;
  }
}

/** Some milliseconds. */
const CHARS_PER_STEP = 1_000_000;

function toHead({ handle, text, bytes, refs }: Stored): TextHead {
  const first = quote(text.slice(0, 1000).trimStart().split('\n', 1)[0] ?? '');
  return { handle, bytes, refs, chars: text.length, lines: countLines(text), first: ownCopy(first) };
}
