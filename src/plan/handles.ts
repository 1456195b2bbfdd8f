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
