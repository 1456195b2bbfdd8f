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
