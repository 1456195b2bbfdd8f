import type { ChatMessage } from '../message.ts';
import {
  type Argument,
  argumentsOf,
  observationText,
  textOf,
  withoutCarriageReturns,
} from './evidence/call-arguments.ts';
import { editLines, oldTextsOf } from './evidence/edit-quotes.ts';
import { endsOf, identifiersOf } from './evidence/identifiers.ts';
import { lineAnchorsOf, mentionsLine, type ShownLines, showsLine } from './evidence/line-anchors.ts';
import { anywhere, asWord, MOST_HOLDERS, Sources } from './evidence/sources.ts';
import type { Context } from './run.ts';

/** A text that a call repeats word for word, and where the model had read it. */
export interface Quote {
  /** The old text of an edit, a path or an identifier, or a line number. */
  readonly kind: 'edit' | 'identifier' | 'anchor';
  /** The quoted words. */
  readonly text: string;
  /** Whether the quote also occurs in text that is never masked. */
  readonly isSupported: boolean;
  /** The observations that hold it, newest first. Not searched if the quote is supported: no mask can hide it. */
  readonly holders: readonly number[];
}

/** The quotes of one call. */
export interface CallQuotes {
  /** The reply that made the call: the model wrote it from everything with a lower turn. */
  readonly turn: number;
  /** Everything that the call says word for word. */
  readonly quotes: readonly Quote[];
}

/** The quotes of all calls of a context, independent of any policy. */
export interface Evidence {
  /** Calls of turns that a compaction carried over are left out: they were counted before it. */
  readonly calls: readonly CallQuotes[];
}

/** The number of calls that quote something that only masked observations held. */
export interface Misses {
  /** Calls whose old text of an edit only masked results held. */
  readonly edit: number;
  /** Calls with a path or an identifier that only masked results held. */
  readonly identifier: number;
  /** Calls with a line number that only masked results held. */
  readonly anchor: number;
  /** Calls with a miss of any kind. */
  readonly any: number;
  /** All calls. */
  readonly calls: number;
}

/** Finds the quotes of every call of a context, and their sources. See docs/evidence.md for the definition. */
export function quotesOf(context: Context): Evidence {
  const past = new Past();
  const calls: CallQuotes[] = [];
  let turn = 0;
  for (const message of context.messages) {
    if (message.role !== 'assistant') {
      past.hear(message);
      continue;
    }
    turn += 1;
    const made = madeCalls(message);
    if (turn > context.carriedTurns)
      for (const { args } of made) calls.push({ turn, quotes: quotesOfCall(args, past) });
    // After its quotes: a reply supports nothing in itself.
    past.say(message, made);
  }
  return { calls };
}

/** A call that quotes something that only masked observations held. */
export interface MissedCall {
  /** The reply that made the call. */
  readonly turn: number;
  /** The newest observation that holds its first missed quote. */
  readonly observation: number;
}

/** The calls that a policy would have hurt, in order. `maskedAt` is that of `countMisses`. */
export function missedCalls({ calls }: Evidence, maskedAt: readonly number[]): MissedCall[] {
  return calls.flatMap(({ turn, quotes }) => {
    const [observation] = quotes.find((quote) => isMissed(quote, turn, maskedAt))?.holders ?? [];
    return observation === undefined ? [] : [{ turn, observation }];
  });
}

/** Counts the calls that a policy would have hurt. `maskedAt` has, for each observation, the first request that masks it. */
export function countMisses({ calls }: Evidence, maskedAt: readonly number[]): Misses {
  const misses = { edit: 0, identifier: 0, anchor: 0, any: 0, calls: calls.length };
  for (const { turn, quotes } of calls) {
    const missed = new Set(quotes.filter((quote) => isMissed(quote, turn, maskedAt)).map(({ kind }) => kind));
    for (const kind of missed) misses[kind] += 1;
    if (missed.size > 0) misses.any += 1;
  }
  return misses;
}

/** Whether a quote is missed. A supported quote has no holders, and a quote without a source cannot be missed. */
export function isMissed({ holders }: Quote, turn: number, maskedAt: readonly number[]): boolean {
  return (
    holders.length > 0 && holders.every((observation) => (maskedAt[observation] ?? Number.POSITIVE_INFINITY) <= turn)
  );
}

interface MadeCall {
  readonly id: string;
  readonly args: readonly Argument[];
  /** Name and arguments, as they stay in the prompt. */
  readonly text: string;
}

function madeCalls({ toolCalls = [] }: ChatMessage): MadeCall[] {
  return toolCalls.map(({ id, name, arguments: json }) => {
    const args = argumentsOf(json);
    return { id, args, text: `${name}\n${textOf(args)}` };
  });
}

/** Everything with a lower turn than the current reply. */
class Past {
  readonly sources = new Sources();
  /** The model's own texts and calls. Numbers count only there, because they occur everywhere in a prompt. */
  readonly said: string[] = [];
  readonly shown: ShownLines[] = [];
  readonly #calls = new Map<string, string>();

  hear({ role, content, toolCallId = '' }: ChatMessage): void {
    if (role === 'tool') {
      const text = observationText(content);
      this.sources.addObservation(text);
      this.shown.push({ text, call: this.#calls.get(toolCallId) ?? '' });
    } else this.sources.addPermanent(withoutCarriageReturns(content));
  }

  say({ content }: ChatMessage, calls: readonly MadeCall[]): void {
    const text = [withoutCarriageReturns(content), ...calls.map((call) => call.text)].join('\n');
    this.sources.addPermanent(text);
    this.said.push(text);
    // Ids may repeat: the next result answers the newest call.
    for (const call of calls) this.#calls.set(call.id, call.text);
  }
}

function quotesOfCall(args: readonly Argument[], past: Past): Quote[] {
  const oldTexts = oldTextsOf(args);
  const edits = oldTexts
    .flatMap(editLines)
    .map((text): Quote => ({ kind: 'edit', text, ...past.sources.find(text, anywhere) }));
  const identifiers = identifiersOf(args, oldTexts).map((token) => identifierQuote(token, past.sources));
  return [...edits, ...identifiers, ...anchorQuotes(args, past)];
}

/**
 * An unknown path is often a known one, written from another directory. Its longest end that occurs somewhere is quoted in its
 * place. If an end occurs, all shorter ones do, so the first failure ends the search.
 */
function identifierQuote(token: string, sources: Sources): Quote {
  const quote = (text: string): Quote => ({ kind: 'identifier', text, ...sources.find(text, asWord) });
  let best = quote(token);
  if (hasSource(best)) return best;
  for (const end of endsOf(token)) {
    const found = quote(end);
    if (!hasSource(found)) break;
    best = found;
  }
  return best;
}

export const hasSource = ({ isSupported, holders }: Quote): boolean => isSupported || holders.length > 0;

function anchorQuotes(args: readonly Argument[], { said, shown }: Past): Quote[] {
  return lineAnchorsOf(args).map((anchor) => {
    const isSupported = said.some(mentionsLine(anchor));
    const shows = showsLine(anchor);
    const holders = isSupported ? [] : shown.flatMap((lines, i) => (shows(lines) ? [i] : [])).reverse();
    return { kind: 'anchor', text: String(anchor.line), isSupported, holders: holders.slice(0, MOST_HOLDERS) };
  });
}
