import { countLines, ownCopy, quote } from '../text.ts';
import { paced } from './paced.ts';
import type { Store, Stored } from './store.ts';

/** The part of a text that a list shows. */
export interface TextHead extends Omit<Stored, 'text'> {
  readonly chars: number;
  readonly lines: number;
  /** The first line, safe to display, at most 60 characters. */
  readonly first: string;
}

/** A store that lives in another process: only heads come from there, not whole texts. */
export interface RemoteHeads {
  heads(session: string): AsyncIterable<TextHead>;
}

/**
 * The heads of a session's texts, oldest first. Only one text is in memory at a time: a session may have hundreds of megabytes.
 * Other events run in between, and an aborted signal ends it.
 */
export async function* headsOf(
  store: Store | (Store & RemoteHeads),
  session: string,
  signal?: AbortSignal,
): AsyncGenerator<TextHead> {
  if ('heads' in store) yield* paced(store.heads(session), signal);
  else for await (const stored of paced(store.list(session), signal)) yield toHead(stored);
}

function toHead({ handle, text, bytes, refs }: Stored): TextHead {
  const first = quote(text.slice(0, 1000).trimStart().split('\n', 1)[0] ?? '');
  return { handle, bytes, refs, chars: text.length, lines: countLines(text), first: ownCopy(first) };
}
