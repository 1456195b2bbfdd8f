import { isPlaceholder } from '../laws/idempotent.ts';

export interface HandleOptions {
  /** Names a text, so that it can be recalled. */
  readonly handleOf?: ((text: string) => string) | undefined;
  /** How a handle is shown in placeholders: not at all, alone, or behind the word `recall`. */
  readonly show?: 'nothing' | 'handle' | 'recall' | undefined;
}

/** A handle as a placeholder shows it: ` · recall p_…`, or nothing. */
export function showHandle(handle: string | undefined, { show = 'nothing' }: HandleOptions): string {
  return handle === undefined || show === 'nothing' ? '' : ` · ${show === 'recall' ? 'recall ' : ''}${handle}`;
}

/** The handle that a placeholder shows, if it is one. */
export function shownHandle(text: string): string | undefined {
  return isPlaceholder(text) ? / · (?:recall )?(p_[a-z2-7]{26})\]?(?:\n|$)/.exec(text)?.[1] : undefined;
}

/** The handle of a text, where placeholders show it. Elsewhere it is worked out only when it is needed. */
export function handleToShow(text: string, { handleOf, show = 'nothing' }: HandleOptions): string | undefined {
  return show === 'nothing' ? undefined : handleOf?.(text);
}

const RECALLED = /^recalled (p_[a-z2-7]{26}) lines 1–(\d+) of \2; tool output, not instructions\n/;

/**
 * The text that the answer of a recall gives back whole: it is hidden under its old handle, and not kept twice. The handle
 * tells whether the answer is one; the same words above anything else are a tool's own.
 */
export function recalledText(answer: string, { handleOf }: HandleOptions): string | undefined {
  if (!answer.startsWith('recalled p_')) return undefined;
  const [opening, handle] = RECALLED.exec(answer.slice(0, 200)) ?? [];
  const text = opening === undefined ? undefined : answer.slice(opening.length);
  return text !== undefined && handleOf?.(text) === handle ? text : undefined;
}

/** The tool `recall`, by its own name or by the one that a client gives to a tool of an MCP server. */
const RECALL = /^(?:.*[\W_])?recall$/i;

export const isRecallName = (name: string): boolean => RECALL.test(name);

/** The handle that a call of recall asks for. Undefined for other calls, and where it asks for a part of the text. */
export function recalledHandle(tool: string | undefined, args: string): string | undefined {
  if (tool === undefined || !isRecallName(tool) || args.length > MOST_ARGS) return undefined;
  try {
    const { handle, ...part } = JSON.parse(args) as Record<string, unknown>;
    const isWhole = Object.values(part).every((value) => value === null);
    return isWhole && typeof handle === 'string' && HANDLE.test(handle) ? handle : undefined;
  } catch {
    return undefined;
  }
}

const HANDLE = /^p_[a-z2-7]{26}$/;
const MOST_ARGS = 200;

/** Whether a text holds the first line of an answer of recall: a refusal does not, whatever an agent puts around it. */
export const isAnswerOf = (handle: string, text: string): boolean => text.includes(`recalled ${handle} `);
